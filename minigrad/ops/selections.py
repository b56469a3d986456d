"""Choosing elements by position: each is one `getitem`, whose adjoint adds back where a place was taken twice.

Also what only tells positions or kinds: `np.argmax(t)` and its like are plain arrays, and nothing flows through them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.errors import ShapeError
from minigrad.ops.axes import as_places, located, one_axis, shape_of
from minigrad.ops.indexing import getitem
from minigrad.ops.shapes import reshape
from minigrad.ops.signatures import answers_in_order
from minigrad.registry import answers, operations
from minigrad.tensor import Tensor, TensorLike, plain


@answers_in_order(np.take, "indices axis out mode")
def take(x: TensorLike, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    """The elements (None: of x made flat) or slices along `axis` at `indices`, of any shape, in the axis's place.

    Repeated indices add up in dx. mode: beyond the axis, "raise" an IndexError, "wrap" around, or "clip" to its ends.
    """
    if axis is None:
        x, axis = reshape(x, -1), 0
    shape = shape_of(x)
    along = one_axis("take", shape, axis)
    places = as_places("take", indices)
    if mode == "wrap":
        places = places % shape[along]
    elif mode == "clip":
        places = np.clip(places, 0, shape[along] - 1)
    elif mode != "raise":
        raise ShapeError(f"{located('take')}: mode={mode!r} is none of 'raise', 'wrap', 'clip'")
    return getitem(x, (slice(None),) * along + (places,))


@answers(np.take_along_axis)
def take_along_axis(x: TensorLike, indices: Any, axis: int | None = -1) -> Tensor:
    """out[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on; the other axes broadcast. None: of x made flat.

    dx adds each g to its place along the axis. Raises ShapeError where the numbers of axes differ.
    """
    if axis is None:
        x, axis = reshape(x, -1), 0
    shape, places = shape_of(x), as_places("take_along_axis", indices)
    along = one_axis("take_along_axis", shape, axis)
    if places.ndim != len(shape):
        raise ShapeError(f"{located('take_along_axis')}: indices {places.shape} for {shape}: as many axes are needed")
    others = np.ogrid[tuple(slice(size) for size in shape)]
    return getitem(x, tuple(places if i == along else other for i, other in enumerate(others)))


@answers_in_order(np.sort, "axis kind order")
def sort(x: TensorLike, axis: int | None = -1) -> Tensor:
    """x in rising order along `axis` (None: of x made flat), NaN last. Each g goes back to where its element was.

    Ties keep their order: of two equal elements the first one in x has the first one's g.
    """
    if axis is None:
        x, axis = reshape(x, -1), 0
    along = one_axis("sort", shape_of(x), axis)
    return take_along_axis(x, np.argsort(np.asarray(plain(x)), axis=along, kind="stable"), along)


def _on_plain_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    def told(*operands: Any, **options: Any) -> Any:
        return function(*map(plain, operands), **{name: plain(option) for name, option in options.items()})

    return told


for function in (
    np.argmax, np.argmin, np.argsort, np.isnan, np.isinf, np.isfinite, np.size, np.zeros_like, np.ones_like,
    np.full_like, np.empty_like, np.array_equal, np.allclose, np.isclose, np.count_nonzero,
):  # fmt: skip
    answers(function)(_on_plain_arrays(function))


operations.take = take
