"""What padding changes: nothing. Shapes: B = 1 sentence, T_s / T_t source and target length, D d_model."""

import numpy as np

import minigrad as mg
from transformer.activations import Function
from transformer.masks import Ids
from transformer.study.figures import Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace, traced
from transformer.vocabulary import PAD

MORE = 3
"""How many positions of padding are put behind both sides."""

NOISE = 1000.0
"""How large the numbers are that are put at the padding."""


def padding(subject: Subject) -> Answer:
    """How far loss and parameters' gradients are apart: with more padding, and with other numbers at the padding.

    The second keeps all shapes, so it is compared bit for bit; the first does not, so sums may round otherwise. Beside
    it a mistake: padding counted in the loss, as a word to be written.
    """
    trace, padded = subject.trace, _padded(subject.trace)
    noise = {name: _noise(padded, name) for name in ("source_positions.out", "target_positions.out")}
    reached = max(float(np.abs(padded.gradient(name)[_is_padding(padded, name)]).max()) for name in noise)
    with mg.enable_grad(), padded.model.patch(noise):
        logits = padded.model(padded.source, padded.target_in)
        same = mg.cross_entropy(logits, padded.target, PAD, padded.label_smoothing)
    mistaken = mg.cross_entropy(padded.seen["logits"], padded.target, label_smoothing=padded.label_smoothing)
    wider = _apart(padded.loss, padded, trace)
    noisier, counted = _apart(same, padded, padded), _apart(mistaken, padded, padded)
    question = Words("Does padding change the loss or the gradients?", "填充会改变损失或梯度吗？")
    loss, wrong = f"{float(trace.loss.data):.4g}", f"{float(mistaken.data):.4g}"
    answer = Words(
        f"No. With {MORE} more positions of padding behind both sides the loss, {loss}, moves by {wider[0]}, and no "
        f"number in any parameter's gradient by more than {wider[1]}: sums of another length may round otherwise. "
        "Where shapes are equal it is exact: random numbers up to thousands, put where the padding is, change the "
        f"loss by {noisier[0]} and the gradients by {noisier[1]}, since a masked key has the weight 0 and a padded "
        f"target the gradient 0. Were padding counted as words to be written, the loss would be {wrong}.",
        f"不会。在两边后面各加 {MORE} 个填充，损失 {loss} 的变动是 {wider[0]}，"
        f"所有参数的梯度里没有一个数变动超过 {wider[1]}：求和的长度不同，舍入可能不同。形状相同时则完全相同："
        f"把填充处换成上千的随机数，损失变动 {noisier[0]}，梯度变动 {noisier[1]}，因为被掩码的键权重是 0，"
        f"填充处的目标梯度是 0。如果把填充也算作要写的词，损失就成了 {wrong}。",
    )
    rows: list[list[Label]] = [
        [Words(f"{MORE} more positions of padding", f"再加 {MORE} 个填充"), *wider],
        [Words("other numbers at the padding", "填充处换成别的数"), *noisier],
        [Words("gradient that reaches the padding", "传到填充处的梯度"), "", f"{reached:.2g}"],
        [Words("a mistake: padding counted in the loss", "错误：损失里算上填充"), *counted],
    ]
    columns = [
        Words("what is changed", "改变什么"),
        Words("change of the loss", "损失的变动"),
        Words("largest change of a gradient", "梯度的最大变动"),
    ]
    title = Words("What padding changes", "填充改变了什么")
    return Answer(23, question, answer, (Table(title, columns, rows),))


def _padded(trace: Trace) -> Trace:
    """The same sentence with padding behind both sides."""
    source, target_in, target = (_longer(ids) for ids in (trace.source, trace.target_in, trace.target))
    return traced(trace.model, source, target_in, target, trace.label_smoothing)


def _longer(ids: Ids) -> Ids:
    return np.pad(ids, ((0, 0), (0, MORE)), constant_values=PAD)


def _is_padding(trace: Trace, name: str) -> Array:
    """Where a stack's input (1, T, D) stands at padding: booleans (1, T)."""
    return np.equal(trace.source if name.startswith("source") else trace.target_in, PAD)


def _noise(trace: Trace, name: str) -> Function:
    """A patch that puts random numbers at the padding of a stack's input."""
    here = _is_padding(trace, name)[..., None]
    numbers = NOISE * np.random.default_rng(0).standard_normal(trace.seen[name].shape)
    return lambda x: mg.where(here, numbers, x)


def _apart(loss: mg.Tensor, run: Trace, other: Trace) -> tuple[str, str]:
    """How far a loss of one run's model is from another run's, and the gradients of all parameters at most."""
    found = mg.gradients(loss, list(run.model.parameters()))
    largest = max(
        float(np.abs(gradient.data - right).max())
        for gradient, right in zip(found, other.parameters.values(), strict=True)
    )
    return f"{abs(float(loss.data) - float(other.loss.data)):.2g}", f"{largest:.2g}"
