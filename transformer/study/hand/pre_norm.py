"""A residual connection, normalisation before the sub-layer: out = x + F(LayerNorm(x)). Xiong et al. 2020.

    normal  = LayerNorm(x)
    refined = F(normal)                      F: attention or the feed-forward network
    out     = x + refined

Derivation. As in add_norm.py, the sum hands its gradient to both terms, and x gets two contributions:

    drefined = dout
    dnormal  = what F's backward makes of drefined
    dx       = dout + what the norm's backward makes of dnormal

So dout reaches x, and from there the bottom of the stack, unchanged: no norm stands on that way.
"""

from typing import Any, NamedTuple

from transformer.study.hand import layer_norm
from transformer.study.hand.arrays import Array
from transformer.study.hand.sublayer import Sublayer


class Activations(NamedTuple):
    """Each (B, T, D), or the gradients of these."""

    normal: Array
    refined: Array
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
    """x + F(LayerNorm(x)): (..., D) -> (..., D)."""
    normal, norm = layer_norm.forward(x, weights)
    refined, inner = sublayer.forward(normal)
    out = x + refined
    return out, Kept(inner, norm, Activations(normal, refined, out))


def backward(d_out: Array, kept: Kept, sublayer: Sublayer) -> Gradients:
    """dx = dout + what came through F and the norm."""
    d_normal, inner = sublayer.backward(d_out, kept.inner)
    norm = layer_norm.backward(d_normal, kept.norm)
    return Gradients(d_out + norm.x, norm.weights, Activations(d_normal, d_out, d_out), inner)
