"""Sinusoidal positional encoding. The paper, section 3.5."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.activations import noted
from transformer.masks import Ids
from transformer.positions.places import longest


def sinusoids(length: int, d_model: int) -> npt.NDArray[np.float64]:
    """PE[pos, 2i] = sin(pos / 10000^(2i / d_model)), PE[pos, 2i + 1] = cos of the same: (length, d_model).

    With an odd d_model the last column is a sine. PE[pos + k] is PE[pos] turned by angles that depend on k alone.
    """
    angles = angles_of(length, d_model)
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return table


def angles_of(length: int, width: int, base: float = 10000.0) -> npt.NDArray[np.float64]:
    """pos / base^(2i / width), one angle for each pair of numbers: (length, ceil(width / 2))."""
    pairs = np.arange(0, width, 2)
    return np.asarray(np.arange(length)[:, None] / base ** (pairs / width))


@lru_cache(maxsize=8)
def table(length: int, d_model: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """`sinusoids` in a dtype, locked; the same array is given out again."""
    rows = sinusoids(length, d_model).astype(dtype)
    rows.setflags(write=False)
    return rows


def encoding(places: Ids, d_model: int, dtype: npt.DTypeLike, at_least: int = 1) -> mg.Tensor:
    """PE at these places, a constant: (T,) or (B, T) -> (..., D). at_least: how many are computed beforehand."""
    enough = max(at_least, 1 << (longest(places) - 1).bit_length())  # doubled, so that few tables are ever made
    rows = table(enough, d_model, np.dtype(dtype))
    consecutive = places.ndim == 1 and bool((places == np.arange(len(places))).all())
    return mg.Tensor(rows[: len(places)] if consecutive else rows[places], name="positional encoding")


class PositionalEncoding(mg.nn.Module):
    """x + PE, then dropout (section 5.4). PE is a constant, computed for `length` positions, or for as many as come."""

    def __init__(self, d_model: int, dropout: float, length: int) -> None:
        self.d_model = d_model
        self.dropout = dropout
        self.length = length

    def forward(self, x: mg.Tensor, places: Ids, rng: np.random.Generator | None = None) -> mg.Tensor:
        """x (B, T, D), places (T,) or (B, T) -> (B, T, D)."""
        encoded = encoding(places, self.d_model, x.dtype, self.length)
        total = noted(self, "sum", x + encoded)
        return noted(self, "out", mg.nn.dropout(total, self.dropout, rng))
