"""Numbers, shapes and small arrays as a picture writes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Grid = tuple[tuple[str, ...], ...]
"""Rows of texts: one text for a number, a line for a vector, a table for a matrix."""

_MOST = 16
_WIDEST = 8


def number(value: Any) -> str:
    """Four significant digits: 0.7071, -2, 1.25e+08, True, nan."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, complex | np.complexfloating):
        return f"{value:.4g}"
    return f"{float(value):.4g}"


def size_text(count: int) -> str:
    """Bytes as people say them: 512 B, 12.3 kB, 4.56 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def shape_text(shape: Sequence[int]) -> str:
    """8×12×64; nothing for a scalar."""
    return "×".join(str(size) for size in shape)


def grid(array: Any) -> Grid | None:
    """A small array's numbers; None where it is too big, or has too many axes, to be read as numbers."""
    values = np.asarray(array)
    if values.size > _MOST or values.ndim > 2 or values.size == 0 or values.shape[-1:] > (_WIDEST,):
        return None
    return tuple(tuple(number(value) for value in row) for row in np.atleast_2d(values))
