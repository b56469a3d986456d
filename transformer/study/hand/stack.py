"""Encoder or decoder as a chain: sub-layers, each within its residual connection, one above the other. Section 3.1.

    x_0 = x,  x_n = Connection_n(x_(n-1)),  out = x_N, in a pre-norm model LayerNorm(x_N)

Derivation. x_(n-1) is read by Connection_n alone, so dx_(n-1) is what that one's backward makes of dx_n: from the top
down, one after the other. All else is within the boxes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from transformer.study.hand import add_norm, layer_norm, pre_norm
from transformer.study.hand.arrays import Array
from transformer.study.hand.sublayer import Sublayer

CONNECTIONS = {"post": add_norm, "pre": pre_norm}


class Step(NamedTuple):
    """A sub-layer, and the norm of the residual connection around it. path: the sub-layer's, in the model."""

    path: str
    sublayer: Sublayer
    norm: layer_norm.Weights


class Stack(NamedTuple):
    """connection: "post" or "pre". last: the norm above a pre-norm stack, else None."""

    steps: Sequence[Step]
    connection: str
    last: layer_norm.Weights | None


class Kept(NamedTuple):
    """What each step kept, and the last norm."""

    steps: list[Any]
    last: layer_norm.Kept | None


class Gradients(NamedTuple):
    """Of x (B, T, D); what each step's backward gave; of the last norm."""

    x: Array
    steps: list[Any]
    last: layer_norm.Weights | None


def forward(x: Array, stack: Stack) -> tuple[Array, Kept]:
    """(B, T, D) -> (B, T, D)."""
    kept = []
    for step in stack.steps:
        x, inside = CONNECTIONS[stack.connection].forward(x, step.sublayer, step.norm)
        kept.append(inside)
    if stack.last is None:
        return x, Kept(kept, None)
    out, last = layer_norm.forward(x, stack.last)
    return out, Kept(kept, last)


def backward(d_out: Array, kept: Kept, stack: Stack) -> Gradients:
    """The steps from the top down, each given what the one above it made."""
    d_x, last = d_out, None
    if kept.last is not None:
        d_x, last = layer_norm.backward(d_out, kept.last)
    found = []
    for step, inside in zip(reversed(stack.steps), reversed(kept.steps), strict=True):
        gradients = CONNECTIONS[stack.connection].backward(d_x, inside, step.sublayer)
        d_x = gradients.x
        found.append(gradients)
    return Gradients(d_x, found[::-1], last)
