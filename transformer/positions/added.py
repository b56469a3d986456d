"""What may stand below a stack in place of sinusoids: a learnt vector a place, sinusoids spread at random, nothing."""

import math

import numpy as np

import minigrad as mg
from transformer.activations import noted
from transformer.masks import Ids
from transformer.positions.places import longest
from transformer.positions.sinusoidal import encoding

SPREAD = 4
"""Randomised positions come from a range so many times longer than the longest sequence."""


class LearnedPositions(mg.nn.Module):
    """x + a learnt vector for each place, then dropout. The paper, table 3, row E; Gehring et al. 2017.

    The vectors start normal with standard deviation D^-0.5, as the embeddings do before these are scaled.
    """

    def __init__(self, d_model: int, dropout: float, length: int, rng: np.random.Generator) -> None:
        self.weight = mg.nn.normal(rng, length, d_model, 1 / math.sqrt(d_model))
        self.dropout = dropout

    def forward(self, x: mg.Tensor, places: Ids, rng: np.random.Generator | None = None) -> mg.Tensor:
        """x (B, T, D), places (T,) or (B, T) -> (B, T, D). Raises ValueError for a place that has no vector."""
        if longest(places) > len(self.weight):
            raise ValueError(
                f"{self.path or 'positions'}: a sequence of {longest(places)} words is longer than the "
                f"{len(self.weight)} positions that are learnt (max_length)"
            )
        total = noted(self, "sum", x + mg.embedding(self.weight, places))
        return noted(self, "out", mg.nn.dropout(total, self.dropout, rng))


class RandomisedPositions(mg.nn.Module):
    """x + PE of places spread at random over a range 4 times as long as the longest sequence, then dropout.

    With a generator, in training: each batch draws a sorted subset of the range, and the word at place i has the i-th
    position in it, so that long gaps and great positions are known before long sequences are. Without one: place i has
    position 4 i, which fills the range at the longest sequence. Source: Ruoss et al. 2023.
    """

    def __init__(self, d_model: int, dropout: float, length: int) -> None:
        self.d_model = d_model
        self.dropout = dropout
        self.length = length
        self.range = SPREAD * length

    def forward(self, x: mg.Tensor, places: Ids, rng: np.random.Generator | None = None) -> mg.Tensor:
        """x (B, T, D), places (T,) or (B, T) -> (B, T, D). Raises ValueError for more words than `length`."""
        count = longest(places)
        if count > self.length:
            raise ValueError(
                f"{self.path or 'positions'}: a sequence of {count} words is longer than the "
                f"{self.length} that randomised positions are made for (max_length)"
            )
        spread = SPREAD * np.arange(count) if rng is None else np.sort(rng.choice(self.range, count, replace=False))
        encoded = encoding(spread[places], self.d_model, x.dtype, self.range)
        total = noted(self, "sum", x + encoded)
        return noted(self, "out", mg.nn.dropout(total, self.dropout, rng))


class NothingAdded(mg.nn.Module):
    """x, then dropout: for models that tell places apart elsewhere, in attention, or not at all."""

    def __init__(self, dropout: float) -> None:
        self.dropout = dropout

    def forward(self, x: mg.Tensor, places: Ids, rng: np.random.Generator | None = None) -> mg.Tensor:
        """x (B, T, D) -> (B, T, D)."""
        return noted(self, "out", mg.nn.dropout(x, self.dropout, rng))
