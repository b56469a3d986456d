"""Layer normalisation's backward pass, term by term.

Source: Ba, Kiros and Hinton 2016; the paper, section 3.1. Shapes: T target length, D d_model.
"""

from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.study.figures import Bars, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array

EPS = 1e-5


class Terms(NamedTuple):
    """What adds up to dx, by the way x takes, each (T, D), and normal = (x - mean) / sqrt(variance + eps).

    direct = rate h, h = g * gain; mean = -rate mean(h); variance = -rate normal mean(h normal); inner: the mean once
    more, within the variance, whose derivative by it is -2 mean(x - mean).
    """

    direct: Array
    mean: Array
    variance: Array
    inner: Array
    normal: Array

    @property
    def dx(self) -> Array:
        """The sum of the four."""
        return self.direct + self.mean + self.variance + self.inner


def layer_norm_terms(subject: Subject) -> Answer:
    """Question 7: the four terms of dx at the last norm of the decoder's last layer; the fourth is 0.

    dx = rate (h - mean(h) - normal mean(h normal)): orthogonal to 1, and to normal but for eps.
    """
    x, gain, g = _last_norm(subject)
    terms, without = _terms(x, gain, g, EPS), _terms(x, gain, g, 0.0)
    leaf = mg.Tensor(x, requires_grad=True)
    taped = mg.gradients(mg.layer_norm(leaf, gain, eps=EPS), [leaf], g)[0].data
    norms = [float(np.linalg.norm(each)) for each in (*terms[:4], terms.dx)]
    first, second, third, _, whole = (f"{norm:.3g}" for norm in norms)
    fourth, gap = f"{norms[3]:.1g}", f"{np.abs(taped - terms.dx).max():.1g}"
    flat, stretch, exact = (
        f"{cosine:.1g}"
        for cosine in (
            _cosine(terms.dx, np.ones_like(x)),
            _cosine(terms.dx, terms.normal),
            _cosine(without.dx, without.normal),
        )
    )
    question = Words(
        "Layer norm backward: some write three terms, some four. Which is right, and what does the one line mean?",
        "层归一化的反向：有人写三项，有人写四项，哪个对？合成一行的公式又是什么意思？",
    )
    answer = Words(
        "Both: x goes three ways, straight, through the mean and through the variance; the variance holds the mean "
        f"once more, but its derivative by it is -2 mean(x - mean) = 0. On this sentence the norms are {first}, "
        f"{second} and {third}, and {fourth} for the fourth; together {whole}, at most {gap} from the tape. The line "
        "dx = (h - mean(h) - x̂ mean(h ∘ x̂)) / σ, h = g ∘ gain, takes out of h what points along 1 and along x̂, since "
        "to shift or stretch x changes nothing: the cosine of dx with 1 is at most "
        f"{flat}, with x̂ {stretch}, and {exact} without eps = {EPS:g}.",
        "都对：x 有三条路，直接、经过均值、经过方差；方差里又有一次均值，但对它的导数是 -2 mean(x - mean) = 0。"
        f"在这个句子上，三项的范数是 {first}、{second} 和 {third}，第四项是 {fourth}；合起来是 {whole}，"
        f"与自动求导最多相差 {gap}。一行公式 dx = (h - mean(h) - x̂ mean(h ∘ x̂)) / σ（h = g ∘ gain）"
        "是从 h 中去掉沿 1 和沿 x̂ 的分量，因为平移或拉伸 x 都不改变输出："
        f"dx 与 1 的余弦最大为 {flat}，与 x̂ 的余弦最大为 {stretch}，去掉 eps 后为 {exact}（eps = {EPS:g}）。",
    )
    labels = [
        Words("straight", "直接"), Words("through the mean", "经过均值"), Words("through the variance", "经过方差"),
        Words("mean within the variance", "方差里的均值"), Words("dx, their sum", "dx，四项之和"),
    ]  # fmt: skip
    title = Words("Norms of the terms of layer norm's dx", "层归一化 dx 各项的范数")
    return Answer(7, question, answer, (Bars(title, labels, {Words("norm", "范数"): norms}),))


def _last_norm(subject: Subject) -> tuple[Array, Array, Array]:
    """(x (T, D), gain (D,), cotangent (T, D)) of the norm around the last feed-forward network of the decoder."""
    trace = subject.trace
    config = trace.model.config
    layer = f"decoder.layers.{config.layers - 1}"
    gain = dict(trace.model.named_parameters())[f"{layer}.feed_forward_norm.gain"].data
    entering, leaving = (
        (f"{layer}.feed_forward_norm.sum", f"{layer}.feed_forward_norm.out")
        if config.norm == "post"
        else (f"{layer}.cross_attention_norm.out", f"{layer}.feed_forward_norm.normal")
    )
    return trace.seen[entering].data[0], gain, trace.gradient(leaving)[0]


def _terms(x: Array, gain: Array, g: Array, eps: float) -> Terms:
    h, width = g * gain, x.shape[-1]
    centred = x - x.mean(axis=-1, keepdims=True)
    rate = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    normal = centred * rate
    dvariance = -0.5 * rate**3 * (h * centred).sum(axis=-1, keepdims=True)
    inner = dvariance * -2 * centred.mean(axis=-1, keepdims=True) / width
    return Terms(
        rate * h,
        np.broadcast_to(-rate * h.mean(axis=-1, keepdims=True), x.shape),
        dvariance * 2 * centred / width,
        np.broadcast_to(inner, x.shape),
        normal,
    )


def _cosine(rows: Array, others: Array) -> float:
    """The greatest |cosine| of a row and the other's; 0 for a row of zeros."""
    lengths = np.linalg.norm(rows, axis=-1) * np.linalg.norm(others, axis=-1)
    return float(np.max(np.abs((rows * others).sum(axis=-1)) / np.where(lengths == 0, 1, lengths)))
