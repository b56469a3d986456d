"""The logits with the embedding's table for a weight, "tied": x E' + b. The paper, section 3.4.

    logits_nv = sum_c x_nc E_vc + b_v        v: every word of the vocabulary

Derivation. It is linear.py's map with W = E', so dx = dlogits E and dW = x' dlogits; E is W turned over, so

    dE_vc = sum_n dlogits_nv x_nc            dE = dlogits' x

But that is not all of E's gradient. One table stands in two places, with three-way tying in three: it embeds the source
and the target, and it is this weight. L depends on E by each of these ways, so the chain rule adds them up:

    dE = dE of the source's embedding + dE of the target's embedding + dE of this projection

The embeddings give something to the rows of the words that occur, the projection to every row: each word that was not
meant is pushed away a little. Where nothing is tied, the projection is linear.py's alone, with a weight of its own.
"""

from typing import NamedTuple

from transformer.study.hand import linear
from transformer.study.hand.arrays import Array


class Gradients(NamedTuple):
    """Of x (..., D), the table (V, D), for its part as a projection, and b (V,)."""

    x: Array
    table: Array
    b: Array


def forward(x: Array, table: Array, b: Array | None) -> tuple[Array, linear.Kept]:
    """x E' + b: (..., D), (V, D), (V,) -> (..., V)."""
    return linear.forward(x, table.T, b)


def backward(d_logits: Array, kept: linear.Kept) -> Gradients:
    """dx = dlogits E, dE = dlogits' x, db = column sums of dlogits."""
    found = linear.backward(d_logits, kept)
    return Gradients(found.x, found.W.T, found.b)
