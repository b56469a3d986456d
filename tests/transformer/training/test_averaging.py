"""The running average and the mean of checkpoints are their formulas', and can be taken up again."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import CheckpointError
from transformer.training import loop
from transformer.training.averaging import CheckpointMean, RunningAverage
from transformer.training.loop import train
from transformer.training.progress import Silent
from transformer.training.run import open_run


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


@pytest.mark.parametrize(
    ("steps", "taken"),
    [(1, [1]), (3, [3]), (4, [3, 4]), (6, [3, 6]), (8, [3, 6, 8]), (9, [3, 6, 9]), (10, [6, 9, 10]), (12, [6, 9, 12])],
)
def test_the_mean_of_checkpoints_is_that_of_now_and_the_last_before(layer, steps, taken):
    average = CheckpointMean(layer, count=3, every=3)
    path = walked(layer, average, range(1, steps + 1), np.random.default_rng(1))
    expected = np.mean([path[step - 1] for step in taken], axis=0)
    np.testing.assert_allclose(average.weights()["weight"], expected, rtol=1e-6, atol=1e-7)
    assert average.weights()["weight"].dtype == layer.weight.dtype


def test_a_checkpoint_is_kept_as_it_was_whatever_an_optimiser_does(layer):
    average, path = CheckpointMean(layer, count=3, every=1), []
    optimizer = mg.optim.Adam(layer.parameters(), lr=0.1)
    for step in (1, 2, 3):
        for parameter in layer.parameters():
            parameter.grad = mg.Tensor(np.full(parameter.shape, 1.0, parameter.dtype))
        optimizer.step()
        average.update(step)
        path.append(layer.weight.data.copy())
    assert (path[0] != path[2]).all()
    np.testing.assert_allclose(average.weights()["weight"], np.mean(path, axis=0), rtol=1e-6)


@pytest.mark.parametrize("stop", [2, 3, 7])
def test_checkpoints_go_on_to_the_last_bit_and_refuse_another_models_or_too_many(layer, stop):
    whole, rng = CheckpointMean(layer, count=2, every=3), np.random.default_rng(1)
    walked(layer, whole, range(1, stop + 1), rng)
    part = CheckpointMean(layer, count=2, every=3)
    part.load_state_dict({name: array.copy() for name, array in whole.state_dict().items()})
    for average in (whole, part):
        average.update(stop + 1)
    np.testing.assert_equal(part.weights(), whole.weights())
    np.testing.assert_equal(part.state_dict(), whole.state_dict())
    for state in ({"0.weight": np.zeros((3, 2))}, dict(layer.state_dict()), {"0.weight": layer.weight.data}):
        with pytest.raises(CheckpointError, match="another model's"):
            part.load_state_dict(state)
    walked(layer, whole, range(1, 10), rng)
    with pytest.raises(CheckpointError, match="another model's"):
        CheckpointMean(layer, count=1, every=3).load_state_dict(whole.state_dict())


def test_a_run_judges_the_mean_of_its_last_checkpoints(make_run, monkeypatch):
    judged, honest = [], loop.evaluate
    monkeypatch.setattr(
        loop, "evaluate", lambda model, *rest: judged.append(model.state_dict()) or honest(model, *rest)
    )
    run = make_run(checkpoints=2)
    train(run, Silent())
    last = mg.load(run.last_file)
    kept = [{name: last[f"average.{place}.{name}"] for name in judged[-1]} for place in (0, 1)]
    np.testing.assert_equal(kept[1], {name: last[f"model.{name}"] for name in kept[1]})
    assert len(judged) == 3
    assert any((kept[0][name] != kept[1][name]).any() for name in judged[-1])
    for name, array in judged[-1].items():
        np.testing.assert_allclose(array, (kept[0][name] + kept[1][name]) / 2, rtol=1e-6, atol=1e-7)


def test_a_run_that_averages_checkpoints_is_resumed_to_the_same_bits(make_run):
    whole, parts = make_run("whole", checkpoints=2), make_run("parts", checkpoints=2)
    train(whole, Silent())
    for _ in range(5):
        train(open_run(parts.path), Silent(), max_seconds=1e-6)  # a step, and a look at what it has learnt
    train(open_run(parts.path), Silent())
    np.testing.assert_equal(mg.load(parts.last_file), mg.load(whole.last_file))
