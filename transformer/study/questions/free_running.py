"""Writing with the right words before one's eyes, and with one's own: how far the two come apart.

Shapes: B sentences, T target length.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import minigrad as mg
from transformer.batching import make_batch
from transformer.evaluation import Answer as Written
from transformer.evaluation import evaluate
from transformer.study.figures import Lines, Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import in_float64
from transformer.vocabulary import PAD

PAIRS, SHOWN = 24, 4
"""Held-out pairs that are written; how many of these are shown."""

LEVELS = (0.0, 0.15, 0.3, 0.4, 0.5)
"""How much noise is put on every parameter, in its own standard deviations."""


@dataclass(frozen=True)
class Weakened:
    """How a model with noise on its weights writes.

    loss: the mean cross-entropy of the right words. forced: the share of words that it has right, reading the right
    ones before them. free: the same where it reads its own. exact: the share of sentences that are right. repeating: of
    those in which a word stands twice in a row. written: what it wrote, freely.
    """

    loss: float
    forced: float
    free: float
    exact: float
    repeating: float
    written: tuple[Written, ...]


def teacher_forcing(subject: Subject) -> Answer:
    """Accuracy under teacher forcing and in free running, of this model and of copies with noise on their weights.

    Told of the copy in which the two are furthest apart.
    """
    found = [_weakened(subject, level) for level in LEVELS]
    apart = max(range(len(LEVELS)), key=lambda n: found[n].forced - found[n].free)
    own, weak = found[0], found[apart]
    (own_forced, own_free, own_exact), (forced, free, exact) = (
        tuple(f"{share:.0%}" for share in (model.forced, model.free, model.exact)) for model in (own, weak)
    )
    level, loss, repeating, count = LEVELS[apart], f"{weak.loss:.2g}", f"{weak.repeating:.0%}", len(weak.written)
    question = Words(
        "My loss is low, but decoding repeats itself or goes astray. Why?", "损失很低，解码却不断重复或跑偏，为什么？"
    )
    answer = Words(
        "The loss is measured under teacher forcing: each word is predicted behind the right ones. In decoding it is "
        "predicted behind the model's own, and after a first mistake it reads what it never read in training. On "
        f"{count} held-out pairs this model has {own_forced} of the words right when forced, {own_free} free, "
        f"{own_exact} of the sentences. With noise of {level} standard deviations on its weights the loss is {loss}: "
        f"still {forced} forced, but {free} free, {exact} of the sentences, and {repeating} of what it writes has a "
        "word twice in a row. So judge by free running.",
        "损失是在教师强制下测的：每个词前面都是正确的词。解码时前面是模型自己写的词，错了一个，"
        f"后面读到的就是训练中从没见过的。在 {count} 个留出的句对上，这个模型强制时词正确率 {own_forced}，"
        f"自由运行 {own_free}，整句正确 {own_exact}。给权重加上 {level} 倍标准差的噪声后，损失是 {loss}："
        f"强制时仍有 {forced}，自由运行只有 {free}，整句 {exact}，写出的句子有 {repeating} 连续重复同一个词。"
        "所以要看自由运行的成绩。",
    )
    lines = Lines(
        Words("Right under teacher forcing, and in free running", "教师强制与自由运行的正确率"),
        LEVELS,
        {
            Words("words, teacher forcing", "词，教师强制"): np.array([each.forced for each in found]),
            Words("words, free running", "词，自由运行"): np.array([each.free for each in found]),
            Words("whole sentences, free running", "整句，自由运行"): np.array([each.exact for each in found]),
        },
        x_axis=Words("noise on the weights, in standard deviations", "权重上的噪声（标准差的倍数）"),
        y_axis=Words("share that is right", "正确的比例"),
    )
    return Answer(25, question, answer, (lines, _examples(own, weak, level)))


def _examples(own: Weakened, weak: Weakened, level: float) -> Table:
    """What both models wrote, for the first pairs."""
    columns = [
        Words("reads", "读到"),
        Words("right is", "正确答案"),
        Words("this model", "这个模型"),
        Words(f"noise {level}", f"噪声 {level}"),
    ]
    rows: list[list[Label]] = [
        [" ".join(words) for words in (mine.source, mine.expected, mine.written, other.written)]
        for mine, other in zip(own.written[:SHOWN], weak.written, strict=False)
    ]
    return Table(Words("Written freely", "自由写出的句子"), columns, rows)


def _weakened(subject: Subject, level: float) -> Weakened:
    model = in_float64(subject.trace.model)
    rng = np.random.default_rng(0)
    for parameter in model.parameters():
        parameter.data = parameter.data + level * parameter.data.std() * rng.standard_normal(parameter.shape)
    pairs = subject.pairs[:PAIRS]
    source, target = subject.source_vocabulary, subject.target_vocabulary
    batch = make_batch([(source.encode(pair.source), target.encode(pair.target)) for pair in pairs])
    with mg.no_grad():
        logits = model(batch.source, batch.target_in)
    right = logits.data.argmax(axis=-1) == batch.target_out
    score = evaluate(model, pairs, source, target)
    return Weakened(
        loss=float(mg.cross_entropy(logits, batch.target_out, ignore_index=PAD).data),
        forced=float(right[batch.target_out != PAD].mean()),
        free=score.token_accuracy,
        exact=score.exact_match,
        repeating=float(np.mean([_repeats(answer.written) for answer in score.answers])),
        written=score.answers,
    )


def _repeats(words: tuple[str, ...]) -> bool:
    """Whether a word stands twice in a row."""
    return any(first == second for first, second in pairwise(words))
