"""Running sums and products along an axis, and the linear recurrence that is the adjoint of the latter."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minigrad.ops.axes import one_axis, shape_of
from minigrad.ops.elementwise import astype
from minigrad.ops.shapes import reshape, swapaxes
from minigrad.ops.signatures import answers_in_order
from minigrad.primitive import Primitive, Rule
from minigrad.registry import operations
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def _after(first: Any, x: Any) -> Any:
    """x moved on by one along its last axis, behind `first`; its last element is gone."""
    start = np.full((*x.shape[:-1], 1), first, x.dtype)
    return np.concatenate([start, x], -1)[..., : x.shape[-1]]


def _recurrence_forward(b: Array, a: Array) -> Array:
    """y_0 = b_0, y_j = b_j + a_j * y_(j-1)."""
    out = np.array(b, np.result_type(a, b))
    for j in range(1, out.shape[-1]):
        out[..., j] += a[..., j] * out[..., j - 1]
    return out


def _back(g: Any, a: Any) -> Any:
    """The same from the end: G_j = g_j + a_(j+1) * G_(j+1)."""
    later = np.concatenate([a[..., :1], a[..., :0:-1]], -1)
    return _recurrence.in_kind(g[..., ::-1], later)[..., ::-1]


_recurrence: Primitive = Primitive(
    "recurrence", _recurrence_forward, "y[j] = b[j] + a[j] * y[j-1]",
    Rule(lambda g, out, b, a: _back(g, a), "a"),
    Rule(lambda g, out, b, a: _back(g, a) * _after(0, out), "out a"),
)  # fmt: skip
_cumsum = Primitive(
    "cumsum", lambda x, *, axis: np.cumsum(x, axis=axis), "sum of x up to each place along axis",
    Rule(lambda g, out, x, *, axis: np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)),
)  # fmt: skip
_cumprod = Primitive(
    "cumprod", lambda x: np.cumprod(x, axis=-1), "product of x up to each place",
    Rule(lambda g, out, x: _back(g, x) * np.cumprod(_after(1, x), axis=-1), "x"),
)  # fmt: skip


@answers_in_order(np.cumsum, "axis dtype out")
def cumsum(x: TensorLike, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> Tensor:
    """The sum of all elements up to each place along `axis` (None: of x made flat). dx is g's running sum from the end.

    (..., n, ...) -> (..., n, ...).
    """
    x, along = _along("cumsum", x, axis, dtype)
    return _cumsum(x, axis=along)


@answers_in_order(np.cumprod, "axis dtype out")
def cumprod(x: TensorLike, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> Tensor:
    """The product of all elements up to each place along `axis` (None: of x made flat); (..., n, ...), the same shape.

    dx[j] = the product before j, times G[j] = g[j] + x[j+1] * G[j+1]. Nothing is divided, so zeros are no matter.
    """
    x, along = _along("cumprod", x, axis, dtype)
    last = len(shape_of(x)) - 1
    return _cumprod(x) if along == last else swapaxes(_cumprod(swapaxes(x, along, last)), along, last)


def _along(name: str, x: TensorLike, axis: int | None, dtype: npt.DTypeLike | None) -> tuple[TensorLike, int]:
    """x, flat where no axis is named, in the dtype asked for; and the axis counted from the front."""
    if dtype is not None:
        x = astype(x, dtype)
    if axis is None:
        x, axis = reshape(x, -1), 0
    return x, one_axis(name, shape_of(x), axis)


operations.cumsum = cumsum
operations.cumprod = cumprod
