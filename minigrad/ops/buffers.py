"""What kernels do to arrays of their own: writing into fresh buffers, and sums as matrix products."""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from minigrad.tape import Array


def add_into(buffer: Array, term: Any) -> Array:
    """buffer + term, in the buffer where their common dtype is its own; else a new array of that dtype."""
    fits = np.result_type(buffer, term) == buffer.dtype
    return np.asarray(np.add(buffer, term, out=buffer if fits else None))


def times_into(buffer: Array, factor: float) -> Array:
    """buffer * factor, in the buffer, unless it holds integers."""
    return np.asarray(np.multiply(buffer, factor, out=buffer if buffer.dtype.kind in "fc" else None))


def rows_times(x: Array, vector: Array) -> Array:
    """x @ vector, (..., n), (n,) -> (...): one product of a matrix, where NumPy would make one for each of many."""
    if x.ndim > 2 and x.flags.c_contiguous:
        *leading, width = x.shape
        return np.asarray((x.reshape(math.prod(leading), width) @ vector).reshape(leading))
    return np.asarray(x @ vector)


def row_sums(x: Array) -> Array:
    """The sums over the last axis, (..., n) -> (...), several times faster than a reduction."""
    return rows_times(x, filled(x.shape[-1], 1.0, x.dtype))


def column_sums(x: Array) -> Array:
    """The sums over the first axis of a matrix, (n, m) -> (m,), several times faster than a reduction."""
    return np.asarray(filled(x.shape[0], 1.0, x.dtype) @ x)


@lru_cache(maxsize=64)
def filled(count: int, value: float, dtype: np.dtype[Any]) -> Array:
    """A locked vector of one value; the same one is given out again."""
    vector = np.full(count, value, dtype)
    vector.setflags(write=False)
    return vector
