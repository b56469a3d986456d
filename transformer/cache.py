"""Keys and values of what was decoded before, so that a next word costs one position and not all again.

Shapes: B batch, T length, H heads of keys, D_h their width.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.masks import Ids, Mask
from transformer.vocabulary import PAD

KeysValues: TypeAlias = tuple[mg.Tensor, mg.Tensor]


class Grown:
    """The keys and values of self-attention: those of new positions join the earlier ones."""

    def __init__(self) -> None:
        self.kept: KeysValues | None = None

    def through(self, make: Callable[[], KeysValues]) -> KeysValues:
        """All keys and values, (B, H, T, D_h) each, once the new ones are made."""
        new = make()
        if self.kept is not None:
            new = mg.concatenate([self.kept[0], new[0]], axis=-2), mg.concatenate([self.kept[1], new[1]], axis=-2)
        self.kept = new
        return new


class Once:
    """The keys and values of attention to the encoder's output: made at the first step, the same ever after."""

    def __init__(self) -> None:
        self.kept: KeysValues | None = None

    def through(self, make: Callable[[], KeysValues]) -> KeysValues:
        """The keys and values, (B, H, T, D_h) each, made only if they never were."""
        if self.kept is None:
            self.kept = make()
        return self.kept


class LayerCache:
    """One layer's: of its self-attention, and of its attention to the encoder's output, if it has one."""

    def __init__(self) -> None:
        self.self_attention = Grown()
        self.cross_attention = Once()


class Cache:
    """What a model of `layers` layers remembers of rows that are written word by word.

    words: (B, T), where in what was decoded a word stands and not padding; None before the first step.
    """

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]
        self.words: Mask | None = None

    def extended(self, ids: Ids) -> Mask:
        """`words` with those of new ids (B, T_new) behind; `remember` them once these are decoded.

        Raises ValueError for another number of rows than before.
        """
        new: Mask = np.not_equal(ids, PAD)
        if self.words is None:
            return new
        if len(new) != len(self.words):
            raise ValueError(f"this cache holds {len(self.words)} rows, and {len(new)} are to go on: keep(rows) first")
        return np.concatenate([self.words, new], axis=1)

    def remember(self, words: Mask) -> None:
        """That these (B, T) were decoded, the latest too; not before, so that ids which are refused leave no trace."""
        self.words = words

    def keep(self, rows: npt.NDArray[Any]) -> None:
        """Go on with these rows of the batch: indices, in any order and more than once, or a boolean array (B,)."""
        if self.words is not None:
            self.words = self.words[rows]
        for layer in self.layers:
            for attention in (layer.self_attention, layer.cross_attention):
                if attention.kept is not None:
                    keys, values = attention.kept
                    attention.kept = keys[rows], values[rows]
