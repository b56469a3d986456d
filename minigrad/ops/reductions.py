"""Reductions over axes. `axis` is an int, a tuple, or None for all; negative axes count from the end.

Each row gets its axes normalised, and `kept`, the output's shape with the reduced axes as 1.
"""

from typing import Any

import numpy as np

from minigrad.ops.axes import all_axes, kept_shape, shape_of
from minigrad.primitive import Primitive, Rule
from minigrad.tensor import Axes, Tensor, TensorLike, answers, operations

_sum = Primitive(
    "sum", lambda x, *, axis, keepdims, kept: np.sum(x, axis=axis, keepdims=keepdims), "sum of x over axis",
    Rule(lambda g, out, x, *, kept, **_: np.broadcast_to(g.reshape(kept), x.shape)),
    derived="keepdims kept",
)  # fmt: skip
_mean = Primitive(
    "mean", lambda x, *, axis, keepdims, kept, share: np.mean(x, axis=axis, keepdims=keepdims), "mean of x over axis",
    Rule(lambda g, out, x, *, kept, share, **_: np.broadcast_to((g * share).reshape(kept), x.shape)),
    derived="keepdims kept share",
)  # fmt: skip


def _max_rule(g: Any, out: Any, x: Any, *, axis: tuple[int, ...], kept: tuple[int, ...], **_: Any) -> Any:
    largest = x == out.reshape(kept)
    return g.reshape(kept) * (largest / largest.sum(axis=axis, keepdims=True))


_max = Primitive(
    "max", lambda x, *, axis, keepdims, kept: np.max(x, axis=axis, keepdims=keepdims), "largest of x over axis",
    Rule(_max_rule, "x out"),
    kinks="ties share evenly", analytic=False, derived="keepdims kept",
)  # fmt: skip


@answers(np.sum)
def sum(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum over `axis`. Every element's dx is the g of its sum."""
    shape = shape_of(x)
    axes = all_axes("sum", shape, axis)
    return _sum(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes))


@answers(np.mean)
def mean(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean over `axis`: the sum divided by n. dx = g / n. Of no elements it is NaN, with NumPy's warning."""
    shape = shape_of(x)
    axes = all_axes("mean", shape, axis)
    count = int(np.prod([shape[i] for i in axes]))
    share = 1 / count if count else float("nan")
    return _mean(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes), share=share)


@answers(np.max)
def max(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element over `axis`. g goes to it; ties share it evenly. Raises ValueError where there is none."""
    shape = shape_of(x)
    axes = all_axes("max", shape, axis)
    return _max(x, axis=axes, keepdims=keepdims, kept=kept_shape(shape, axes))


operations.sum = sum
operations.mean = mean
operations.max = max
