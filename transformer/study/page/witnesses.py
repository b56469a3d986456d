"""Three witnesses of one gradient: the tape, the backward pass written out by hand, and finite differences."""

from typing import Any

import numpy as np

import minigrad as mg
from transformer.model import Transformer
from transformer.study.hand import Hand
from transformer.study.trace import Array, Trace, differences, in_float64
from transformer.vocabulary import PAD

ENTRIES = 256
"""How many entries of an activation finite differences look at, drawn at random, where there are more."""


def of_activation(trace: Trace, name: str, hand: Hand) -> dict[str, Any]:
    """The norm of the tape's gradient, and the others' largest difference from it, relative to its largest entry."""
    gradient = trace.gradient(name)
    size = gradient.size
    places = np.random.default_rng(0).permutation(size)[:ENTRIES]
    greatest = np.abs(gradient).max(initial=0)
    return {
        "tensor": name,
        "norm": float(np.linalg.norm(gradient)),
        "hand": relative(hand.activations[name].gradient, gradient),
        "difference": relative(differences(trace, name, places), gradient.reshape(-1)[places], greatest),
    }


def of_parameter(trace: Trace, name: str, hand: Hand) -> dict[str, Any]:
    """The same for a parameter, with finite differences along one random direction: <gradient, direction>."""
    gradient = trace.parameters[name]
    return {
        "tensor": name,
        "norm": float(np.linalg.norm(gradient)),
        "hand": relative(hand.parameters[name], gradient),
        "difference": directional(trace, name),
    }


ZERO = 1e-14
"""A gradient whose entries are all smaller is 0 but for rounding, as that of a key's bias is."""


def relative(other: Array, tape: Array, greatest: float | None = None) -> float:
    """max |other - tape| / max |tape|; where the tape says 0 but for rounding, max |other - tape|.

    greatest: max |tape| of the whole, where only some entries are given.
    """
    if greatest is None:
        greatest = np.abs(tape).max(initial=0)
    found = np.abs(other - tape).max(initial=0)
    return float(found / greatest if greatest > ZERO else found)


def directional(trace: Trace, name: str, step: float = 1e-5) -> float:
    """How far (f(w + h u) - f(w - h u)) / 2h is from <dw, u>, relative to |dw|, for a random u of length 1.

    Where dw is 0 but for rounding, not relative to it.
    """
    model = in_float64(trace.model)  # a copy: what is on the tape must not change
    parameter = dict(model.named_parameters())[name]
    before = parameter.data
    direction = np.random.default_rng(0).standard_normal(before.shape)
    direction /= np.linalg.norm(direction)
    height = step * max(float(np.linalg.norm(before)), 1.0)
    found = []
    for by in (height, -height):
        parameter.data = before + by * direction
        found.append(_loss(trace, model))
    foretold = float(np.sum(trace.parameters[name] * direction))
    norm = float(np.linalg.norm(trace.parameters[name]))
    return abs((found[0] - found[1]) / (2 * height) - foretold) / (norm if norm > ZERO else 1.0)


def _loss(trace: Trace, model: Transformer) -> float:
    with mg.no_grad():
        logits = model(trace.source, trace.target_in)
        loss = mg.cross_entropy(logits, trace.target, ignore_index=PAD, label_smoothing=trace.label_smoothing)
    return float(loss.data)
