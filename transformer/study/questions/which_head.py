"""Which heads matter: what cutting them costs, and what the gradient foretells of it."""

import numpy as np

from transformer.batching import make_batch
from transformer.study.figures import Figure, Words
from transformer.study.heads import heads, words_for
from transformer.study.questions.answer import Answer, Subject
from transformer.study.two_heads import two_heads

PAIRS = 16
"""Held-out pairs that the heads are judged on."""

CHEAP = 0.1
"""A head that costs less than this share of the dearest is not worth a look."""


def which_head(subject: Subject) -> Answer:
    """For each head the loss that cutting it costs, measured, and foretold by gradient times attention.

    On held-out pairs; see `transformer.study.heads`.
    """
    source, target = subject.source_vocabulary, subject.target_vocabulary
    pairs = subject.pairs[:PAIRS]
    batch = make_batch([(source.encode(pair.source), target.encode(pair.target)) for pair in pairs])
    report = heads(subject.trace.model, batch.source, batch.target_in, batch.target_out, subject.label_smoothing)
    cost = report.ablated
    attention, head = np.unravel_index(int(cost.argmax()), cost.shape)
    place = words_for(report.attentions[attention])
    most, told = f"{cost[attention, head]:.2g}", f"{report.foretold[attention, head]:.1g}"
    cheap, share = int(np.sum(cost < CHEAP * cost.max())), f"{CHEAP:.0%}"
    question = Words("There are so many heads. Which one should I look at?", "头那么多，该看哪一个？")
    answer = Words(
        f"The one that the loss misses most when it is cut. On {len(pairs)} held-out pairs that is head {head + 1} of "
        f"“{place.en}”: without it the loss that was trained, {report.loss:.2g}, rises by {most}. Of the "
        f"{cost.size} heads {cheap} cost less than {share} of that, so do not read much into their pictures. Gradient "
        f"times attention, which is cheaper, is the first order of the same thing: it foretells {told} for that head, "
        f"and over all heads its correlation with the true cost is {report.correlation:.2f}. Cutting a head is no "
        "small step; so cut, and see.",
        f"看去掉以后损失上升最多的那个。在 {len(pairs)} 个留出的句对上，是“{place.zh}”的头 {head + 1}：去掉它，"
        f"训练所用的损失（{report.loss:.2g}）上升 {most}。{cost.size} 个头里有 {cheap} 个，代价还不到它的 {share}，"
        f"它们的图不必过度解读。梯度乘注意力更省事，是同一件事的一阶近似：它对这个头的预测是 {told}，"
        f"在所有头上与真实代价的相关系数是 {report.correlation:.2f}。去掉一个头不是一小步，所以不如真的去掉，"
        "看看结果。",
    )
    figures: list[Figure] = [report.figure("ablated"), report.figure("foretold")]
    if cost.shape[1] > 1:
        figures.append(two_heads(subject.trace, subject.source_words, ("<bos>", *subject.target_words[:-1])))
    return Answer(26, question, answer, tuple(figures))
