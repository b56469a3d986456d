"""Where a derivative (or a value) is a convention: where minigrad follows torch, where it does not, and why.

Both sides are pinned. A change in either, ours or a new torch's, shows here.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import minigrad as mg

inf, nan = np.inf, np.nan
MASK = np.array([[True, False], [False, False]])
HIDDEN = torch.tensor(~MASK)
NONE_COUNTS = np.array([0, 0])


class Same(NamedTuple):
    """At a kink, equal in both: (ours, torch's, operands, the gradients with cotangent 1)."""

    mine: Any
    theirs: Any
    operands: list[Any]
    gradients: list[Any]


class Differs(NamedTuple):
    """Our value and gradients, torch's, and why ours are so."""

    mine: Any
    theirs: Any
    operands: list[Any]
    our_value: Any
    our_gradients: list[Any]
    their_value: Any
    their_gradients: list[Any]
    reason: str


SAME = {
    "abs at 0": Same(mg.abs, torch.abs, [[0.0, -0.0]], [[0, 0]]),
    "relu at 0": Same(mg.relu, torch.relu, [[0.0, -0.0]], [[0, 0]]),
    "maximum of equals": Same(mg.maximum, torch.maximum, [1.0, 1.0], [0.5, 0.5]),
    "minimum of equals": Same(mg.minimum, torch.minimum, [1.0, 1.0], [0.5, 0.5]),
    "max with ties, as amax": Same(mg.max, torch.amax, [[1.0, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    "max of all with ties": Same(mg.max, torch.max, [[1.0, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    "clip at its edges": Same(
        lambda x: mg.clip(x, 0.0, 1.0), lambda x: torch.clamp(x, 0.0, 1.0), [[0.0, 1.0]], [[1, 1]]
    ),
    "prod with a zero": Same(mg.prod, torch.prod, [[2.0, 0.0, 3.0]], [[0, 6, 0]]),
    "prod with two zeros": Same(mg.prod, torch.prod, [[2.0, 0.0, 0.0]], [[0, 0, 0]]),
    "norm at 0": Same(mg.norm, torch.linalg.vector_norm, [[0.0, 0.0]], [[0, 0]]),
    "sqrt at 0": Same(mg.sqrt, torch.sqrt, [[0.0]], [[inf]]),
    "log at 0": Same(mg.log, torch.log, [[0.0]], [[inf]]),
    "1 / x at 0": Same(lambda x: 1 / x, lambda x: 1 / x, [[0.0]], [[-inf]]),
    "x ** 0 at 0": Same(lambda x: x**0, lambda x: x**0, [[0.0]], [[0]]),
    "x ** 0.5 at 0": Same(lambda x: x**0.5, lambda x: x**0.5, [[0.0]], [[inf]]),
    "x ** y at x = 0": Same(mg.power, torch.pow, [[0.0] * 4, [0.0, 1.0, 2.0, 0.5]], [[0, 1, 0, inf], [0, 0, 0, 0]]),
    "x ** y at x < 0": Same(mg.power, torch.pow, [[-2.0], [2.0]], [[-4], [nan]]),
    "the branch not taken has an infinite derivative": Same(
        lambda x: mg.where(np.array([True]), x, mg.sqrt(x)),
        lambda x: torch.where(torch.tensor([True]), x, torch.sqrt(x)),
        [[0.0]], [[nan]],
    ),
    "softmax with inf": Same(mg.softmax, lambda x: x.softmax(-1), [[0.0, inf]], [[nan, nan]]),
    "attention of a query that sees nothing": Same(
        lambda q, k, v: mg.attention(q, k, v, MASK),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=~HIDDEN),
        [[[1.0], [1.0]], [[1.0], [1.0]], [[1.0], [2.0]]],
        [[[0], [0]], [[0], [0]], [[1], [0]]],
    ),
    "layer_norm of equals": Same(mg.layer_norm, lambda x: F.layer_norm(x, (2,)), [[3.0, 3.0]], [[0, 0]]),
    "cross_entropy with a class of probability 0": Same(
        lambda x: mg.cross_entropy(x, np.array([0])), lambda x: F.cross_entropy(x, torch.tensor([0])),
        [[[0.0, -inf]]], [[[0, 0]]],
    ),
}  # fmt: skip

DIFFERS = {
    "max over an axis, with ties": Differs(
        lambda x: mg.max(x, 0), lambda x: torch.max(x, 0).values, [[1.0, 3.0, 3.0]],
        3, [[0, 0.5, 0.5]], 3, [[0, 1, 0]],
        "torch's max(dim) also returns the index, and its gradient goes there; ours is torch's amax: ties share evenly "
        "on every axis, so that max(x) and max(x, 0) of a vector are one function",
    ),
    "sum over no axis": Differs(
        lambda x: mg.sum(x, ()), lambda x: torch.sum(x, ()), [[1.0, 2.0]],
        [1, 2], [[1, 1]], 3, [[1, 1]],
        "axis=() is NumPy's: nothing is summed; torch reads it as all",
    ),
    "softmax, a row with nothing left": Differs(
        lambda x: mg.softmax(x, where=MASK), lambda x: x.masked_fill(HIDDEN, -inf).softmax(-1),
        [[[1.0, 1.0], [1.0, 1.0]]],
        [[1, 0], [0, 0]], [[[0, 0], [0, 0]]], [[1, 0], [nan, nan]], [[[0, 0], [0, 0]]],
        "a query with no key left has weights 0, as in torch's own attention; NaN would reach every later layer",
    ),
    "softmax of -inf alone": Differs(
        mg.softmax, lambda x: x.softmax(-1), [[-inf, -inf]],
        [0, 0], [[0, 0]], [nan, nan], [[nan, nan]],
        "the same, written with -inf",
    ),
    "log_softmax of -inf alone": Differs(
        mg.log_softmax, lambda x: x.log_softmax(-1), [[-inf, -inf]],
        [-inf, -inf], [[1, 1]], [nan, nan], [[nan, nan]],
        "the logarithm of softmax, which is 0 there; dx = g - softmax(x) * sum(g) with that softmax",
    ),
    "logsumexp of -inf alone": Differs(
        mg.logsumexp, lambda x: torch.logsumexp(x, -1), [[-inf, -inf]],
        -inf, [[0, 0]], -inf, [[nan, nan]],
        "nothing takes part, so nothing moves the sum",
    ),
    "logaddexp of -inf alone": Differs(
        mg.logaddexp, torch.logaddexp, [[-inf], [-inf]],
        [-inf], [[0.5], [0.5]], [-inf], [[nan], [nan]],
        "the limit where both fall together",
    ),
    "relu of NaN": Differs(
        mg.relu, torch.relu, [[nan]], [nan], [[0]], [nan], [[1]],
        "NaN is not above 0; the value says that something is wrong, and detect_anomaly says where",
    ),
    "maximum with NaN": Differs(
        mg.maximum, torch.maximum, [[nan], [1.0]], [nan], [[0], [0]], [nan], [[1], [1]],
        "neither is the larger; the same",
    ),
    "softplus above 20": Differs(
        mg.softplus, F.softplus, [[21.0]],
        [21 + np.log1p(np.exp(-21.0))], [[1 / (1 + np.exp(-21.0))]], [21], [[1]],
        "torch takes x itself above its threshold of 20; ours is the function",
    ),
    "gelu far below 0": Differs(
        lambda x: mg.gelu(x) * 1e22, lambda x: F.gelu(x) * 1e22, [[-10.0]],
        [-0.7619853024160526], [[-7.618400096464]], [0], [[-7.694598626706]],
        "torch's 1 + erf(x / sqrt(2)) cancels there; ours is the normal distribution's tail",
    ),
    "cross_entropy where no target counts": Differs(
        lambda x: mg.cross_entropy(x, NONE_COUNTS, ignore_index=0),
        lambda x: F.cross_entropy(x, torch.tensor(NONE_COUNTS), ignore_index=0),
        [[[1.0, 2.0], [3.0, 4.0]]],
        0, [[[0, 0], [0, 0]]], nan, [[[0, 0], [0, 0]]],
        "a batch of padding alone must not turn the loss of an epoch into NaN",
    ),
}  # fmt: skip


def of_mine(function: Any, operands: list[Any]) -> tuple[Any, list[Any]]:
    """(value, gradients with cotangent 1)."""
    leaves = [mg.Tensor(np.asarray(operand, np.float64), requires_grad=True) for operand in operands]
    with np.errstate(all="ignore"):
        output = function(*leaves)
    return output.data, [gradient.data for gradient in mg.gradients(output, leaves, np.ones(output.shape))]


def of_theirs(function: Any, operands: list[Any]) -> tuple[Any, list[Any]]:
    """The same in torch."""
    leaves = [torch.tensor(operand, dtype=torch.float64, requires_grad=True) for operand in operands]
    output = function(*leaves)
    found = torch.autograd.grad(output, leaves, torch.ones_like(output))
    return output.numpy(force=True), [gradient.numpy(force=True) for gradient in found]


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SAME)
def test_both_have_this_convention(name):
    mine, theirs, operands, expected = SAME[name]
    (value, gradients), (their_value, their_gradients) = of_mine(mine, operands), of_theirs(theirs, operands)
    assert_equal([value, *gradients], [their_value, *their_gradients])
    assert_equal(gradients, expected)


@pytest.mark.parametrize("name", DIFFERS)
def test_conventions_that_differ(name):
    row = DIFFERS[name]
    assert row.reason
    value, gradients = of_mine(row.mine, row.operands)
    assert_equal([value, *gradients], [row.our_value, *row.our_gradients])
    their_value, their_gradients = of_theirs(row.theirs, row.operands)
    assert_equal([their_value, *their_gradients], [row.their_value, *row.their_gradients])
