"""softmax, log_softmax and logsumexp, each a definition and a kernel.

All subtract the largest element first. That changes nothing in exact arithmetic, so it is a constant to the derivative.
"""

from functools import cache
from typing import Any

import numpy as np

from minigrad.fused import Fused
from minigrad.ops.axes import all_axes, as_mask, kept_shape, one_axis, shape_of
from minigrad.ops.choices import where as where_else
from minigrad.ops.elementwise import add, exp
from minigrad.tape import Array
from minigrad.tensor import Axes, Tensor, TensorLike


def largest(x: Array, axis: int | tuple[int, ...], where: Any) -> Array:
    """The largest element that takes part, over `axis`, kept; 0 where none does or all are -inf."""
    numbers = x.astype(np.float64) if x.dtype.kind in "biu" else x
    top = np.max(numbers, axis=axis, keepdims=True, initial=-np.inf, where=True if where is None else where)
    return np.where(np.isneginf(top.real), np.zeros((), top.dtype), top)


def finite_largest(x: Array, axis: int | tuple[int, ...], where: Any) -> Array:
    """`largest`, or 0 where that is infinite: what may be subtracted and added again."""
    top = largest(x, axis, where)
    return np.where(np.isinf(top.real), np.zeros((), top.dtype), top)


def near_zero(x: Array) -> bool:
    """Whether all is so near to 0 that sums of exponentials stay in range: nothing needs to be subtracted first.

    Exponentials are then as exact without, and the largest of each row, the slowest part of a softmax, isn't needed.
    float16 has no room for a sum of many, complex numbers have no largest.
    """
    if not x.size:
        return False
    limit = _range_of_exp(x.dtype)
    return bool(x.max() <= limit and x.min() >= -limit)  # False for NaN


def row_shift(x: Array, where: Any) -> Array:
    """What to subtract from each row that is not known to be near zero: its largest element; 0 if it is near zero.

    Row by row, so that no bit of a row's exponentials depends on the rows beside it.
    """
    top, limit = largest(x, -1, where), _range_of_exp(x.dtype)
    if limit < 0:
        return top
    low = np.min(x, axis=-1, keepdims=True, initial=np.inf, where=True if where is None else where)
    return np.where((top <= limit) & (low >= -limit), np.zeros((), top.dtype), top)


@cache
def _range_of_exp(dtype: np.dtype[Any]) -> float:
    """A third of the largest number whose exponential a dtype can hold, the rest being for the sum; -1 for none."""
    if dtype.kind != "f" or dtype.itemsize < 4:
        return -1.0
    return float(np.log(np.finfo(dtype).max)) / 3


def _exponentials(x: Tensor, top: Array, where: Any) -> Tensor:
    """exp(x - top); exactly 0 where an element takes no part, whatever it holds."""
    if where is None:
        return exp(x - top)
    return where_else(where, exp(where_else(where, x, top) - top), 0.0)


def _raw_exponentials(x: Array, top: Array, where: Any) -> Array:
    """The same on arrays, in one fresh buffer."""
    e = np.asarray((x if where is None else np.where(where, x, top)) - top)
    np.exp(e, out=e)
    if where is not None:
        e *= where
    return e


def _softmax_definition(x: Tensor, *, axis: int, where: Any) -> Tensor:
    e = _exponentials(x, largest(x.data, axis, where), where)
    total = e.sum(axis, keepdims=True)
    return e / add(total, total == 0)


def _softmax_forward(x: Array, *, axis: int, where: Any) -> tuple[Array, None]:
    e = _raw_exponentials(x, largest(x, axis, where), where)
    total = e.sum(axis=axis, keepdims=True)
    e /= total + (total == 0)
    return e, None


def _softmax_backward(g: Array, out: Array, residuals: None, x: Array, *, axis: int, where: Any) -> tuple[Array]:
    weighted = np.asarray(g * out)
    weighted -= out * weighted.sum(axis=axis, keepdims=True)
    return (weighted,)


