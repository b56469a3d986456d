"""Softmax and its derivative: with cross-entropy behind it, as a matrix, and the -1 at the right word.

The paper, sections 3.2.1 and 3.4. Shapes: V target vocabulary, T_s source length.
"""

from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.study.figures import Bars, Grid, Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array
from transformer.vocabulary import PAD

LIKELIEST = 5


class Place(NamedTuple):
    """One written word: its place among how many, the right word's id, and what the model gives every word there.

    logits, p (V,): the scores and their softmax. y (V,): 1 at the right word. difference (V,): p - y. taped (V,): the
    tape's gradient of the logits there, times the number of written words, over which the loss is the mean.
    """

    place: int
    written: int
    right: int
    logits: Array
    p: Array
    y: Array
    difference: Array
    taped: Array


def two_jacobians(subject: Subject) -> Answer:
    """Question 4: cross-entropy's Jacobian (1, V) times softmax's (V, V), beside p - y and beside the tape.

    At the written word that the model is least sure of. And in float32, logits (0, 200) with the first one right.
    """
    at = _hardest(subject)
    probabilities = mg.Tensor(at.p)
    of_softmax = mg.jacobian(mg.softmax)(mg.Tensor(at.logits)).data
    of_loss = mg.grad(lambda p: -mg.log(p[at.right]))(probabilities).data
    product = of_loss @ of_softmax
    size = len(at.p)
    gap, taped = (f"{np.abs(each - at.difference).max():.1g}" for each in (product, at.taped))
    steps, fused = _far_apart()
    word, slope = subject.target_words[at.place], f"{of_loss[at.right]:.4g}"
    question = Words(
        "Softmax and cross-entropy: do I multiply two Jacobians, or is the gradient just p - y?",
        "softmax 加交叉熵：要把两个雅可比矩阵相乘，还是梯度就是 p - y？",
    )
    answer = Words(
        f"Both are the same. Where this model writes “{word}”, cross-entropy's Jacobian (1×{size}, one entry not 0: "
        f"-1/p = {slope}) times softmax's ({size}×{size}) is p - y: the largest difference is {gap}, and to the tape "
        f"{taped}. But p - y never divides by p. In float32, logits 0 and 200 with the first one right: two steps give "
        f"{steps[0]} and {steps[1]}, p - y gives {fused[0]:g} and {fused[1]:g}. So the two are one operation.",
        f"两者是一回事。在模型写“{word}”的位置，交叉熵的雅可比矩阵（1×{size}，只有一项不为 0：-1/p = {slope}）"
        f"乘以 softmax 的雅可比矩阵（{size}×{size}）就是 p - y：最多相差 {gap}，与自动求导的结果最多相差 {taped}。"
        "但 p - y 从不除以 p。用 float32，logits 取 0 和 200，正确的是第一个："
        f"分两步得到 {steps[0]} 和 {steps[1]}，p - y 得到 {fused[0]:g} 和 {fused[1]:g}。所以两步要合成一个运算。",
    )
    columns: list[Label] = [
        Words("word", "词"), "p", Words("-y/p (loss by p)", "-y/p（损失对 p）"),
        Words("product of the two", "两者之积"), "p - y", Words(f"tape × {at.written}", f"自动求导 × {at.written}"),
    ]  # fmt: skip
    tokens = subject.target_vocabulary.tokens
    rows = [
        (tokens[i], *(f"{values[i]:.6g}" for values in (at.p, of_loss, product, at.difference, at.taped)))
        for i in _likeliest(at)
    ]
    title = Words(f"Where “{word}” is written", f"写“{word}”的位置")
    return Answer(4, question, answer, (Table(title, columns, rows),))


def _far_apart() -> tuple[list[str], Array]:
    """The gradients of -log softmax(0, 200)[0] in float32, in two steps and as cross-entropy."""
    logits = mg.Tensor([0.0, 200.0], requires_grad=True, dtype="float32")
    with np.errstate(divide="ignore"):
        (steps,) = mg.gradients(-mg.log(mg.softmax(logits)[0]), [logits])
    (fused,) = mg.gradients(mg.cross_entropy(logits, np.array(0)), [logits])
    return ["NaN" if np.isnan(n) else f"{n:g}" for n in steps.data], fused.data


