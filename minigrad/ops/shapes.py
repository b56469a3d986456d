"""Operations that move elements and change none: each is linear, and its rule is its adjoint."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.errors import ShapeError
from minigrad.ops.axes import all_axes, located, one_axis, shape_of
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers, operations
from minigrad.tensor import Tensor, TensorLike

_reshape = Primitive(
    "reshape", lambda x, *, shape: x.reshape(shape), "x in another shape",
    Rule(lambda g, out, x, *, shape: g.reshape(x.shape)),
)  # fmt: skip
_transpose = Primitive(
    "transpose", lambda x, *, axes: x.transpose(axes), "x with its axes in another order",
    Rule(lambda g, out, x, *, axes: g.transpose(tuple(axes.index(i) for i in range(len(axes))))),
)  # fmt: skip
_broadcast_to = Primitive(
    "broadcast_to", lambda x, *, shape: np.broadcast_to(x, shape), "x repeated to a shape",
    Rule(lambda g, out, x, *, shape: g),
)  # fmt: skip
_concatenate = Primitive(
    "concatenate", lambda *parts, axis: np.concatenate(parts, axis=axis), "parts joined along axis",
    Rule(lambda g, out, *parts, axis, position: g[_part(parts, axis, position)]),
    variadic=True,
)  # fmt: skip


def _part(parts: Sequence[Any], axis: int, position: int) -> tuple[slice, ...]:
    """The index of the part at `position` within the whole."""
    start = int(np.sum([part.shape[axis] for part in parts[:position]], dtype=int))
    return (slice(None),) * axis + (slice(start, start + parts[position].shape[axis]),)


@answers(np.reshape)
def reshape(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """The elements of x, in row order, in another shape; one size may be -1. dx = g in x's shape."""
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(shape)
    old = shape_of(x)
    if -1 in sizes:
        rest = int(np.prod([size for size in sizes if size != -1]))
        total = int(np.prod(old))
        if sizes.count(-1) == 1 and rest and total % rest == 0:
            sizes = tuple(total // rest if size == -1 else size for size in sizes)
    return _reshape(x, shape=sizes)


@answers(np.transpose)
def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """x with its axes in the order `axes` (reversed if None). dx = g with the axes put back."""
    shape = shape_of(x)
    order = tuple(reversed(range(len(shape)))) if axes is None else all_axes("transpose", shape, tuple(axes))
    if len(order) != len(shape):
        raise ShapeError(f"{located('transpose')}: axes={axes} must name each axis of {shape} once")
    return _transpose(x, axes=order)


@answers(np.swapaxes)
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """x with two axes changed for each other."""
    shape = shape_of(x)
    order = list(range(len(shape)))
    i, j = one_axis("swapaxes", shape, axis1), one_axis("swapaxes", shape, axis2)
    order[i], order[j] = j, i
    return _transpose(x, axes=tuple(order))


@answers(np.expand_dims)
def expand_dims(x: TensorLike, axis: int | tuple[int, ...]) -> Tensor:
    """x with new axes of size 1 at the positions `axis` of the result."""
    shape = shape_of(x)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    new = all_axes("expand_dims", (1,) * (len(shape) + count), axis)
    sizes = iter(shape)
    return _reshape(x, shape=tuple(1 if i in new else next(sizes) for i in range(len(shape) + count)))


@answers(np.squeeze)
def squeeze(x: TensorLike, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """x without the axes `axis`, which must have size 1 (None: all such axes)."""
    shape = shape_of(x)
    gone = tuple(i for i, size in enumerate(shape) if size == 1) if axis is None else all_axes("squeeze", shape, axis)
    for i in gone:
        if shape[i] != 1:
            raise ShapeError(
                f"{located('squeeze')}: axis {i} of {shape} has size {shape[i]}; only an axis of size 1 can go"
            )
    return _reshape(x, shape=tuple(size for i, size in enumerate(shape) if i not in gone))


@answers(np.broadcast_to)
def broadcast_to(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """x repeated along new or size-1 axes up to `shape`. dx = g summed over these axes."""
    return _broadcast_to(x, shape=(int(shape),) if isinstance(shape, int | np.integer) else tuple(shape))


@answers(np.concatenate)
def concatenate(parts: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The parts joined along `axis`. Each part's gradient is its slice of g."""
    if not len(parts):
        raise ShapeError(f"{located('concatenate')}: there is nothing to join")
    return _concatenate(*parts, axis=one_axis("concatenate", shape_of(parts[0]), axis))


operations.reshape = reshape
operations.transpose = transpose
operations.swapaxes = swapaxes
operations.squeeze = squeeze
