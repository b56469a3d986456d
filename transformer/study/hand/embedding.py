"""Word vectors with their places: sqrt(D) times a row of the table, plus sinusoids. The paper, sections 3.4 and 3.5.

    out_nc = sqrt(D) E_(w_n)c                n: the positions, w_n: the word's number there; 0 where padding stands
    sum_nc = out_nc + PE_(p_n)c              p_n: how many words stand before it in its row
    PE_p,2i = sin(p / 10000^(2i / D)),  PE_p,2i+1 = cos of the same

Derivation. PE depends on nothing that is learnt, so dout = dsum. Looking a word up is a product with a table of zeros
and ones, one 1 a row: ∂out_nc/∂E_kc = sqrt(D) where w_n = k, else 0. By the chain rule

    dE_kc = sqrt(D) sum_{n: w_n = k} dout_nc

so a word that stands in several places gets the sum of what each of them says, and one that does not occur gets 0.
"""

from typing import NamedTuple

import numpy as np

from transformer.study.hand.arrays import Array, Ids, Mask


class Activations(NamedTuple):
    """Each (B, T, D), or the gradients of these."""

    out: Array
    sum: Array


class Kept(NamedTuple):
    """ids and words (B, T), the table's shape (V, D), and the activations."""

    ids: Ids
    words: Mask
    shape: tuple[int, int]
    activations: Activations


class Gradients(NamedTuple):
    """Of the table (V, D) and the activations."""

    table: Array
    activations: Activations


def sinusoids(places: Ids, d_model: int) -> Array:
    """PE of the places: (B, T) -> (B, T, D)."""
    column = np.arange(d_model)
    angles = places[..., None] / 10000 ** ((column - column % 2) / d_model)
    return np.where(column % 2 == 0, np.sin(angles), np.cos(angles))


def forward(table: Array, ids: Ids, words: Mask) -> tuple[Array, Kept]:
    """sqrt(D) table[ids] + PE: (V, D), (B, T) -> (B, T, D). words: True where a word stands, False at padding."""
    rows, width = table.shape
    out = np.where(words[..., None], np.sqrt(width) * table[ids], 0)
    places = np.maximum(np.cumsum(words, axis=1) - 1, 0)
    total = out + sinusoids(places, width)
    return total, Kept(ids, words, (rows, width), Activations(out, total))


def backward(d_sum: Array, kept: Kept) -> Gradients:
    """dE_k = sqrt(D) times the sum of dsum where word k stands."""
    d_table = np.zeros(kept.shape)
    np.add.at(d_table, kept.ids[kept.words], np.sqrt(kept.shape[1]) * d_sum[kept.words])
    return Gradients(d_table, Activations(d_sum, d_sum))
