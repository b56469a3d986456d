"""What a gradient check can tell: about a gradient that is 0, and how near a difference comes to a derivative.

Shapes: B = 1 sentence, T_k keys, E width of all heads of keys.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.masks import Ids
from transformer.model import Transformer
from transformer.study.figures import Lines, Table, Words
from transformer.study.figures.figure import Label
from transformer.study.heads import words_for
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace, in_float64, losses, traced
from transformer.vocabulary import PAD

HEIGHT, SAMPLE = 1e-5, 16
"""The step of the differences that a key bias is checked by, and how many of its numbers are checked at most."""

STEPS, PARTS = np.logspace(-1, -10, 10), 3
"""The steps at which slopes of the whole model are checked, and along how many directions."""

Parameters = dict[str, Array]


class Checked(NamedTuple):
    """A key bias: the largest numbers in dK, in its gradient, and in its gradient by differences; and how these agree.

    relative: the largest of |a - b| / max(|a|, |b|). beside_keys: the largest |a - b|, divided by the largest in dK.
    """

    keys: float
    bias: float
    by_differences: float
    relative: float
    beside_keys: float


def key_bias(subject: Subject) -> Answer:
    """The gradient of each attention's key bias beside that of its keys, and beside its own finite difference.

    db_K is the sum of dK over positions, since the bias is added at each. It is 0: b adds q . b to all scores of a row
    alike, and softmax(s + c) = softmax(s). That is not so where keys are turned by their places: from a model that
    turns them, a copy that does not is looked at.
    """
    trace = _with_keys_as_they_are(subject.trace)
    names = [name for name in trace.seen if name.endswith(".key")]
    checks = {words_for(name.removesuffix(".key")): _checked(trace, name) for name in names}
    largest = Checked(*(max(column) for column in zip(*checks.values(), strict=True)))
    bias, keys = f"{largest.bias:.1e}", f"{largest.keys:.2g}"
    relative, beside = f"{largest.relative:.2g}", f"{largest.beside_keys:.1e}"
    question = Words(
        "Why has the key bias no gradient? My gradient check says it is wrong.",
        "键的偏置为什么没有梯度？梯度检验还说它是错的。",
    )
    answer = Words(
        "A bias b on the keys adds q·b to all scores of a query alike, and softmax does not change when a whole row "
        f"moves: its gradient, the sum of dK over the keys, is 0. Here its largest number is {bias}, which is "
        f"rounding, beside {keys} in dK. A check that divides by the numbers it compares then reports a relative "
        f"error of {relative} where nothing is wrong; divided by the largest number in dK the error is {beside}.",
        "给键加偏置 b，就是给同一个查询的所有分数都加上 q·b，而整行一起平移时 softmax 不变："
        f"偏置的梯度是 dK 对各个键求和，等于 0。这里它最大的数是 {bias}，只是舍入误差，而 dK 里最大的是 {keys}。"
        f"检验时如果除以被比较的那两个数，明明没错，也会报出 {relative} 的相对误差；除以 dK 里最大的数，"
        f"误差是 {beside}。",
    )
    columns = [
        Words("attention", "注意力"),
        Words("dK, largest", "dK 最大"),
        Words("bias, largest", "偏置梯度最大"),
        Words("by differences", "用差分求"),
        Words("relative error", "相对误差"),
        Words("error / dK", "误差 / dK"),
    ]
    rows: list[list[Label]] = [[words, *(f"{number:.2g}" for number in check)] for words, check in checks.items()]
    title = Words("The gradient of each key bias, and its check", "每个键偏置的梯度及其检验")
    return Answer(21, question, answer, (Table(title, columns, rows),))


def step_of_a_check(subject: Subject) -> Answer:
    """The relative error of (f(w + h v) - f(w - h v)) / 2h against the slope g . v, by step h, in float32 and float64.

    f: the loss, of all parameters w; v = g / |g|, so the slope is |g|, for each of PARTS parts of the parameters: a
    single slope could be met by luck. And the error of the float32 gradient.
    """
    trace = subject.trace
    single, double = _in_float32(trace.model), in_float64(trace.model)
    tape = f"{_error_of_gradients(single, trace):.1e}"
    errors: dict[Label, Array] = {"float32": _errors_by_step(single, trace), "float64": _errors_by_step(double, trace)}
    best = {name: f"{each.mean(axis=0).min():.1e}" for name, each in errors.items()}
    at = {name: f"{STEPS[each.mean(axis=0).argmin()]:.0e}" for name, each in errors.items()}
    question = Words(
        "My gradient check fails in float32. How close is close enough?", "float32 下梯度检验不通过，差多少才算对？"
    )
    answer = Words(
        "A difference errs twice: a large step h by the curve, as h², a small one by rounding, as 1/h; so the error "
        f"has the shape of a U. For this model's loss it comes as near as {best['float32']} in float32, at h = "
        f"{at['float32']}, and {best['float64']} in float64, at h = {at['float64']}. The float32 gradient of the tape "
        f"itself is right to {tape}: it is the check that cannot see so far. So check in float64.",
        "差分有两种误差：步长 h 大时是曲线的弯曲，按 h² 增长；h 小时是舍入，按 1/h 增长，所以误差曲线呈 U 形。"
        f"对这个模型的损失，float32 下最小到 {best['float32']}，在 h = {at['float32']} 处；"
        f"float64 下最小到 {best['float64']}，在 h = {at['float64']} 处。而反向传播在 float32 下算出的梯度，"
        f"误差只有 {tape}：看不清的是检验本身。所以检验要用 float64。",
    )
    lines = Lines(
        Words("Relative error of a difference, by its step", "差分的相对误差与步长"),
        STEPS.tolist(),
        errors,
        x_axis=Words("step h", "步长 h"),
        y_axis=Words("relative error", "相对误差"),
        x_log=True,
        y_log=True,
    )
    return Answer(22, question, answer, (lines,))


def _with_keys_as_they_are(trace: Trace) -> Trace:
    """The trace, or, of a model that turns its keys, one of a copy that does not, with the same parameters."""
    config = trace.model.config
    if "rotary" not in config.positions + config.cross_positions:
        return trace
    positions = "sinusoidal" if config.positions == "rotary" else config.positions
    copy = Transformer(replace(config, positions=positions, cross_positions="none"))
    copy.load_state_dict(trace.model.state_dict())
    return traced(copy, trace.source, trace.target_in, trace.target, trace.label_smoothing)


def _checked(trace: Trace, name: str) -> Checked:
    """The bias of the keys (1, T_k, E) of this name."""
    gradient = trace.gradient(name)[0]
    rule = gradient.sum(axis=0)
    sample = np.unique(np.linspace(0, len(rule) - 1, SAMPLE).astype(int))
    slope = bias_by_differences(trace, name, sample)
    apart, larger = np.abs(rule[sample] - slope), np.maximum(np.abs(rule[sample]), np.abs(slope))
    relative = np.divide(apart, larger, out=np.zeros_like(apart), where=larger > 0)
    keys = float(np.abs(gradient).max())
    beside_keys = float(apart.max() / keys) if keys else 0.0
    return Checked(keys, float(np.abs(rule).max()), float(np.abs(slope).max()), float(relative.max()), beside_keys)


def bias_by_differences(trace: Trace, name: str, places: Ids) -> Array:
    """(f(b + h) - f(b - h)) / 2h for these numbers (N,) of a key bias b, which moves the keys of all positions: (N,).

    name: of the keys that the bias is added to, "decoder.layers.0.cross_attention.key".
    """
    keys = trace.seen[name].data[0]  # (T_k, E)
    moves = HEIGHT * np.eye(keys.shape[-1])[places][:, None, :]
    found: Array = (losses(trace, name, keys + moves) - losses(trace, name, keys - moves)) / (2 * HEIGHT)
    return found


def _in_float32(model: Transformer) -> Transformer:
    """A copy whose parameters are float32."""
    with mg.default_dtype("float32"):
        copy = Transformer(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def _loss(model: Transformer, trace: Trace) -> mg.Tensor:
    """The trace's loss, by another model."""
    logits = model(trace.source, trace.target_in)
    return mg.cross_entropy(logits, trace.target, ignore_index=PAD, label_smoothing=trace.label_smoothing)


