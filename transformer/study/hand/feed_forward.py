"""The feed-forward network of every position: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2. The paper, section 3.3.

    inner  = x W_1 + b_1
    hidden = max(0, inner)
    out    = hidden W_2 + b_2

Derivation. The linear maps are linear.py's. max(0, a) has the slope 1 where a > 0 and 0 where a < 0, and each element
of `hidden` reads its own of `inner` alone, so

    dinner_nf = dhidden_nf where inner_nf > 0, else 0

A unit that is shut for a position learns nothing from it. At 0 itself there is no slope; it is taken as 0.
"""

from typing import NamedTuple

import numpy as np

from transformer.study.hand import linear
from transformer.study.hand.arrays import Array

NAMES = ("inner.weight", "inner.bias", "outer.weight", "outer.bias")
"""What the model calls the weights, in their order here."""


class Weights(NamedTuple):
    """W_1 (D, F), b_1 (F,), W_2 (F, D), b_2 (D,); a bias may be None; or the gradients of these."""

    W_1: Array
    b_1: Array | None
    W_2: Array
    b_2: Array | None

    def named(self) -> dict[str, Array | None]:
        """Each by the model's name for it."""
        return dict(zip(NAMES, self, strict=True))


class Activations(NamedTuple):
    """inner and hidden (B, T, F), out (B, T, D), or the gradients of these."""

    inner: Array
    hidden: Array
    out: Array


class Kept(NamedTuple):
    """What the linear maps kept, and the activations."""

    inner: linear.Kept
    outer: linear.Kept
    activations: Activations


class Gradients(NamedTuple):
    """Of x (B, T, D), the weights and the activations."""

    x: Array
    weights: Weights
    activations: Activations


def forward(x: Array, weights: Weights) -> tuple[Array, Kept]:
    """max(0, x W_1 + b_1) W_2 + b_2: (..., D) -> (..., D)."""
    inner, kept_inner = linear.forward(x, weights.W_1, weights.b_1)
    hidden = np.maximum(inner, 0)
    out, kept_outer = linear.forward(hidden, weights.W_2, weights.b_2)
    return out, Kept(kept_inner, kept_outer, Activations(inner, hidden, out))


def backward(d_out: Array, kept: Kept) -> Gradients:
    """dhidden = dout W_2', dinner = dhidden where inner > 0, dx = dinner W_1'."""
    outer = linear.backward(d_out, kept.outer)
    d_inner = np.where(kept.activations.inner > 0, outer.x, 0)
    inner = linear.backward(d_inner, kept.inner)
    weights = Weights(inner.W, inner.b, outer.W, outer.b)
    return Gradients(inner.x, weights, Activations(d_inner, outer.x, d_out))
