"""Cotangents of what was broadcast. Shapes: B batch, T target length, V target vocabulary."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.study.figures import Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace


class Broadcast(NamedTuple):
    """An operand that was broadcast: what the rule gives for it, the axes summed over, the sum, and the tape's."""

    name: Label
    operand: Array
    before: Array
    axes: tuple[int, ...]
    after: Array
    taped: Array


def broadcast_shapes(subject: Subject) -> Answer:
    """Question 9: cotangents before and after they are summed over the axes that broadcasting added.

    The bias of the model's logits, (1, T, V) + (V,), from the trace; a column times a row, and a number, at random.
    """
    logits = _bias_of_logits(subject.trace)
    rng = np.random.default_rng(0)
    column, row, number = rng.standard_normal((3, 1)), rng.standard_normal(4), rng.standard_normal(())
    g = rng.standard_normal((3, 4))
    cases = [
        logits,
        _summed(Words("column of column × row", "列 × 行：列"), column, g * row, lambda x: x * row, g),
        _summed(Words("row of column × row", "列 × 行：行"), row, g * column, lambda x: x * column, g),
        _summed(Words("number + matrix", "数 + 矩阵"), number, g, lambda x: x + g, g),
    ]
    gap = f"{max(np.abs(case.after - case.taped).max() for case in cases):.1g}"
    stepped = logits.operand - 0.1 * logits.before
    before, after = (f"{np.linalg.norm(each):.3g}" for each in (logits.before, logits.after))
    question = Words(
        "My bias has one shape, its gradient another. Why, after broadcasting?",
        "为什么广播之后，偏置的梯度形状和偏置不一样？",
    )
    answer = Words(
        "Broadcasting uses one number at many places, so its gradient is the sum over these places. The bias of this "
        f"model's logits has the shape {_shape(logits.operand)}; what the rule of + hands back has the logits' shape "
        f"{_shape(logits.before)} and norm {before}: summed over axes {logits.axes} it has the bias's shape and norm "
        f"{after}. A new axis on the left is summed away, an axis of size 1 is summed and stays; in all rows below the "
        f"tape differs by at most {gap}. Forget it, and NumPy says nothing: the bias after bias = bias - 0.1·g has the "
        f"shape {_shape(stepped)}.",
        "广播是把一个数用在很多位置上，所以它的梯度是这些位置的梯度之和。"
        f"本模型 logits 的偏置形状为 {_shape(logits.operand)}，而加法的规则传回的梯度和 logits 一样，"
        f"形状为 {_shape(logits.before)}，范数为 {before}：在轴 {logits.axes} 上求和后，"
        f"形状与偏置相同，范数为 {after}。左边新增的轴求和后去掉，长度为 1 的轴求和后保留；"
        f"下表各行与自动求导最多相差 {gap}。忘了求和，NumPy 也不报错："
        f"执行 bias = bias - 0.1·g 之后，偏置的形状变成了 {_shape(stepped)}。",
    )
    columns = [
        Words("operand", "运算数"), Words("its shape", "它的形状"), Words("gradient before", "求和前的形状"),
        Words("summed over axes", "求和的轴"), Words("gradient after", "求和后的形状"),
        Words("norm before", "求和前的范数"), Words("norm after", "求和后的范数"),
    ]  # fmt: skip
    rows = [
        (
            case.name, _shape(case.operand), _shape(case.before), str(case.axes), _shape(case.after),
            *(f"{np.linalg.norm(each):.3g}" for each in (case.before, case.after)),
        )
        for case in cases
    ]  # fmt: skip
    return Answer(9, question, answer, (Table(Words("What was broadcast is summed", "广播过的要求和"), columns, rows),))


def _bias_of_logits(trace: Trace) -> Broadcast:
    bias = dict(trace.model.named_parameters())["output.bias"].data
    before = trace.gradient("logits")
    axes = _added_axes(bias.shape, before.shape)
    after = before.sum(axis=axes).reshape(bias.shape)
    return Broadcast(
        Words("bias of the logits", "logits 的偏置"), bias, before, axes, after, trace.parameters["output.bias"]
    )


def _summed(name: Label, operand: Array, before: Array, f: Callable[[mg.Tensor], mg.Tensor], g: Array) -> Broadcast:
    leaf = mg.Tensor(operand, requires_grad=True)
    axes = _added_axes(operand.shape, before.shape)
    (taped,) = mg.gradients(f(leaf), [leaf], g)
    return Broadcast(name, operand, before, axes, before.sum(axis=axes).reshape(operand.shape), taped.data)


def _added_axes(operand: tuple[int, ...], output: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `output` along which an operand of this shape was repeated."""
    new = len(output) - len(operand)
    return tuple(axis for axis, size in enumerate(output) if axis < new or operand[axis - new] < size)


def _shape(array: Array) -> str:
    return str(array.shape)
