"""The loss: the mean cross-entropy of the words that should follow, with label smoothing. The paper, section 5.4.

    p_nv = e^logits_nv / sum_u e^logits_nu               what the model says: softmax
    y_nv = (1 - e) [v is the target of n] + e / V        what it should say: a little of every word; sum_v y_nv = 1
    L    = -1/N sum_n sum_v y_nv log p_nv                n: the N positions whose target is no padding

Derivation. log p_v = logits_v - log sum_u e^logits_u, and the derivative of the second term by logits_u is p_u: so
∂log p_v/∂logits_u = δ_uv - p_u. By the chain rule

    dlogits_nu = -1/N sum_v y_nv (δ_uv - p_nu)
               = -1/N (y_nu - p_nu sum_v y_nv)
               = (p_nu - y_nu) / N

What it says less what it should say. Each row adds up to 0, and it is 0 where the two agree. Positions whose target is
padding are in no term of L: their dlogits is 0.
"""

from typing import NamedTuple

import numpy as np

from transformer.study.hand.arrays import Array, Ids, Mask


class Kept(NamedTuple):
    """p and y (B, T, V); counted (B, T): the positions of which L is the mean."""

    p: Array
    y: Array
    counted: Mask


def forward(logits: Array, target: Ids, counted: Mask, label_smoothing: float) -> tuple[np.float64, Kept]:
    """L: logits (B, T, V), target and counted (B, T) -> one number, 0 where no position is counted."""
    classes = logits.shape[-1]
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    y = (1 - label_smoothing) * (np.arange(classes) == target[..., None]) + label_smoothing / classes
    each = -(y * log_p).sum(-1)
    loss: np.float64 = each[counted].sum() / max(counted.sum(), 1)
    return loss, Kept(np.exp(log_p), y, counted)


def backward(d_loss: float, kept: Kept) -> Array:
    """dlogits = (p - y) / N times dloss, 0 at positions that are not counted."""
    each = d_loss * (kept.p - kept.y) / max(kept.counted.sum(), 1)
    return np.where(kept.counted[..., None], each, 0)