_softmax = Fused(
    "softmax", _softmax_definition, _softmax_forward, _softmax_backward,
    formula="exp(x) / sum of exp(x) over axis", reads="x out",
    kinks="where no element takes part, 0",
)  # fmt: skip


def _log_softmax_definition(x: Tensor, *, axis: int) -> Tensor:
    shifted = x - largest(x.data, axis, None)
    total = exp(shifted).sum(axis, keepdims=True)
    return shifted - add(total, total == 0).log()


def _log_softmax_forward(x: Array, *, axis: int) -> tuple[Array, None]:
    shifted = np.asarray(x - largest(x, axis, None))
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    shifted -= np.log(total + (total == 0))
    return shifted, None


def _log_softmax_backward(g: Array, out: Array, residuals: None, x: Array, *, axis: int) -> tuple[Array]:
    return (g - np.exp(out) * g.sum(axis=axis, keepdims=True),)


_log_softmax = Fused(
    "log_softmax", _log_softmax_definition, _log_softmax_forward, _log_softmax_backward,
    formula="x - log of sum of exp(x) over axis", reads="x out",
    kinks="where all of x is -inf, -inf, as softmax is 0",
)  # fmt: skip


def _logsumexp_definition(x: Tensor, *, axis: tuple[int, ...], keepdims: bool, kept: Any, where: Any) -> Tensor:
    top = finite_largest(x.data, axis, where)
    e = _exponentials(x, top, where)
    some = e.sum(axis, keepdims=True)
    none = some == 0
    total = where_else(none, -np.inf, where_else(none, 1.0, some).log() + top)
    return total if keepdims else total.reshape(tuple(s for i, s in enumerate(kept) if i not in axis))


def _logsumexp_forward(x: Array, *, axis: Any, keepdims: bool, kept: Any, where: Any) -> tuple[Array, None]:
    top = finite_largest(x, axis, where)
    e = _raw_exponentials(x, top, where)
    with np.errstate(divide="ignore"):  # log(0) = -inf is right where nothing takes part
        total = np.log(e.sum(axis=axis, keepdims=True)) + top
    return total if keepdims else total.reshape(tuple(s for i, s in enumerate(kept) if i not in axis)), None


def _logsumexp_backward(
    g: Array, out: Array, residuals: None, x: Array, *, axis: Any, keepdims: bool, kept: Any, where: Any
) -> tuple[Array]:
    e = _raw_exponentials(x, finite_largest(x, axis, where), where)
    total = e.sum(axis=axis, keepdims=True)
    e *= g.reshape(kept) / (total + (total == 0))
    return (e,)


_logsumexp = Fused(
    "logsumexp", _logsumexp_definition, _logsumexp_forward, _logsumexp_backward,
    formula="log of sum of exp(x) over axis", reads="x",
    kinks="where no element takes part, -inf, with derivative 0", derived="keepdims kept",
)  # fmt: skip


def softmax(x: TensorLike, axis: int = -1, where: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) over `axis`. dx = out * (g - sum(g * out)).

    where: boolean, broadcast to x; where it is False an element takes no part: its weight and its gradient are exactly
        0, whatever it holds, inf and NaN too. Where nothing takes part, all weights are 0.
    Source: the paper, section 3.2.1.
    """
    mask = None if where is None else as_mask("softmax", where)
    return _softmax(x, axis=one_axis("softmax", shape_of(x), axis), where=mask)


def log_softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """x - log(sum(exp(x))) over `axis`. dx = g - softmax(x) * sum(g)."""
    return _log_softmax(x, axis=one_axis("log_softmax", shape_of(x), axis))


def logsumexp(x: TensorLike, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Tensor:
    """log(sum(exp(x))) over `axis`, without overflow. dx = g * softmax(x).

    where: boolean, broadcast to x; True where an element takes part. Where none does, -inf with gradient 0.
    """
    shape = shape_of(x)
    axes = all_axes("logsumexp", shape, axis)
    mask = None if where is None else as_mask("logsumexp", where)
    return _logsumexp(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes), where=mask)
