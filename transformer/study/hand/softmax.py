"""Softmax of every row, over what may be seen. The paper, section 3.2.1.

    P_j = e^S_j / Z,  Z = sum_k e^S_k        j, k: what may be seen in this row; P_j = 0 for the rest

Derivation, of one row. S_i stands in the numerator of P_i alone, and in everybody's Z: ∂Z/∂S_i = e^S_i. So

    ∂P_j/∂S_i = δ_ij e^S_j / Z - e^S_j e^S_i / Z^2 = P_j (δ_ij - P_i)

    dS_i = sum_j dP_j P_j (δ_ij - P_i)
         = P_i dP_i - P_i sum_j dP_j P_j
         = P_i (dP_i - sum_j dP_j P_j)

and for all rows at once dS = P * (dP - rowsum(dP * P)).

To be read off: dS_i is how far dP_i lies from the row's mean of dP, weighted by P, times P_i. So a row of dS adds up to
0: one number added to a whole row of S changes nothing. Where P_i is 0, as at all that is hidden, dS_i is exactly 0.
"""

import numpy as np

from transformer.study.hand.arrays import Array, Mask


def forward(scores: Array, mask: Mask) -> tuple[Array, Array]:
    """The pattern, twice: as the result, and as all that the backward pass reads. (..., T_k) -> (..., T_k).

    mask: True = may be seen; broadcast to the scores. A row in which nothing may be seen is 0.
    """
    seen = np.where(mask, scores, np.finfo(np.float64).min)
    powers = np.where(mask, np.exp(seen - seen.max(-1, keepdims=True)), 0)  # e^(S - top): the same P, no overflow
    total = powers.sum(-1, keepdims=True)  # at least 1, the top's own, or 0 where nothing may be seen
    pattern = powers / np.maximum(total, 1)
    return pattern, pattern


def backward(d_pattern: Array, pattern: Array) -> Array:
    """dS = P * (dP - rowsum(dP * P))."""
    d_scores: Array = pattern * (d_pattern - (d_pattern * pattern).sum(-1, keepdims=True))
    return d_scores
