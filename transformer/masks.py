"""Masks: which query may attend to which key. Boolean, True = may attend, everywhere.

Shapes: B batch, T_q and T_k lengths; the axis of size 1 after B stands for the heads.
"""

import numpy as np
import numpy.typing as npt

from transformer.vocabulary import PAD

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def padding_mask(ids: Ids) -> Mask:
    """Keys that are words and not padding: (B, T_k) -> (B, 1, 1, T_k)."""
    return np.not_equal(ids, PAD)[:, None, None, :]


def causal_mask(length: int) -> Mask:
    """Each position sees itself and what stands before it: (T, T), lower-triangular (the paper, section 3.2.3)."""
    return np.tri(length, dtype=np.bool_)


def decoder_mask(target_in: Ids) -> Mask:
    """Causal, and no padding among the keys: (B, T) -> (B, 1, T, T), or (T, T) where no padding is."""
    causal = causal_mask(target_in.shape[1])
    return padding_mask(target_in) & causal if (target_in == PAD).any() else causal
