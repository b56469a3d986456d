"""Masks: which query may attend to which key. Boolean, True = may attend, everywhere.

Shapes: B batch, T_q and T_k lengths; the axis of size 1 after B stands for the heads.
"""

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def padding_mask(words: Mask) -> Mask:
    """Keys that are words and not padding: (B, T_k) -> (B, 1, 1, T_k)."""
    return words[:, None, None, :]


def causal_mask(length: int, before: int = 0) -> Mask:
    """Each position sees itself and what stands before it: (T, before + T), True below and on the diagonal that ends in
    the last corner. Source: the paper, section 3.2.3.

    before: how many positions, all to be seen, stand before the first.
    """
    return np.tri(length, before + length, before, dtype=np.bool_)


def decoder_mask(words: Mask, length: int) -> Mask:
    """Causal, and no padding among the keys, for the last `length` positions of `words` (B, T).

    (B, 1, length, T), or (length, T) where no padding is.
    """
    causal = causal_mask(length, words.shape[1] - length)
    return causal if words.all() else padding_mask(words) & causal
