"""The running average is the formula's, and can be taken up again."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import CheckpointError
from transformer.training.averaging import RunningAverage


def walked(layer, average, steps, rng):
    """Random weights for so many steps; the weights of each."""
    path = []
    for step in steps:
        layer.weight.data = rng.normal(size=layer.weight.shape).astype(np.float32)
        average.update(step)
        path.append(layer.weight.data)
    return path


@pytest.fixture
def layer():
    return mg.nn.Linear(3, 2, np.random.default_rng(0))


def test_the_first_steps_are_averaged_evenly_and_without_the_initial_weights(layer):
    average = RunningAverage(layer, decay=0.99)
    path = walked(layer, average, range(1, 6), np.random.default_rng(1))
    np.testing.assert_allclose(average.state_dict()["weight"], np.mean(path, axis=0), rtol=1e-5, atol=1e-6)


def test_later_ones_weigh_less_the_older_they_are(layer):
    average = RunningAverage(layer, decay=0.8)
    path = walked(layer, average, range(1, 31), np.random.default_rng(1))
    expected = np.mean(path[:5], axis=0)
    for weights in path[5:]:
        expected = 0.8 * expected + 0.2 * weights
    np.testing.assert_allclose(average.state_dict()["weight"], expected, rtol=1e-5, atol=1e-6)


def test_without_decay_it_is_the_weights_themselves(layer):
    average = RunningAverage(layer, decay=0.0)
    path = walked(layer, average, range(1, 4), np.random.default_rng(1))
    np.testing.assert_allclose(average.state_dict()["weight"], path[-1], rtol=1e-6)


def test_the_model_itself_is_left_alone(layer):
    average = RunningAverage(layer, decay=0.9)
    before = layer.weight.data
    average.update(1)
    average.state_dict()["weight"][:] = 7.0
    np.testing.assert_array_equal(layer.weight.data, before)


def test_it_goes_on_to_the_last_bit_and_refuses_another_models(layer):
    whole, rng = RunningAverage(layer, decay=0.9), np.random.default_rng(1)
    walked(layer, whole, range(1, 5), rng)
    part = RunningAverage(layer, decay=0.9)
    part.load_state_dict({name: array.copy() for name, array in whole.state_dict().items()})
    whole.update(5)
    part.update(5)
    np.testing.assert_array_equal(part.state_dict()["weight"], whole.state_dict()["weight"])
    with pytest.raises(CheckpointError, match="another model's"):
        part.load_state_dict({"weight": np.zeros((3, 2))})
