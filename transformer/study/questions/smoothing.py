"""Label smoothing: what is asked for instead of certainty, and where infinities come from. The paper, section 5.4.

Shapes: V target vocabulary.
"""

import numpy as np

import minigrad as mg
from transformer.study.figures import Bars, Lines, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array
from transformer.vocabulary import PAD

SMOOTHING = 0.1
"""The paper's e."""

RIVALS = 3
"""How many wrong words are shown on their own."""

MARGINS = np.linspace(0.0, 30.0, 61)
"""By how much the right word's logit is above all others."""

FAR = 800.0
"""A margin at which the others' probability is less than the least float64."""


def label_smoothing(subject: Subject) -> Answer:
    """The smoothed target row, read off the tape as p - dlogits, and the loss by the right word's margin.

    For the word of the sentence that the model is surest of. The loss by softmax and a logarithm in two steps, at a
    great margin, beside that of log-softmax.
    """
    trace = subject.trace
    p = mg.softmax(trace.seen["logits"].data[0]).data
    places = np.flatnonzero(trace.target[0] != PAD)
    place = int(places[p[places, trace.target[0, places]].argmax()])
    right, size = int(trace.target[0, place]), p.shape[-1]
    row = _target_row(trace.seen["logits"].data[0, place], right)
    other = (right + 1) % size
    share, kept, floor = f"{row[other]:.2g}", f"{row[right]:.4g}", f"{-np.sum(row * np.log(row)):.3g}"
    in_two_steps, hard = f"{_in_two_steps(size, SMOOTHING):.3g}", f"{_in_two_steps(size, 0.0):.3g}"
    in_one = f"{_losses(np.array([FAR]), size, SMOOTHING)[0]:.3g}"
    question = Words("My loss became inf with label smoothing. Why?", "用了标签平滑，损失变成 inf，为什么？")
    answer = Words(
        f"Smoothing with e = {SMOOTHING} asks for {kept} at the right word and e/V = {share} at every other, V = "
        f"{size}. So the loss has a floor, {floor}, and beyond that confidence it rises again. Where softmax and the "
        f"logarithm are two steps and one logit is {FAR:.0f} above the rest, the others' probability rounds to 0, and "
        f"{share} times log 0 makes the loss {in_two_steps}; a hard target, 0 times log 0, makes it {hard}. In one "
        f"step, as log-softmax, it is {in_one}. Words whose logit is masked to -inf make it inf even then: leave them "
        "out of the target.",
        f"平滑系数 e = {SMOOTHING} 时，要求正确的词占 {kept}，其他每个词占 e/V = {share}，V = {size}。"
        f"所以损失有一个下限 {floor}，比这更自信，损失反而上升。如果 softmax 和取对数分两步做，"
        f"某个 logit 比其余的大 {FAR:.0f}，其余的概率就舍入成 0，{share} 乘 log 0 使损失成为 {in_two_steps}；"
        f"硬目标是 0 乘 log 0，得到 {hard}。合成一步 log-softmax，损失是 {in_one}。"
        "被掩码成 -inf 的词即使这样也会得到 inf：目标里不要给它们份额。",
    )
    rivals = [int(word) for word in np.argsort(-p[place]) if word != right][:RIVALS]
    shown = [right, *rivals]
    row_of = {
        Words("one-hot", "独热"): (np.arange(size) == right).astype(float),
        Words("smoothed", "平滑后"): row,
        Words("the model", "模型"): p[place],
    }
    bars = Bars(
        Words("What is asked for, and what the model says", "目标与模型给出的概率"),
        [*(subject.target_vocabulary.tokens[word] for word in shown), Words("all other words", "其他所有词")],
        {name: [*values[shown].tolist(), float(np.delete(values, shown).sum())] for name, values in row_of.items()},
    )
    lines = Lines(
        Words("Loss of a word, by its logit's margin", "一个词的损失与它的 logit 领先多少"),
        MARGINS.tolist(),
        {
            Words("one-hot", "独热"): _losses(MARGINS, size, 0.0),
            Words("smoothed", "平滑后"): _losses(MARGINS, size, SMOOTHING),
        },
        x_axis=Words("logit above all others", "比其他 logit 高多少"),
        y_axis=Words("loss", "损失"),
    )
    return Answer(24, question, answer, (bars, lines))


def _target_row(logits: Array, right: int) -> Array:
    """What the loss asks for, (V,): dlogits = p - row, so row = p - dlogits."""
    given = mg.Tensor(logits, requires_grad=True)
    with mg.enable_grad():
        loss = mg.cross_entropy(given, np.array(right), label_smoothing=SMOOTHING)
    (gradient,) = mg.gradients(loss, [given])
    row: Array = mg.softmax(logits).data - gradient.data
    return row


def _losses(margins: Array, size: int, smoothing: float) -> Array:
    """The loss of a word whose logit is so far above those of the other words, which are equal: (N,) -> (N,)."""
    logits = margins[:, None] * (np.arange(size) == 0)
    targets = np.zeros(len(margins), np.int64)
    losses: Array = mg.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="none").data
    return losses


def _in_two_steps(size: int, smoothing: float) -> float:
    """-sum(row * log(p)) with p = softmax of logits of which one is FAR above the others."""
    p = mg.softmax(FAR * (np.arange(size) == 0)).data
    row = (1 - smoothing) * (np.arange(size) == 0) + smoothing / size
    with np.errstate(divide="ignore", invalid="ignore"):
        return -float(np.sum(row * np.log(p)))
