"""Axes, normalised once, when an operation is applied, so that no rule ever parses one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from minigrad.errors import DtypeError, OutOfRangeError, ShapeError
from minigrad.state import current
from minigrad.tensor import Axes, Tensor, TensorLike, as_array


def located(name: str) -> str:
    """An operation as an error names it: with the module path, where there is one."""
    path = current().path
    return f"{name} in {path}" if path else name


def shape_of(x: TensorLike) -> tuple[int, ...]:
    """The shape of a tensor, an array, a number or nested lists."""
    if isinstance(x, Tensor):
        return x._data.shape
    return x.shape if isinstance(x, np.ndarray) else np.shape(x)


def dtype_of(x: TensorLike) -> np.dtype[Any]:
    """The dtype that a tensor, an array, a number or nested lists has as an operand on its own."""
    return x.dtype if isinstance(x, Tensor | np.ndarray) else as_array(x).dtype


def one_axis(name: str, shape: Sequence[int], axis: int) -> int:
    """`axis` counted from the front. Raises OutOfRangeError for one that `shape` does not have."""
    try:
        return int(normalize_axis_index(axis, len(shape)))
    except TypeError as error:
        raise DtypeError(f"{located(name)}: axis={axis!r} of shape {tuple(shape)}: an axis is an integer") from error
    except ValueError as error:
        raise _no_such_axis(name, shape, axis) from error


def all_axes(name: str, shape: Sequence[int], axis: Axes) -> tuple[int, ...]:
    """The axes named by an int, a tuple or None (all), counted from the front, each once."""
    if axis is None:
        return tuple(range(len(shape)))
    try:
        return tuple(int(i) for i in normalize_axis_tuple(axis, len(shape)))
    except TypeError as error:
        raise DtypeError(
            f"{located(name)}: axis={axis!r} of shape {tuple(shape)}: axes are integers, or None for all"
        ) from error
    except np.exceptions.AxisError as error:
        raise _no_such_axis(name, shape, axis) from error
    except ValueError as error:
        raise ShapeError(f"{located(name)}: {tuple(shape)} with axis={axis}: {error}") from error


def kept_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """`shape` with size 1 at `axes`: what a reduction gives with keepdims=True."""
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


def as_mask(name: str, mask: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A locked boolean array. Raises TypeError for any other dtype: a mask says True where an element takes part."""
    array = as_array(mask.data if isinstance(mask, Tensor) else mask)
    if array.dtype != np.bool_:
        raise DtypeError(f"{located(name)}: a mask is boolean, True = takes part; got {array.dtype}: write mask != 0")
    return array


def as_places(name: str, indices: Any) -> np.ndarray[Any, Any]:
    """Indices or counts as an integer array. Raises TypeError for any other."""
    places = np.asarray(indices.data if isinstance(indices, Tensor) else indices)
    if not places.size:
        places = places.astype(np.intp)
    if places.dtype.kind not in "iu":
        raise DtypeError(f"{located(name)}: indices and counts are integers, not {places.dtype}")
    return places


def _no_such_axis(name: str, shape: Sequence[int], axis: Any) -> OutOfRangeError:
    last = len(shape) - 1
    have = f"it has axes 0..{last} (or -{last + 1}..-1)" if shape else "it has no axes"
    return OutOfRangeError(f"{located(name)}: axis={axis} of shape {tuple(shape)}: {have}")
