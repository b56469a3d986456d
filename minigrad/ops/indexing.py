"""Taking elements out and adding them back: `getitem` and `scatter_add` are each other's adjoint."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.primitive import Primitive, Rule
from minigrad.registry import operations
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike, as_array


def _scatter_forward(x: Array, *, index: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """Zeros of `shape`, to which each element of x is added at its place; elements with the same place add up."""
    if len(index) == 1 and isinstance(index[0], np.ndarray) and index[0].dtype.kind in "iu":
        return _add_rows(x, index[0], shape)
    out = np.zeros(shape, x.dtype)
    if any(isinstance(part, np.ndarray) for part in index):
        np.add.at(out, index, x)
    else:
        out[index] += x  # slices and single integers name each place once
    return out


def _add_rows(x: Array, rows: Array, shape: tuple[int, ...]) -> Array:
    """The same for an index of whole rows: sorted by row, each row's share is one run to sum."""
    out = np.zeros((shape[0], int(np.prod(shape[1:]))), x.dtype)
    places = rows.reshape(-1).astype(np.intp)
    places = np.where(places < 0, places + shape[0], places)
    x = np.broadcast_to(x, rows.shape + shape[1:])
    if places.size:
        if places.min() < 0:
            raise IndexError(f"index {places.min() - shape[0]} is out of bounds for axis 0 with size {shape[0]}")
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        out[ordered[starts]] = np.add.reduceat(x.reshape(places.size, -1)[order], starts, axis=0)
    return out.reshape(shape)


_getitem: Primitive = Primitive(
    "getitem", lambda x, *, index: x[index], "x[index]",
    Rule(lambda g, out, x, *, index: _scatter_add.in_kind(g, index=index, shape=x.shape)),
)  # fmt: skip
_scatter_add: Primitive = Primitive(
    "scatter_add", _scatter_forward, "zeros, plus x at index",
    Rule(lambda g, out, x, *, index, shape: g[index]),
)  # fmt: skip


def getitem(x: TensorLike, index: Any) -> Tensor:
    """x[index], basic or advanced, as NumPy. dx is 0 but at the index, where g is added; repeated places add up.

    index: an integer, a slice, None, `...`, integer or boolean arrays (Tensors too), or a tuple of these.
    Raises IndexError for what x does not have.
    """
    return _getitem(x, index=_locked(index))


def scatter_add(x: TensorLike, index: Any, shape: Sequence[int]) -> Tensor:
    """Zeros of `shape`, to which x, of the index's shape, is added; repeated places add up. dx = g[index]."""
    return _scatter_add(x, index=_locked(index), shape=tuple(shape))


def _locked(index: Any) -> tuple[Any, ...]:
    """The index as a tuple whose arrays nobody else can write to."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_lock_part(part) for part in parts)


def _lock_part(part: Any) -> Any:
    if isinstance(part, Tensor):
        part = part.data
    if isinstance(part, list | np.ndarray):
        return as_array(np.asarray(part, dtype=np.intp) if isinstance(part, list) and not part else part)
    return part


operations.getitem = getitem
