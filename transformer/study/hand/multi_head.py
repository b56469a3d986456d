"""Multi-head attention: H heads side by side, Concat(head_1, ..., head_H) W_O. The paper, section 3.2.2.

    query = x W_Q + b_Q,  key = m W_K + b_K,  value = m W_V + b_V        x asks, m, the memory, answers
    q, k, v = query, key, value, cut into heads                          q_h,i,c = query_i,(h d + c)
    z_h = attention(q_h, k_h, v_h)                                       of each head alone: attention.py
    out = (z_1, ..., z_H side by side) W_O + b_O

Derivation. The linear maps are linear.py's, the heads attention.py's. To cut into heads, and to lay heads side by side,
only gives every number another address: backward the gradients go home by the same list, so dquery is dq merged, and
dz is what W_O's map gave, cut. What is left is to see who reads what, and to add up:

    x is read by W_Q alone                   dx = dquery W_Q'
    m is read by W_K and by W_V              dm = dkey W_K' + dvalue W_V'

In self-attention m is x, one array read three times: its gradient is dx + dm, three terms. In the decoder's attention
to the encoder m is the encoder's output, and every decoder layer sends it such a dm.

To be read off: b_K's gradient is 0, but for rounding. It adds q_i b_K, one number, to all of row i of S, and a row of
dS adds up to 0 (softmax.py): db_K = sum_j dK_j = sum_i (sum_j dS_ij) Q_i / sqrt(d) = 0. A key's bias learns nothing.
"""

from typing import NamedTuple

from transformer.study.hand import attention, linear
from transformer.study.hand.arrays import Array, Mask

NAMES = (
    "query.weight", "query.bias", "key.weight", "key.bias",
    "value.weight", "value.bias", "output.weight", "output.bias",
)  # fmt: skip
"""What the model calls the weights, in their order here."""


class Weights(NamedTuple):
    """W (D, D), the heads' side by side, and b (D,), or None for none; or the gradients of these."""

    W_Q: Array
    b_Q: Array | None
    W_K: Array
    b_K: Array | None
    W_V: Array
    b_V: Array | None
    W_O: Array
    b_O: Array | None

    def named(self) -> dict[str, Array | None]:
        """Each by the model's name for it."""
        return dict(zip(NAMES, self, strict=True))


class Activations(NamedTuple):
    """query, out (B, T_q, D); key, value (B, T_k, D); q, z (B, H, T_q, d); k, v (B, H, T_k, d); scores, pattern
    (B, H, T_q, T_k); or the gradients of these."""

    query: Array
    q: Array
    key: Array
    value: Array
    k: Array
    v: Array
    scores: Array
    pattern: Array
    z: Array
    out: Array


class Kept(NamedTuple):
    """What the boxes inside kept, and the activations."""

    query: linear.Kept
    key: linear.Kept
    value: linear.Kept
    heads: attention.Kept
    output: linear.Kept
    activations: Activations


class Gradients(NamedTuple):
    """Of x (B, T_q, D), memory (B, T_k, D), the weights and the activations."""

    x: Array
    memory: Array
    weights: Weights
    activations: Activations


def split(x: Array, heads: int) -> Array:
    """(B, T, D) -> (B, H, T, d): head h has the numbers h d to (h + 1) d."""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).swapaxes(1, 2)


def merge(z: Array) -> Array:
    """(B, H, T, d) -> (B, T, D): the heads side by side, the inverse of `split`."""
    batch, heads, length, width = z.shape
    return z.swapaxes(1, 2).reshape(batch, length, heads * width)


def forward(x: Array, memory: Array, weights: Weights, heads: int, mask: Mask) -> tuple[Array, Kept]:
    """x (B, T_q, D) asks, memory (B, T_k, D) answers -> (B, T_q, D). mask: broadcast to (B, H, T_q, T_k)."""
    query, kept_query = linear.forward(x, weights.W_Q, weights.b_Q)
    key, kept_key = linear.forward(memory, weights.W_K, weights.b_K)
    value, kept_value = linear.forward(memory, weights.W_V, weights.b_V)
    q, k, v = split(query, heads), split(key, heads), split(value, heads)
    z, inside = attention.forward(q, k, v, mask)
    out, kept_output = linear.forward(merge(z), weights.W_O, weights.b_O)
    activations = Activations(query, q, key, value, k, v, inside.scores, inside.pattern, z, out)
    return out, Kept(kept_query, kept_key, kept_value, inside, kept_output, activations)


def backward(d_out: Array, kept: Kept) -> Gradients:
    """From W_O through the heads to W_Q, W_K and W_V; dmemory = dkey W_K' + dvalue W_V'."""
    heads = kept.activations.q.shape[1]
    output = linear.backward(d_out, kept.output)
    d_z = split(output.x, heads)
    inside = attention.backward(d_z, kept.heads)
    d_query, d_key, d_value = merge(inside.q), merge(inside.k), merge(inside.v)
    query = linear.backward(d_query, kept.query)
    key = linear.backward(d_key, kept.key)
    value = linear.backward(d_value, kept.value)
    return Gradients(
        x=query.x,
        memory=key.x + value.x,
        weights=Weights(query.W, query.b, key.W, key.b, value.W, value.b, output.W, output.b),
        activations=Activations(
            d_query, inside.q, d_key, d_value, inside.k, inside.v, inside.scores, inside.pattern, d_z, d_out
        ),
    )
