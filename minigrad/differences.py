"""Derivatives of a function of arrays from its values alone: what a derivative by rules is checked against."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from minigrad.tape import Array

Evaluate: TypeAlias = Callable[[Sequence[Array]], Array]

STEPS = (1e-3, 1e-4, 1e-5)
"""Steps of the differences: the next is tried where the one before disagrees, since a kink may lie within it."""
COMPLEX_STEP = 1e-20


def richardson(evaluate: Evaluate, arrays: Sequence[Array], direction: Sequence[Array], step: float) -> Array:
    """The derivative of `evaluate` along a direction: (4 D(h/2) - D(h)) / 3, D(h) = (F(x + hv) - F(x - hv)) / 2h.

    Its error is O(h**4), that of a central difference alone O(h**2). Source: Richardson 1911.
    """
    whole, half = (central(evaluate, arrays, direction, h) for h in (step, step / 2))
    return np.asarray(half + (half - whole) / 3)


def central(evaluate: Evaluate, arrays: Sequence[Array], direction: Sequence[Array], h: float) -> Array:
    """(F(x + hv) - F(x - hv)) / 2h."""
    above, below = evaluate(moved(arrays, direction, h)), evaluate(moved(arrays, direction, -h))
    return np.asarray((above - below) / (2 * h))


def complex_step(evaluate: Evaluate, arrays: Sequence[Array], direction: Sequence[Array]) -> Array:
    """The derivative of an analytic function along a direction: Im F(x + ihv) / h, h = 1e-20.

    Nothing is subtracted, so it has no rounding error to speak of. Source: Squire and Trapp 1998.
    """
    return np.asarray(np.imag(evaluate(moved(arrays, direction, 1j * COMPLEX_STEP))) / COMPLEX_STEP)


def moved(arrays: Sequence[Array], direction: Sequence[Array], h: complex) -> list[Array]:
    """x + hv; an array that does not move stays as it is, integers too."""
    return [np.asarray(x + h * v) if np.any(v) else x for x, v in zip(arrays, direction, strict=True)]


def unit(arrays: Sequence[Array], i: int, index: tuple[int, ...], length: float) -> list[Array]:
    """The direction that moves one element of the i-th array by `length`."""
    direction: list[Any] = [np.zeros(()) for _ in arrays]
    direction[i] = np.zeros(arrays[i].shape)
    direction[i][index] = length
    return direction
