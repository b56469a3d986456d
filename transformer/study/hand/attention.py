"""Scaled dot-product attention of one head: softmax(Q K' / sqrt(d)) V. The paper, section 3.2.1.

    S_ij = sum_c Q_ic K_jc / sqrt(d)         query i, key j, c: the d numbers of a head
    P_i  = softmax(S_i)                      over the keys that query i may see
    z_ic = sum_j P_ij V_jc

Derivation, from the last line to the first.

z reads P and V:   ∂z_ic/∂V_jc = P_ij,  ∂z_ic/∂P_ij = V_jc
    dV_jc = sum_i P_ij dz_ic                 value j is used by every query i          dV = P' dz
    dP_ij = sum_c dz_ic V_jc                                                           dP = dz V'

P reads S, row by row:                       see softmax.py                            dS = P * (dP - rowsum(dP * P))

S reads Q and K:   ∂S_ij/∂Q_ic = K_jc / sqrt(d),  ∂S_ij/∂K_jc = Q_ic / sqrt(d)
    dQ_ic = sum_j dS_ij K_jc / sqrt(d)       query i asks every key j                  dQ = dS K / sqrt(d)
    dK_jc = sum_i dS_ij Q_ic / sqrt(d)       key j is asked by every query i           dK = dS' Q / sqrt(d)

Where query i may not see key j, P_ij = 0, so dS_ij = 0: nothing flows, though dP_ij is some number. A query that may
see nothing has a row of zeros in P: its z is 0, and so is its dQ.
"""

from typing import NamedTuple

import numpy as np

from transformer.study.hand import softmax
from transformer.study.hand.arrays import Array, Mask


class Kept(NamedTuple):
    """What the backward pass reads, and the scores."""

    q: Array
    k: Array
    v: Array
    scores: Array
    pattern: Array


class Gradients(NamedTuple):
    """Of q (..., T_q, d), k and v (..., T_k, d), scores and pattern (..., T_q, T_k)."""

    q: Array
    k: Array
    v: Array
    scores: Array
    pattern: Array


def forward(q: Array, k: Array, v: Array, mask: Mask) -> tuple[Array, Kept]:
    """z: (..., T_q, d), (..., T_k, d), (..., T_k, d_v) -> (..., T_q, d_v).

    mask: True = query i may see key j; broadcast to (..., T_q, T_k). Queries that may see nothing, and keys and values
    that nobody may see, count as 0, as in the model: so nothing they hold, inf and NaN neither, can reach a result.
    """
    mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
    sees, seen = np.any(mask, axis=-1)[..., None], np.any(mask, axis=-2)[..., None]
    q, k, v = np.where(sees, q, 0), np.where(seen, k, 0), np.where(seen, v, 0)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    pattern, _ = softmax.forward(scores, mask)
    return pattern @ v, Kept(q, k, v, scores, pattern)


def backward(d_z: Array, kept: Kept) -> Gradients:
    """dV = P' dz, dP = dz V', dS = P * (dP - rowsum(dP * P)), dQ = dS K / sqrt(d), dK = dS' Q / sqrt(d)."""
    d_v = kept.pattern.swapaxes(-1, -2) @ d_z
    d_pattern = d_z @ kept.v.swapaxes(-1, -2)
    d_scores = softmax.backward(d_pattern, kept.pattern)
    root = np.sqrt(kept.q.shape[-1])
    d_q = d_scores @ kept.k / root
    d_k = d_scores.swapaxes(-1, -2) @ kept.q / root
    return Gradients(d_q, d_k, d_v, d_scores, d_pattern)
