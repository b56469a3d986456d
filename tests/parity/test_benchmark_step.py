"""The training steps that are timed against each other compute the same: one loss after the other.

torch's always, as all of tests/parity; jax's where jax is installed, which .ci/run does not ask for.
"""

from importlib.util import find_spec

import numpy as np
import pytest

from tests.benchmarks.step.competitors import COMPETITORS, MINIGRAD
from tests.benchmarks.step.configs import StepConfig

CONFIG = StepConfig("least", d_model=16, heads=4, layers=2, d_ff=24, batch=3, length=5, vocab=11)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["torch", *(["jax"] if find_spec("jax") else [])])
def test_a_competitor_has_the_losses_of_minigrad(name, seed):
    ours, theirs = (competitor.load().build(CONFIG, seed)() for competitor in (MINIGRAD, COMPETITORS[name]))
    expected = [ours() for _ in range(4)]
    np.testing.assert_allclose([theirs() for _ in range(4)], expected, rtol=1e-5)
    assert expected[-1] < expected[0]
