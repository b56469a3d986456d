"""A residual connection, then normalisation, as in the paper: out = LayerNorm(x + F(x)). Section 3.1.

    refined = F(x)                           F: attention or the feed-forward network
    sum     = x + refined
    out     = LayerNorm(sum)

Derivation. dsum is layer_norm.py's. A sum hands its gradient on whole to each of its terms, as ∂sum_i/∂x_i = 1 and
∂sum_i/∂refined_i = 1. And x is read twice, by the sum and by F, so it gets two contributions:

    drefined = dsum
    dx       = dsum + what F's backward makes of drefined

The first is the residual's: however little F lets through, x gets dsum whole. But on its way down every connection's
norm changes it again; without the norm on the way, see pre_norm.py.
"""

from typing import Any, NamedTuple

from transformer.study.hand import layer_norm
from transformer.study.hand.arrays import Array
from transformer.study.hand.sublayer import Sublayer


class Activations(NamedTuple):
    """Each (B, T, D), or the gradients of these."""

    refined: Array
    sum: Array
    out: Array


class Kept(NamedTuple):
    """What F and the norm kept, and the activations."""

    inner: Any
    norm: layer_norm.Kept
    activations: Activations


class Gradients(NamedTuple):
    """Of x (B, T, D), the norm's weights, the activations, and what F's backward gave."""

    x: Array
    norm: layer_norm.Weights
    activations: Activations
    inner: Any


def forward(x: Array, sublayer: Sublayer, weights: layer_norm.Weights) -> tuple[Array, Kept]:
    """LayerNorm(x + F(x)): (..., D) -> (..., D)."""
    refined, inner = sublayer.forward(x)
    total = x + refined
    out, norm = layer_norm.forward(total, weights)
    return out, Kept(inner, norm, Activations(refined, total, out))


def backward(d_out: Array, kept: Kept, sublayer: Sublayer) -> Gradients:
    """dsum through the norm; dx = dsum + F's own."""
    norm = layer_norm.backward(d_out, kept.norm)
    d_sum = d_refined = norm.x
    d_h, inner = sublayer.backward(d_refined, kept.inner)
    return Gradients(d_sum + d_h, norm.weights, Activations(d_refined, d_sum, d_out), inner)