def softmax_jacobian(subject: Subject) -> Answer:
    """Question 5: the Jacobian diag(p) - p p^T (T_s, T_s) of one real row of the model's cross-attention.

    The row of the last layer whose entropy is greatest: there is most to be seen.
    """
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    words = trace.source[0] != PAD
    written = np.flatnonzero(trace.target[0] != PAD)
    pattern = trace.seen[f"{path}.pattern"].data[0][:, written]
    head, row = np.unravel_index(np.argmax(_entropy(pattern)), pattern.shape[:2])
    place = int(written[row])
    scores = mg.Tensor(trace.seen[f"{path}.scores"].data[0, head, place])
    jacobian = mg.jacobian(lambda s: mg.softmax(s, where=words))(scores).data
    ds = jacobian.T @ trace.gradient(f"{path}.pattern")[0, head, place]
    total = f"{np.abs(jacobian.sum(axis=1)).max():.1g}"
    gap = f"{np.abs(ds - trace.gradient(f'{path}.scores')[0, head, place]).max():.1g}"
    low, high = (f"{bound(pattern[head, row][words]):.3g}" for bound in (np.min, np.max))
    size, word, number = len(words), subject.target_words[place], int(head) + 1
    question = Words(
        "Softmax works on each number. Why is its derivative a matrix and not a list?",
        "softmax 是逐个数算的，为什么它的导数是矩阵，而不是一列数？",
    )
    answer = Words(
        "It divides by a sum that all scores share, so each weight depends on each score: ∂p_i/∂s_j is p_i (1 - p_j) "
        "for i = j, else -p_i p_j; that is diag(p) - p pᵀ. Below is a real row of attention, head "
        f"{number} where “{word}” is written: weights from {low} to {high}, a {size}×{size} matrix. Each of its rows "
        f"sums to 0 (to within {total}): a number added to all scores changes nothing. Nobody has to store it: "
        f"p ∘ (g - sum(g ∘ p)) is the same product, and the tape's dS differs from the matrix's by at most {gap}.",
        "softmax 要除以所有分数共有的和，所以每个权重都依赖每个分数：i = j 时 ∂p_i/∂s_j 为 p_i (1 - p_j)，"
        f"否则为 -p_i p_j，合起来就是 diag(p) - p pᵀ。下图是写“{word}”时第 {number} 个头的一行真实注意力："
        f"权重在 {low} 与 {high} 之间，矩阵为 {size}×{size}。矩阵每一行的和都是 0（误差不超过 {total}）："
        "所有分数加上同一个数，什么都不变。这个矩阵不必存下来：p ∘ (g - sum(g ∘ p)) 就是同一个乘积，"
        f"自动求导的 dS 与用矩阵算出的最多相差 {gap}。",
    )
    figure = Grid(
        Words(f"∂p_i/∂s_j where “{word}” is written", f"写“{word}”时的 ∂p_i/∂s_j"),
        subject.source_words,
        subject.source_words,
        jacobian,
        hidden=~(words[:, None] & words),
        digits=3,
        row_axis=Words("weight p_i", "权重 p_i"),
        column_axis=Words("score s_j", "分数 s_j"),
    )
    return Answer(5, question, answer, (figure,))


def _entropy(pattern: Array) -> Array:
    """Of each row: (..., T_k) -> (...)."""
    entropy: Array = -(pattern * np.log(np.where(pattern > 0, pattern, 1.0))).sum(axis=-1)
    return entropy


def minus_one(subject: Subject) -> Answer:
    """Question 6: p, y and p - y at the written word that the model is least sure of."""
    at = _hardest(subject)
    shown = _likeliest(at)
    rest = np.ones(len(at.p), dtype=bool)
    rest[shown] = False
    word = subject.target_words[at.place]
    p, pulled = f"{at.p[at.right]:.3g}", f"{at.difference[at.right]:.3g}"
    pushed = f"{np.delete(at.difference, at.right).sum():.3g}"
    total, gap = f"{abs(at.difference.sum()):.1g}", f"{np.abs(at.taped - at.difference).max():.1g}"
    question = Words(
        "Everybody subtracts 1 at the right class. Where does that 1 come from?",
        "大家都在正确类别那里减 1，这个 1 是从哪儿来的？",
    )
    answer = Words(
        "The loss of one word is log Σ exp(z) - z_right. The first part's derivative is p, at every word; the second "
        "is the right word's own logit, whose derivative is 1, with a minus, there alone. Where this model writes "
        f"“{word}” it gives it p = {p}, so the gradient there is {pulled}; all other words together get {pushed}, and "
        f"the sum is 0 (to {total}): what is pushed up is taken from the others. The tape has this divided by "
        f"{at.written}, since the loss is the mean of so many words (largest difference {gap}).",
        "一个词的损失是 log Σ exp(z) - z_right。前一项的导数是 p，每个词都有；后一项只是正确词自己的 logit，"
        f"导数为 1，带负号，只出现在那一处。写“{word}”时模型给它的概率 p = {p}，所以那里的梯度是 {pulled}；"
        f"其余的词合计得到 {pushed}，总和为 0（误差 {total}）：抬高一个，就从其他词那里拿走。"
        f"自动求导得到的是它除以 {at.written}，因为损失是这么多个词的平均（换算后最多相差 {gap}）。",
    )
    tokens = subject.target_vocabulary.tokens
    labels: list[Label] = [tokens[i] for i in shown]
    labels.append(Words("all others", "其余的词"))
    groups: dict[Label, list[float]] = {
        name: [*values[shown].tolist(), float(values[rest].sum())]
        for name, values in (("p", at.p), ("y", at.y), ("p - y", at.difference))
    }
    title = Words(f"Where “{word}” is written", f"写“{word}”的位置")
    return Answer(6, question, answer, (Bars(title, labels, groups),))


def _hardest(subject: Subject) -> Place:
    """The written word whose probability is lowest."""
    trace = subject.trace
    written = np.flatnonzero(trace.target[0] != PAD)
    logits = trace.seen["logits"].data[0]
    probabilities = mg.softmax(logits).data
    place = int(min(written, key=lambda t: probabilities[t, trace.target[0, t]]))
    right = int(trace.target[0, place])
    y = np.zeros(logits.shape[1])
    y[right] = 1
    p = probabilities[place]
    taped = trace.gradient("logits")[0, place] * len(written)
    return Place(place, len(written), right, logits[place], p, y, p - y, taped)


def _likeliest(at: Place) -> list[int]:
    """The right word, and the others that are likeliest, LIKELIEST in all."""
    others = [int(i) for i in np.argsort(-at.p, kind="stable") if i != at.right]
    return [at.right, *others[: LIKELIEST - 1]]
