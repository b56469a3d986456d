"""Reductions over axes. `axis` is an int, a tuple, or None for all; negative axes count from the end.

Each row gets its axes normalised, and `kept`, the output's shape with the reduced axes as 1.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from minigrad.ops.axes import all_axes, as_mask, kept_shape, shape_of
from minigrad.ops.choices import where as choose
from minigrad.ops.elementwise import astype, divide
from minigrad.ops.shapes import reshape, transpose
from minigrad.ops.signatures import answers_in_order
from minigrad.primitive import Primitive, Rule
from minigrad.registry import operations
from minigrad.tape import Array
from minigrad.tensor import Axes, Tensor, TensorLike

_sum = Primitive(
    "sum", lambda x, *, axis, keepdims, kept: np.add.reduce(x, axis=axis, keepdims=keepdims), "sum of x over axis",
    Rule(lambda g, out, x, *, kept, **_: np.broadcast_to(g.reshape(kept), x.shape)),
    derived="keepdims kept",
)  # fmt: skip
_mean = Primitive(
    "mean", lambda x, *, axis, keepdims, kept, share: np.mean(x, axis=axis, keepdims=keepdims), "mean of x over axis",
    Rule(lambda g, out, x, *, kept, share, **_: np.broadcast_to((g * share).reshape(kept), x.shape)),
    derived="keepdims kept share",
)  # fmt: skip


def _extreme_rule(
    g: Any, out: Any, x: Any, *, axis: tuple[int, ...], kept: tuple[int, ...], part: Any, nobody: Any, **_: Any
) -> Any:
    chosen = (x == out.reshape(kept)) & part
    return g.reshape(kept) * (chosen / (chosen.sum(axis=axis, keepdims=True) + nobody))


def _max_forward(x: Array, *, axis: tuple[int, ...], keepdims: bool, where: Any, **_: Any) -> Array:
    if where is None:
        return np.asarray(np.max(x, axis=axis, keepdims=keepdims))
    return np.asarray(np.max(x, axis=axis, keepdims=keepdims, where=where, initial=_bounds(x.dtype)[0]))


def _min_forward(x: Array, *, axis: tuple[int, ...], keepdims: bool, where: Any, **_: Any) -> Array:
    if where is None:
        return np.asarray(np.min(x, axis=axis, keepdims=keepdims))
    return np.asarray(np.min(x, axis=axis, keepdims=keepdims, where=where, initial=_bounds(x.dtype)[1]))


def _bounds(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the greatest value of a dtype."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return (False, True) if dtype.kind == "b" else (-np.inf, np.inf)


_max = Primitive(
    "max", _max_forward, "largest of x over axis", Rule(_extreme_rule, "x out"),
    kinks="ties share evenly; where none takes part, 0", analytic=False, derived="keepdims kept part nobody",
)  # fmt: skip
_min = Primitive(
    "min", _min_forward, "smallest of x over axis", Rule(_extreme_rule, "x out"),
    kinks="ties share evenly; where none takes part, 0", analytic=False, derived="keepdims kept part nobody",
)  # fmt: skip


def _prod_rule(g: Any, out: Any, x: Any, *, axis: int, **_: Any) -> Any:
    """The product of the others: of all before, and of all behind. Nothing is divided, so zeros are no matter."""
    size = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    inner = (slice(None),) * axis + (slice(None, x.shape[axis]),)
    one = np.ones(size, x.dtype)
    before = np.cumprod(np.concatenate([one, x], axis)[inner], axis)
    behind = np.flip(np.cumprod(np.concatenate([one, np.flip(x, axis)], axis)[inner], axis), axis)
    return g.reshape(size) * before * behind


_prod = Primitive(
    "prod", lambda x, *, axis, keepdims: np.prod(x, axis=axis, keepdims=keepdims), "product of x over axis",
    Rule(_prod_rule, "x"),
    derived="keepdims",
)  # fmt: skip


@answers_in_order(np.sum, "axis dtype out keepdims initial where")
def sum(
    x: TensorLike, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None, where: Any = None
) -> Tensor:
    """The sum over `axis`. Every element's dx is the g of its sum.

    dtype: of the sum, and of the numbers as they are added; None is x's (int64 for small integers, as NumPy).
    where: boolean, broadcast to x; where it is False an element takes no part, whatever it holds.
    """
    x = _taking_part("sum", x, dtype, where)
    shape = shape_of(x)
    axes = all_axes("sum", shape, axis)
    return _sum(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes))


@answers_in_order(np.mean, "axis dtype out keepdims where")
def mean(
    x: TensorLike, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None, where: Any = None
) -> Tensor:
    """The mean over `axis`: the sum divided by n. dx = g / n. Of no elements it is NaN, with NumPy's warning.

    dtype, where: as for `sum`; n counts the elements that take part.
    """
    shape = shape_of(x)
    axes = all_axes("mean", shape, axis)
    if where is not None:
        count = np.broadcast_to(as_mask("mean", where), shape).sum(axis=axes, keepdims=keepdims)
        total = sum(x, axis, keepdims, dtype, where)
        return divide(total, np.asarray(count, total.dtype if total.dtype.kind == "f" else np.float64))
    x = _taking_part("mean", x, dtype, None)
    count = int(np.prod([shape[i] for i in axes]))
    share = 1 / count if count else float("nan")
    return _mean(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes), share=share)


def _taking_part(name: str, x: TensorLike, dtype: npt.DTypeLike | None, where: Any) -> TensorLike:
    """x in the dtype asked for, with 0 for what takes no part."""
    if dtype is not None:
        x = astype(x, dtype)
    return x if where is None else choose(as_mask(name, where), x, 0)


@answers_in_order(np.max, "axis out keepdims initial where")
def max(x: TensorLike, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Tensor:
    """The largest element over `axis`. g goes to it; ties share it evenly. Raises ValueError where there is none.

    where: boolean, broadcast to x; True where an element takes part. Where none does, -inf with gradient 0.
    """
    return _extreme(_max, x, axis, keepdims, where)


@answers_in_order(np.min, "axis out keepdims initial where")
def min(x: TensorLike, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Tensor:
    """The smallest element over `axis`. g goes to it; ties share it evenly. Raises ValueError where there is none.

    where: boolean, broadcast to x; True where an element takes part. Where none does, inf with gradient 0.
    """
    return _extreme(_min, x, axis, keepdims, where)


def _extreme(row: Primitive, x: TensorLike, axis: Axes, keepdims: bool, where: Any) -> Tensor:
    shape = shape_of(x)
    axes = all_axes(row.name, shape, axis)
    mask: Any = None
    part: Any = True
    nobody: Any = 0
    if where is not None:
        mask = part = as_mask(row.name, where)
        nobody = ~np.broadcast_to(mask, shape).any(axis=axes, keepdims=True)
    return row(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes), where=mask, part=part, nobody=nobody)


@answers_in_order(np.prod, "axis dtype out keepdims initial where")
def prod(x: TensorLike, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None) -> Tensor:
    """The product over `axis`. dx is g times the product of the others, with zeros among them too, at every order."""
    if dtype is not None:
        x = astype(x, dtype)
    shape = shape_of(x)
    axes = all_axes("prod", shape, axis)
    if len(axes) == 1:
        return _prod(x, axis=axes[0], keepdims=keepdims)
    others = tuple(i for i in range(len(shape)) if i not in axes)
    size = int(np.prod([shape[i] for i in axes]))
    rows = reshape(transpose(x, others + axes), (*(shape[i] for i in others), size))
    product = _prod(rows, axis=len(others), keepdims=False)
    return reshape(product, kept_shape(shape, axes)) if keepdims else product


operations.sum = sum
operations.mean = mean
operations.max = max
operations.min = min
operations.prod = prod
