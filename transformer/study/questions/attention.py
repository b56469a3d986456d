"""Attention's gradients: where each edge's comes from, and why scores are divided by the root of d_k.

The paper, sections 3.2.1 and 3.2.2. Shapes: B batch, H heads, T_q / T_k lengths, D d_model, d_k a head's width.
"""

from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.masks import padding_mask
from transformer.study.figures import Lines, Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace
from transformer.vocabulary import PAD

WIDTHS = tuple(4 * 2**n for n in range(9))
MULTIPLIERS = tuple(2**n for n in range(7))
TRIES = 1000


class Inputs(NamedTuple):
    """What an attention hands back to its inputs, each (B, T, D): to x through W_Q, to m through W_K and W_V."""

    by_query: Array
    by_key: Array
    by_value: Array


def gradients_of_attention(subject: Subject) -> Answer:
    """Question 1: the gradient of every edge of a self-attention and a cross-attention, as the trace has them.

    What reaches the inputs is dQ W_Q^T, dK W_K^T and dV W_V^T; what all decoder layers hand to the encoder's output m
    adds up to its gradient.
    """
    trace = subject.trace
    layers = trace.model.config.layers
    own, cross = f"encoder.layers.{layers - 1}.self_attention", f"decoder.layers.{layers - 1}.cross_attention"
    inside, outside = _inputs(trace, own), _inputs(trace, cross)
    x, m = inside.by_query + inside.by_key + inside.by_value, outside.by_key + outside.by_value
    each = [_inputs(trace, f"decoder.layers.{n}.cross_attention") for n in range(layers)]
    memory = np.sum([part.by_key + part.by_value for part in each], axis=0)
    gap = f"{np.abs(memory - trace.gradient('encoder.out')).max():.1g}"
    question = Words(
        "What exactly are the gradients of attention: for x, for W_Q, W_K, W_V, and in cross-attention for the "
        "encoder's output?",
        "注意力的梯度到底是什么？对 x、W_Q、W_K、W_V 各是多少？交叉注意力里编码器的输出又得到什么？",
    )
    q, k, v = map(_norm, inside)
    answer = Words(
        "A weight's gradient is what went into it, transposed, times the cotangent of what came out; its input gets "
        "that cotangent times the weight, transposed. In self-attention x goes in three times, so three parts add up: "
        f"norms {q} (through W_Q), {k} (W_K) and {v} (W_V), together {_norm(x)}. In cross-attention x only asks, and "
        f"gets {_norm(outside.by_query)}; the encoder's output m is the keys and the values, and gets {_norm(m)} from "
        f"this layer. Every decoder layer reads m: summed over all layers ({layers}) the norm is {_norm(memory)}, and "
        f"the sum differs from the tape's gradient of m by at most {gap}.",
        "一个权重的梯度，等于它的输入的转置乘以它的输出的梯度；输入得到的，则是输出的梯度乘以权重的转置。"
        f"自注意力中 x 被用了三次，所以三份梯度相加：范数分别为 {q}（经 W_Q）、{k}（经 W_K）和 {v}（经 W_V），"
        f"合起来是 {_norm(x)}。交叉注意力中 x 只作查询，得到 {_norm(outside.by_query)}；编码器的输出 m 既作键又作值，"
        f"从这一层得到 {_norm(m)}。解码器的每一层都读 m：所有层（共 {layers} 层）传回的梯度之和，范数为 "
        f"{_norm(memory)}，与自动求导得到的 m 的梯度最多相差 {gap}。",
    )
    columns = [
        Words("gradient", "梯度"), Words("rule", "公式"),
        Words("self: shape", "自注意力：形状"), Words("self: norm", "自注意力：范数"),
        Words("cross: shape", "交叉注意力：形状"), Words("cross: norm", "交叉注意力：范数"),
    ]  # fmt: skip
    rows: list[tuple[Label, ...]] = [
        (name, rule, _shape(left), _norm(left), _shape(right), _norm(right))
        for (name, rule), left, right in zip(_EDGES, _edges(trace, own), _edges(trace, cross), strict=True)
    ]
    both = Words("x, through this attention", "x，经由这个注意力")
    only = Words("m, through this attention", "m，经由这个注意力")
    rows.append(("dx", both, _shape(x), _norm(x), _shape(outside.by_query), _norm(outside.by_query)))
    rows.append(("dm", only, Words("m is x", "m 就是 x"), "", _shape(m), _norm(m)))
    title = Words(
        f"Backward through attention, layer {layers} of encoder and decoder",
        f"反向穿过注意力：编码器与解码器的第 {layers} 层",
    )
    return Answer(1, question, answer, (Table(title, columns, rows),))


