"""What the very first loss should be.

Shapes: B sentences, T target length, V target vocabulary.
"""

import numpy as np

import minigrad as mg
from transformer.batching import make_batch
from transformer.model import Transformer
from transformer.study.figures import Bars, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.vocabulary import PAD

SEEDS, PAIRS = 5, 16
"""Fresh models; sentence pairs in the batch."""


def first_loss(subject: Subject) -> Answer:
    """The loss of fresh models of this config on held-out pairs, beside ln V and half the variance of their logits.

    Logits that are normal with variance s^2 have the mean log-sum-exp ln V + s^2 / 2, and the target's own is 0 in the
    mean: so the loss is ln V + s^2 / 2.
    """
    config = subject.trace.model.config
    source, target = subject.source_vocabulary, subject.target_vocabulary
    pairs = subject.pairs[:PAIRS]
    batch = make_batch([(source.encode(pair.source), target.encode(pair.target)) for pair in pairs])
    words = batch.target_out != PAD
    losses, variances = np.empty(SEEDS), np.empty(SEEDS)
    for seed in range(SEEDS):
        with mg.default_dtype("float64"), mg.no_grad():
            logits = Transformer(config, rng=seed)(batch.source, batch.target_in)
        losses[seed] = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD).data
        variances[seed] = logits.data[words].var(axis=-1).mean()
    even = float(np.log(config.target_vocab))
    uniform, mean, excess = f"{even:.3g}", f"{losses.mean():.3g}", f"{losses.mean() - even:.2g}"
    half, now = f"{variances.mean() / 2:.2g}", f"{float(subject.trace.loss.data):.3g}"
    question = Words("What should the first loss be?", "第一个损失应该是多少？")
    answer = Words(
        f"About ln V, that of a model which finds all V words equally likely: here ln {config.target_vocab} = "
        f"{uniform}. {SEEDS} fresh models of this shape begin at {mean} on average, {excess} more, since their logits "
        f"are not equal but spread; half of their variance, {half}, is about what that costs. A first loss far above "
        f"says that the logits begin too large, one far below that the answer leaks in. This model is at {now} on "
        "this sentence.",
        f"大约是 ln V，也就是认为 V 个词可能性都相同时的损失：这里 ln {config.target_vocab} = {uniform}。"
        f"{SEEDS} 个这种形状的新模型平均从 {mean} 开始，高出 {excess}，因为它们的 logits 并不相等，而是分散的；"
        f"方差的一半 {half} 大致就是这个代价。第一个损失高得多，说明 logits 一开始就太大；低得多，说明答案泄漏了进来。"
        f"现在这个模型在这句话上是 {now}。",
    )
    bars = Bars(
        Words("The first loss of fresh models beside ln V", "新模型的第一个损失与 ln V"),
        ["ln V", *(Words(f"seed {seed}", f"种子 {seed}") for seed in range(SEEDS))],
        {Words("loss", "损失"): [even, *losses.tolist()]},
    )
    return Answer(27, question, answer, (bars,))
