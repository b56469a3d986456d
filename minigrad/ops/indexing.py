"""Taking elements out and adding them back: `getitem` and `scatter_add` are each other's adjoint."""

import math
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
        return add_rows(x, index[0], shape)
    out = np.zeros(shape, x.dtype)
    if any(isinstance(part, np.ndarray) for part in index):
        np.add.at(out, index, x)
    else:
        out[index] += x  # slices and single integers name each place once
    return out


FEW_ROWS, FEW_ELEMENTS, WIDE = 256, 2**20, 8
"""Up to so many rows, and elements of a matrix of zeros and ones, its product sums wide rows faster than sorting."""


def add_rows(x: Array, rows: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of `shape`, to whose rows those of x are added; x (*rows.shape, ...), each index a whole row."""
    places = rows.reshape(-1).astype(np.intp)
    places = np.where(places < 0, places + shape[0], places)
    if places.size and places.min() < 0:
        raise IndexError(f"index {places.min() - shape[0]} is out of bounds for axis 0 with size {shape[0]}")
    terms = np.broadcast_to(x, rows.shape + shape[1:]).reshape(places.size, math.prod(shape[1:]))
    if worth_a_product(shape[0], *terms.shape) and x.dtype in (np.float32, np.float64):
        chosen = np.zeros((shape[0], places.size), x.dtype)
        chosen[places, np.arange(places.size)] = 1
        out: Array = chosen @ terms
        if np.isfinite(out).all():  # 0 times inf would reach every row
            return out.reshape(shape)
    return _sorted_sums(terms, places, shape[0]).reshape(shape)


def worth_a_product(rows: int, places: int, width: int) -> bool:
    """Whether (rows, places) @ (places, width) is a quick way to sum the places of each row."""
    return rows <= FEW_ROWS and rows * places <= FEW_ELEMENTS and width >= WIDE


def _sorted_sums(terms: Array, places: Array, count: int) -> Array:
    """(n, m) terms and their n places -> (count, m): sorted by place, each place's share is one run to sum."""
    out = np.zeros((count, terms.shape[1]), terms.dtype)
    if places.size:
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        out[ordered[starts]] = np.add.reduceat(terms[order], starts, axis=0)
    return out


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