_EDGES: tuple[tuple[str, str], ...] = (
    ("dO", "∂L/∂O"), ("dW_O", "concat(z)ᵀ dO"), ("dz", "dO W_Oᵀ"), ("dP", "dz Vᵀ"), ("dV", "Pᵀ dz"),
    ("dS", "P ∘ (dP - rowsum(dP ∘ P))"), ("dQ", "dS K / √d_k"), ("dK", "dSᵀ Q / √d_k"),
    ("dW_Q", "xᵀ dQ"), ("dW_K", "mᵀ dK"), ("dW_V", "mᵀ dV"),
    ("dx (W_Q)", "dQ W_Qᵀ"), ("dm (W_K)", "dK W_Kᵀ"), ("dm (W_V)", "dV W_Vᵀ"),
)  # fmt: skip


def _edges(trace: Trace, path: str) -> list[Array]:
    """The gradients in the order of _EDGES."""
    weight = {name: trace.parameters[f"{path}.{name}.weight"] for name in ("query", "key", "value", "output")}
    seen = {name: trace.gradient(f"{path}.{name}") for name in ("out", "z", "pattern", "v", "scores", "q", "k")}
    return [
        seen["out"], weight["output"], *(seen[name] for name in ("z", "pattern", "v", "scores", "q", "k")),
        weight["query"], weight["key"], weight["value"], *_inputs(trace, path),
    ]  # fmt: skip


def _inputs(trace: Trace, path: str) -> Inputs:
    parameters = dict(trace.model.named_parameters())
    return Inputs(*(
        trace.gradient(f"{path}.{name}") @ parameters[f"{path}.{name}.weight"].data.T
        for name in ("query", "key", "value")
    ))  # fmt: skip


def _norm(array: Array) -> str:
    return f"{np.linalg.norm(array):.3g}"


def _shape(array: Array) -> str:
    return "×".join(map(str, array.shape))


def spread_of_scores(subject: Subject) -> Answer:
    """Question 2: the standard deviation of q . k for random q, k of d_k entries; of the model's own queries and keys.

    Random, seeded: TRIES pairs a width, entries of mean 0 and variance 1; as it is, over sqrt(d_k) and over d_k.
    """
    rng = np.random.default_rng(0)
    raw = np.array([np.einsum("nd,nd->n", *rng.standard_normal((2, TRIES, width))).std() for width in WIDTHS])
    rooted, divided = raw / np.sqrt(WIDTHS), raw / WIDTHS
    first, last, low, high, small = (f"{n:.3g}" for n in (raw[0], raw[-1], rooted.min(), rooted.max(), divided[-1]))
    width = subject.trace.model.config.d_head
    products = np.concatenate([part.reshape(-1) for part in _products(subject.trace)])
    own, scores = f"{products.std():.3g}", f"{products.std() / np.sqrt(width):.3g}"
    question = Words(
        "Why should q·k have variance d_k, and why divide by its root, not by d_k itself?",
        "为什么 q·k 的方差是 d_k？为什么除以它的平方根，而不是除以 d_k 本身？",
    )
    answer = Words(
        "If the entries of q and k are independent, of mean 0 and variance 1, then q·k is a sum of d_k terms of "
        f"variance 1: its variance is d_k, its spread √d_k. Measured on {TRIES} random pairs, the standard deviation "
        f"is {first} at d_k = {WIDTHS[0]} and {last} at d_k = {WIDTHS[-1]}. Divided by √d_k it stays between {low} and "
        f"{high}, so softmax starts alike at every width; divided by d_k it would shrink to {small}, and all keys "
        f"would weigh nearly the same. What is trained is not independent: in this model (d_k = {width}) the products "
        f"of this sentence spread by {own}, the scores by {scores}.",
        "如果 q 和 k 的各分量相互独立，均值为 0，方差为 1，那么 q·k 是 d_k 个方差为 1 的项之和："
        f"方差是 d_k，标准差是 √d_k。用 {TRIES} 对随机向量实测，"
        f"标准差在 d_k = {WIDTHS[0]} 时为 {first}，在 d_k = {WIDTHS[-1]} 时为 {last}。"
        f"除以 √d_k 后始终在 {low} 与 {high} 之间，所以无论多宽，softmax 的起点都一样；"
        f"若除以 d_k，则会缩小到 {small}，所有键的权重几乎相同。训练后的查询和键不再独立："
        f"在本模型中（d_k = {width}），这个句子的点积标准差为 {own}，分数的标准差为 {scores}。",
    )
    figure = Lines(
        Words("Spread of q·k for random q and k", "随机的 q 和 k：q·k 的标准差"),
        WIDTHS,
        {"q·k": raw, "q·k / √d_k": rooted, "q·k / d_k": divided},
        "d_k",
        Words("standard deviation", "标准差"),
        x_log=True,
        y_log=True,
    )
    return Answer(2, question, answer, (figure,))


