"""One function written twice, for minigrad and for torch, and what must agree: value, gradient, second derivative.

All in float64, to 1e-9. Cotangents are random, so that no sum of gradients hides an exchange of two of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import torch

import minigrad as mg
from tests.minigrad.strategies import Shape, arrays, numbers

CLOSE = 1e-9
"""The largest difference, relative to an array's largest element (or to 1, for smaller ones)."""


@dataclass(frozen=True)
class Pair:
    """`mine(*tensors)` and `theirs(*tensors)` are to be the same function of these arrays."""

    mine: Callable[..., mg.Tensor]
    theirs: Callable[..., Any]
    arrays: list[np.ndarray]
    note: str = ""

    def __repr__(self) -> str:
        return f"<{self.note or 'pair'}: {', '.join(str(array.shape) for array in self.arrays)}>"


def pair(draw: Any, mine: Any, theirs: Any, *shapes: Shape, how: str | Sequence[str] = "any", note: str = "") -> Pair:
    """A pair on operands of these shapes, with drawn numbers."""
    hows = [how] * len(shapes) if isinstance(how, str) else how
    return Pair(mine, theirs, [draw(arrays(shape, kind)) for shape, kind in zip(shapes, hows, strict=True)], note)


def assert_agree(given: Pair, seed: int) -> None:
    """Value, gradient (by kernels and by definitions) and second derivative of both are equal to 1e-9."""
    mine = [mg.Tensor(array, requires_grad=True) for array in given.arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in given.arrays]
    y, t = given.mine(*mine), given.theirs(*theirs)
    assert_close("value", y, t)

    g = numbers(y.shape, seed)
    seed_mine, seed_theirs = mg.Tensor(g, requires_grad=True), torch.tensor(g, requires_grad=True)
    first_theirs = derivative(t, theirs, seed_theirs)
    first_mine = mg.gradients(y, mine, seed_mine, create_graph=True)
    for i, expected in enumerate(first_theirs):
        assert_close(f"gradient {i}, recorded", first_mine[i], expected)
    for i, found in enumerate(mg.gradients(y, mine, g)):
        assert_close(f"gradient {i}", found, first_theirs[i])

    weights = [numbers(array.shape, seed + 1 + i) for i, array in enumerate(given.arrays)]
    scalar_mine = weighted(first_mine, [mg.Tensor(w) for w in weights])
    scalar_theirs = weighted(first_theirs, [torch.tensor(w) for w in weights])
    second_theirs = derivative(scalar_theirs, [*theirs, seed_theirs], None)
    if not scalar_mine.requires_grad:  # all gradients are constants
        second_mine = [mg.Tensor(np.zeros(x.shape)) for x in (*mine, seed_mine)]
    else:
        second_mine = mg.gradients(scalar_mine, [*mine, seed_mine])
    for i, (found, expected) in enumerate(zip(second_mine, second_theirs, strict=True)):
        assert_close(f"second derivative {i}", found, expected)


def weighted(gradients: Sequence[Any], weights: Sequence[Any]) -> Any:
    """The sum of all gradients times random weights: a number whose gradient is a second derivative."""
    return reduce(add, [(gradient * w).sum() for gradient, w in zip(gradients, weights, strict=True)])


def derivative(output: Any, inputs: Sequence[Any], seed: Any) -> Sequence[Any]:
    """torch's gradients, on the tape; zeros for what the output does not depend on."""
    if not output.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    return torch.autograd.grad(output, inputs, seed, create_graph=True, allow_unused=True, materialize_grads=True)


def assert_close(what: str, mine: Any, theirs: Any) -> None:
    """Equal in shape and dtype, and in value to 1e-9."""
    theirs = theirs.numpy(force=True)
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), what
    largest = np.abs(theirs, where=np.isfinite(theirs), out=np.zeros_like(theirs)).max(initial=1.0)
    np.testing.assert_allclose(mine.data, theirs, rtol=CLOSE, atol=CLOSE * largest, err_msg=what)