def _error_of_gradients(model: Transformer, trace: Trace) -> float:
    """|g' - g| / |g|, g the trace's gradients of all parameters and g' those of this copy of its model."""
    named = dict(model.named_parameters())
    found = mg.gradients(_loss(model, trace), list(named.values()))
    right = list(trace.parameters.values())
    apart = [gradient.data - expected for gradient, expected in zip(found, right, strict=True)]
    return _norm(apart) / _norm(right)


def _errors_by_step(model: Transformer, trace: Trace) -> Array:
    """|difference - slope| / slope by part and step, in the dtype of this copy of the trace's model: (PARTS, STEPS)."""
    own = {name: parameter.data for name, parameter in trace.model.named_parameters()}
    errors = np.empty((PARTS, len(STEPS)))
    for part in range(PARTS):
        along = dict(list(trace.parameters.items())[part::PARTS])
        slope = _norm(list(along.values()))
        for n, step in enumerate(STEPS):
            up, down = (_loss_at(model, trace, own, along, by / slope) for by in (step, -step))
            errors[part, n] = abs((up - down) / (2 * step) - slope) / slope
    return errors


def _loss_at(model: Transformer, trace: Trace, own: Parameters, along: Parameters, factor: float) -> float:
    """The trace's loss by a model whose parameters are its `own` and `factor` times what they move `along`."""
    for name, parameter in model.named_parameters():
        parameter.data = own[name] + factor * along[name] if name in along else own[name]  # cast to its dtype
    with mg.no_grad():
        return float(_loss(model, trace).data)


def _norm(arrays: list[Array]) -> float:
    """Of all numbers together."""
    return float(np.sqrt(sum(float(np.sum(array**2)) for array in arrays)))