def _products(trace: Trace) -> list[Array]:
    """q k^T of every attention, (B, H, T_q, T_k)."""
    paths = [name.removesuffix(".q") for name in trace.seen if name.endswith(".q")]
    shared = trace.model.config.heads // trace.model.config.key_value_heads
    return [
        trace.seen[f"{path}.q"].data @ np.repeat(trace.seen[f"{path}.k"].data, shared, axis=1).swapaxes(-1, -2)
        for path in paths
    ]


def large_logits(subject: Subject) -> Answer:
    """Question 3: norm of dS and entropy of the pattern where the real scores are multiplied by 1 to 64.

    pattern = softmax(c S, where=mask) of the last layer's cross-attention; its cotangent stays the trace's, so only
    softmax's own derivative, P * (dP - rowsum(dP * P)), changes. Entropy: of a row, in nats, averaged over all.
    """
    trace = subject.trace
    measured = [_sharpened(trace, multiplier) for multiplier in MULTIPLIERS]
    norms, entropies = np.array(measured).T
    root = np.sqrt(trace.model.config.d_head)
    most, factor = MULTIPLIERS[-1], f"{root:.3g}"
    once, often, unscaled = (
        tuple(f"{number:.3g}" for number in pair) for pair in (measured[0], measured[-1], _sharpened(trace, root))
    )
    question = Words(
        "Why do large logits kill the gradient? Softmax has a derivative everywhere.",
        "为什么 logits 一大梯度就没了？softmax 不是处处可导吗？",
    )
    answer = Words(
        "It has, but dS = P ∘ (dP - rowsum(dP ∘ P)): once a row of P is all on one key, each entry of dS is 0, "
        "whatever dP says. Here the real scores of this sentence were multiplied, and dP kept. As they are, ‖dS‖ is "
        f"{once[0]} and the mean entropy of a row {once[1]} nats; without the division by √d_k, which is times "
        f"{factor}, {unscaled[0]} and {unscaled[1]}; times {most}, {often[0]} and {often[1]}.",
        "可导，但 dS = P ∘ (dP - rowsum(dP ∘ P))：一旦 P 的某一行全部集中在一个键上，"
        "不管 dP 是多少，这一行的 dS 都是 0。这里把这个句子的真实分数放大，dP 保持不变。"
        f"原样时，‖dS‖ 为 {once[0]}，每行的平均熵为 {once[1]} 奈特；"
        f"不除以 √d_k，也就是乘以 {factor} 时，为 {unscaled[0]} 和 {unscaled[1]}；"
        f"乘以 {most} 时，为 {often[0]} 和 {often[1]}。",
    )
    times = Words("scores multiplied by", "分数的倍数")
    gradient = Lines(
        Words("Gradient that comes through softmax", "穿过 softmax 的梯度"),
        MULTIPLIERS, {"‖dS‖": norms}, times, "‖dS‖", x_log=True,
    )  # fmt: skip
    entropy = Lines(
        Words("Entropy of the attention", "注意力的熵"),
        MULTIPLIERS, {Words("entropy", "熵"): entropies}, times, Words("nats", "奈特"), x_log=True,
    )  # fmt: skip
    return Answer(3, question, answer, (gradient, entropy))


def _sharpened(trace: Trace, multiplier: float) -> tuple[float, float]:
    """(norm of dS, mean entropy of the rows) of the last layer's cross-attention, its scores multiplied."""
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    logits = mg.Tensor(multiplier * trace.seen[f"{path}.scores"].data, requires_grad=True)
    pattern = mg.softmax(logits, where=padding_mask(trace.source != PAD))
    (gradient,) = mg.gradients(pattern, [logits], trace.gradient(f"{path}.pattern"))
    logs = np.log(np.where(pattern.data > 0, pattern.data, 1.0))
    return float(np.linalg.norm(gradient.data)), float(-(pattern.data * logs).sum(-1).mean())
