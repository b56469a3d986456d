"""What becomes of masked scores: a row with nothing left, and the ways to mask.

The paper, section 3.2.3. Shapes: T_q, T_k lengths, d_k a head's width; one head of the model.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.masks import Mask, decoder_mask
from transformer.study.figures import Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array
from transformer.vocabulary import PAD

LARGE = 1e9


def fully_masked_row(subject: Subject) -> Answer:
    """Question 12: NaNs after each step of attention with -inf, where one query may see no key and the loss skips it.

    Queries, keys and values of the first head of the last cross-attention; the query of the last place sees nothing.
    Beside it `mg.softmax(..., where=mask)`.
    """
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    q, k, v = (trace.seen[f"{path}.{name}"].data[0, 0] for name in "qkv")
    dz = trace.gradient(f"{path}.z")[0, 0]
    mask = np.ones((len(q), len(k)), dtype=bool)
    mask[-1] = False
    naive, ours = (_not_numbers(steps, (q, k, v), mask, dz) for steps in (_steps_with_inf, _steps_with_where))
    first = next(label for label, (nans, _) in naive.items() if nans)
    step = first if isinstance(first, Words) else Words(first, first)
    operation, index = _first_anomaly(q, k, mask)
    count, size = naive["dV"]
    left = sum(nans for nans, _ in ours.values())
    made = _steps_with_where(mg.Tensor(q), mg.Tensor(k), mg.Tensor(v), mask)
    most = max(np.abs(made[name].data[-1]).max() for name in ("P", "z = P V"))
    question = Words(
        "One row was masked completely, and then everything was NaN. Why?",
        "只有一行被全部遮住，结果全都变成了 NaN，为什么？",
    )
    answer = Words(
        f"All scores of that row are -inf, and so is their maximum: the first NaN is -inf - (-inf), at the step "
        f"“{step.en}” (mg.detect_anomaly() stops at {operation}, cell {index}). The loss skips that row and "
        "stays finite, but going backward dV = Pᵀ dz multiplies the row's cotangent 0 by its NaN, and 0 · NaN is NaN: "
        f"{count} of {size} numbers of dV are NaN, and so is all that the encoder gets through W_V. Here softmax takes "
        f"the mask itself: that row's weights and output are exactly {most:g}, and {left} numbers are NaN.",
        f"那一行的分数全是 -inf，最大值也是 -inf：第一个 NaN 是 -inf - (-inf)，出现在“{step.zh}”这一步"
        f"（mg.detect_anomaly() 停在 {operation}，位置 {index}）。损失跳过了这一行，仍是有限的数；"
        "但反向时 dV = Pᵀ dz 要用这一行的梯度 0 去乘它的 NaN，而 0 · NaN 还是 NaN："
        f"dV 的 {size} 个数里有 {count} 个是 NaN，编码器经 W_V 得到的梯度也就全是 NaN。本项目的 softmax 直接接受掩码："
        f"这一行的权重和输出恰好都是 {most:g}，NaN 有 {left} 个。",
    )
    columns = [
        Words("step", "步骤"), Words("NaN with -inf", "用 -inf：NaN 的个数"),
        Words("NaN with where=mask", "用 where=mask：NaN 的个数"),
    ]  # fmt: skip
    rows = [(label, _share(naive[label]), _share(ours[label]) if label in ours else "") for label in naive]
    title = Words("NaNs after each step, forward then backward", "每一步之后的 NaN：先前向，后反向")
    return Answer(12, question, answer, (Table(title, columns, rows),))


def _share(counted: tuple[int, int]) -> str:
    return f"{counted[0]} / {counted[1]}"


def _steps_with_inf(q: mg.Tensor, k: mg.Tensor, v: mg.Tensor, mask: Mask) -> dict[Label, mg.Tensor]:
    """Attention as it is often written, by the names of its steps."""
    scores = q @ k.T / np.sqrt(q.shape[-1])
    hidden = mg.where(mask, scores, -np.inf)
    top = mg.max(hidden, axis=-1, keepdims=True).detach()
    shifted = hidden - top
    powers = mg.exp(shifted)
    pattern = powers / powers.sum(axis=-1, keepdims=True)
    return {
        "S": scores,
        Words("S, -inf where masked", "S，遮住处为 -inf"): hidden,
        Words("maximum of each row", "每行的最大值"): top,
        Words("S - maximum", "S - 最大值"): shifted,
        "exp": powers,
        "P": pattern,
        "z = P V": pattern @ v,
    }


def _steps_with_where(q: mg.Tensor, k: mg.Tensor, v: mg.Tensor, mask: Mask) -> dict[Label, mg.Tensor]:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    pattern = mg.softmax(scores, where=mask)
    return {"S": scores, "P": pattern, "z = P V": pattern @ v}


def _not_numbers(
    steps: Callable[[mg.Tensor, mg.Tensor, mg.Tensor, Mask], dict[Label, mg.Tensor]],
    arrays: tuple[Array, Array, Array],
    mask: Mask,
    dz: Array,
) -> Mapping[Label, tuple[int, int]]:
    """(NaNs, numbers) of each step and of the gradients of a loss that leaves out the rows that see nothing."""
    q, k, v = (mg.Tensor(array, requires_grad=True) for array in arrays)
    seeing = np.flatnonzero(mask.any(axis=-1))
    with np.errstate(invalid="ignore"):
        made = steps(q, k, v, mask)
        loss = mg.sum(made["z = P V"][seeing] * dz[seeing])
    found = mg.gradients(loss, [made["S"], q, k, v])
    named: dict[Label, mg.Tensor] = dict(zip(("dS", "dQ", "dK", "dV"), found, strict=True))
    every = made | {Words("loss without that row", "跳过这一行的损失"): loss} | named
    return {label: (int(np.isnan(tensor.data).sum()), tensor.size) for label, tensor in every.items()}


def _first_anomaly(q: Array, k: Array, mask: Mask) -> tuple[str, tuple[int, ...]]:
    try:
        with mg.detect_anomaly():
            _steps_with_inf(mg.Tensor(q, requires_grad=True), mg.Tensor(k), mg.Tensor(np.ones_like(k)), mask)
    except mg.AnomalyError as error:
        return error.operation, error.index
    raise AssertionError("a row of -inf made no NaN")


AFTER, ADDED, OURS = "softmax(S) × mask", "S + (-1e9)", "softmax(S, where=mask)"
WAYS: Mapping[Label, Callable[[mg.Tensor, Mask], mg.Tensor]] = {
    "S = -inf": lambda scores, mask: _plain_softmax(mg.where(mask, scores, -np.inf)),
    "S = -1e9": lambda scores, mask: _plain_softmax(mg.where(mask, scores, -LARGE)),
    ADDED: lambda scores, mask: _plain_softmax(scores + np.where(mask, 0, -LARGE).astype(scores.dtype)),
    AFTER: lambda scores, mask: _plain_softmax(scores) * mask.astype(scores.dtype),
    OURS: lambda scores, mask: mg.softmax(scores, where=mask),
}


class Masked(NamedTuple):
    """What a way to mask does.

    The greatest weight and |gradient| of a hidden score, the least and the greatest sum of a row, and the weights of a
    row that may see nothing.
    """

    weight: float
    gradient: float
    least: float
    most: float
    nothing_left: Array


def ways_to_mask(subject: Subject) -> Answer:
    """Question 13: -inf, -1e9 put in, -1e9 added, weights masked after the softmax, and `where=mask`; float64, float32.

    Scores and the pattern's cotangent of the first head of the decoder's last self-attention, with its causal mask.
    """
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.self_attention"
    scores, g = trace.seen[f"{path}.scores"].data[0, 0], trace.gradient(f"{path}.pattern")[0, 0]
    mask = np.broadcast_to(decoder_mask(trace.target_in != PAD, len(scores)), (1, 1, *scores.shape))[0, 0]
    found = {
        (name, dtype): _masked(way, scores.astype(dtype), g.astype(dtype), mask)
        for name, way in WAYS.items()
        for dtype in ("float64", "float32")
    }
    after, added = found[AFTER, "float64"], {dtype: found[ADDED, dtype] for dtype in ("float64", "float32")}
    free = _plain_softmax(mg.Tensor(scores[-1:])).data[0]
    gap = f"{np.abs(added['float64'].nothing_left - free).max():.1g}"
    rounded = _range(added["float32"].nothing_left.min(), added["float32"].nothing_left.max())
    ours = found[OURS, "float64"]
    spacing = f"{np.spacing(np.float32(LARGE)):g}"
    question = Words(
        "How do I mask: -inf, -1e9, or multiply by 0 after the softmax?",
        "掩码该怎么加：用 -inf、用 -1e9，还是在 softmax 之后乘 0？",
    )
    answer = Words(
        "Before the softmax. Masked after it, hidden scores have weight 0 but still stand in the denominator: they get "
        f"gradients up to {after.gradient:.3g} here, and rows sum to as little as {after.least:.3g}. -inf and -1e9 "
        "give hidden scores weight 0 and gradient 0, and differ where nothing is left to see: -inf gives NaN; an added "
        f"-1e9 loses the scores in float32, whose neighbours there are {spacing} apart (weights {rounded.en}), and "
        f"in float64 attends as if nothing were hidden (within {gap}). where=mask: weight {ours.weight:g}, gradient "
        f"{ours.gradient:g}, and weight {ours.nothing_left.max():g} in a row with nothing left.",
        "在 softmax 之前。如果在之后才遮，被遮住的分数权重虽是 0，却仍在分母里："
        f"这里它们的梯度最大有 {after.gradient:.3g}，而每行之和最小只有 {after.least:.3g}。"
        "-inf 和 -1e9 都让被遮住的分数权重为 0、梯度为 0，区别在于整行都被遮住的时候：-inf 得到 NaN；"
        f"加上 -1e9 在 float32 中会把分数舍入掉，那里相邻两数相差 {spacing}（权重为 {rounded.zh}），"
        f"在 float64 中则好像什么都没遮（相差不超过 {gap}）。用 where=mask：权重 {ours.weight:g}，"
        f"梯度 {ours.gradient:g}，整行被遮住时权重也是 {ours.nothing_left.max():g}。",
    )
    columns = [
        Words("mask", "方式"), Words("numbers", "精度"), Words("largest hidden weight", "被遮处的最大权重"),
        Words("largest hidden |gradient|", "被遮处的最大梯度"), Words("sums of rows", "每行之和"),
        Words("weights where all is hidden", "整行被遮时的权重"),
    ]  # fmt: skip
    rows = [
        (
            name, dtype, f"{way.weight:.3g}", f"{way.gradient:.3g}", _range(way.least, way.most),
            _range(way.nothing_left.min(), way.nothing_left.max()),
        )
        for (name, dtype), way in found.items()
    ]  # fmt: skip
    return Answer(13, question, answer, (Table(Words("Five ways to mask", "五种掩码方式"), columns, rows),))


def _plain_softmax(x: mg.Tensor) -> mg.Tensor:
    powers = mg.exp(x - mg.max(x, axis=-1, keepdims=True).detach())
    return powers / powers.sum(axis=-1, keepdims=True)


def _masked(way: Callable[[mg.Tensor, Mask], mg.Tensor], scores: Array, g: Array, mask: Mask) -> Masked:
    leaf = mg.Tensor(scores, requires_grad=True)
    pattern = way(leaf, mask)
    gradient = mg.gradients(pattern, [leaf], g)[0].data
    sums = pattern.data.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        nothing_left = way(mg.Tensor(scores[-1:]), np.zeros_like(mask[-1:])).data[0]
    return Masked(
        float(np.max(pattern.data[~mask], initial=0)),
        float(np.max(np.abs(gradient[~mask]), initial=0)),
        float(sums.min()),
        float(sums.max()),
        nothing_left,
    )


def _range(low: float, high: float) -> Words:
    least, most = ("NaN" if np.isnan(bound) else f"{bound:.3g}" for bound in (low, high))
    return Words(least, least) if least == most else Words(f"{least} to {most}", f"{least} 到 {most}")
