"""Sinusoidal positional encoding. The paper, section 3.5."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.masks import Ids, Mask


def sinusoids(length: int, d_model: int) -> npt.NDArray[np.float64]:
    """PE[pos, 2i] = sin(pos / 10000^(2i / d_model)), PE[pos, 2i + 1] = cos of the same: (length, d_model).

    With an odd d_model the last column is a sine. PE[pos + k] is PE[pos] turned by angles that depend on k alone.
    """
    pairs = np.arange(0, d_model, 2)
    angles = np.arange(length)[:, None] / 10000 ** (pairs / d_model)
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return table


def positions_of(words: Mask) -> Ids:
    """The place of each word among its row's words, padding left out: (B, T) -> (B, T). Padding has some place, unused.

    So a sentence has the same positions wherever padding stands.
    """
    places: Ids = np.cumsum(words, axis=1) - 1
    return np.maximum(places, 0)


@lru_cache(maxsize=8)
def table(length: int, d_model: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """`sinusoids` in a dtype, locked; the same array is given out again."""
    rows = sinusoids(length, d_model).astype(dtype)
    rows.setflags(write=False)
    return rows


class PositionalEncoding(mg.nn.Module):
    """x + PE, then dropout (section 5.4). PE is a constant, computed for `length` positions, or for as many as come."""

    def __init__(self, d_model: int, dropout: float, length: int) -> None:
        self.d_model = d_model
        self.dropout = dropout
        self.length = length

    def forward(self, x: mg.Tensor, words: Mask, rng: np.random.Generator | None = None) -> mg.Tensor:
        """x (B, T, D), words (B, T), True where a word stands -> (B, T, D)."""
        return mg.nn.dropout(x + self.encoding(words, x.dtype), self.dropout, rng)

    def encoding(self, words: Mask, dtype: npt.DTypeLike) -> mg.Tensor:
        """PE of each word: (B, T) -> (B, T, D), or (T, D) where no padding is."""
        length = words.shape[1]
        enough = max(self.length, 1 << (length - 1).bit_length())  # doubled, so that few tables are ever made
        rows = table(enough, self.d_model, np.dtype(dtype))
        encoded = rows[:length] if words.all() else rows[positions_of(words)]
        return mg.Tensor(encoded, name="positional encoding")
