"""Spread and length: variance, standard deviation, norms."""

from typing import Any

import numpy as np

from minigrad.errors import ShapeError
from minigrad.ops.axes import all_axes, kept_shape, located, shape_of
from minigrad.ops.choices import abs, where
from minigrad.ops.elementwise import power, subtract
from minigrad.ops.reductions import max, mean, min, sum
from minigrad.ops.signatures import answers_in_order
from minigrad.primitive import Primitive, Rule
from minigrad.registry import operations
from minigrad.tape import Array
from minigrad.tensor import Axes, Tensor, TensorLike


def _var_forward(x: Array, *, axis: tuple[int, ...], keepdims: bool, share: float, **_: Any) -> Array:
    centred = x - np.mean(x, axis=axis, keepdims=True)  # two passes: the mean of squares minus a square cancels
    return np.asarray(np.sum(centred * centred, axis=axis, keepdims=keepdims) * share)


def _var_rule(g: Any, out: Any, x: Any, *, axis: Any, kept: Any, share: float, **_: Any) -> Any:
    return (g * (2 * share)).reshape(kept) * (x - np.mean(x, axis=axis, keepdims=True))


_var = Primitive(
    "var", _var_forward, "mean of (x - mean of x)**2 over axis", Rule(_var_rule, "x"), derived="keepdims kept share"
)  # fmt: skip


def _norm_forward(x: Array, *, axis: tuple[int, ...], keepdims: bool, kept: Any) -> Array:
    return np.asarray(np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)))


def _norm_rule(g: Any, out: Any, x: Any, *, kept: Any, **_: Any) -> Any:
    length = out.reshape(kept)
    return g.reshape(kept) * np.where(length == 0, 0, x / np.where(length == 0, 1, length))


_norm = Primitive(
    "norm", _norm_forward, "sqrt of sum of x**2 over axis", Rule(_norm_rule, "out x"),
    kinks="norm'(0) = 0", derived="keepdims kept",
)  # fmt: skip


def _free(shape: tuple[int, ...], axes: tuple[int, ...], ddof: float) -> float:
    """1 / (n - ddof), inf or NaN where nothing is free, as NumPy."""
    count = int(np.prod([shape[i] for i in axes]))
    return 1 / (count - ddof) if count > ddof else float("inf" if count else "nan")


@answers_in_order(np.var, "axis dtype out ddof keepdims")
def var(x: TensorLike, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    """The variance over `axis`: sum((x - mean)**2) / (n - ddof). dx = g * 2 * (x - mean) / (n - ddof)."""
    shape = shape_of(x)
    axes = all_axes("var", shape, axis)
    return _var(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes), share=_free(shape, axes, ddof))


@answers_in_order(np.std, "axis dtype out ddof keepdims")
def std(x: TensorLike, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
    """The root of the variance over `axis`. dx = g * (x - mean) / (std * (n - ddof)), by convention 0 at std 0."""
    shape = shape_of(x)
    axes = all_axes("std", shape, axis)
    scale = float(np.sqrt(_free(shape, axes, ddof)))
    return norm(subtract(x, mean(x, axes, keepdims=True)), None, axes, keepdims) * scale


@answers_in_order(np.linalg.norm, "ord axis keepdims")
def norm(x: TensorLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The length sqrt(sum(x**2)) over `axis`: any axes, None for all. dx = g * x / norm, 0 where the norm is 0.

    ord: None or 2, as above; 1, inf, -inf or another p: sum(abs(x)**p)**(1/p), the largest or the smallest abs(x).
    By convention the derivative at 0 is 0 for each of these. Raises ShapeError for an `ord` over a matrix's two axes,
    by which NumPy means the norm of an operator, not of the numbers in it.
    """
    shape = shape_of(x)
    axes = all_axes("norm", shape, axis)
    if ord is not None and (len(axes) > 1 or isinstance(ord, str)):
        raise ShapeError(f"{located('norm')}: ord={ord!r} over axes {axes} of {shape}: it takes one axis; use ord=None")
    if ord is None or ord == 2:
        return _norm(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes))
    size = abs(x)
    if ord == 1:
        return sum(size, axes, keepdims)
    if ord in (np.inf, -np.inf):
        return (max if ord > 0 else min)(size, axes, keepdims)
    if ord == 0:
        raise ShapeError(
            f"{located('norm')}: ord=0 counts what is not 0 and has no derivative; use (t.data != 0).sum()"
        )
    zero = size == 0
    total = sum(where(zero, 0.0, power(where(zero, 1.0, size), ord)), axes, keepdims)
    none = total == 0
    return where(none, 0.0, power(where(none, 1.0, total), 1 / ord))


operations.var = var
operations.std = std
