"""A run so small that it trains in no time."""

from dataclasses import replace

import pytest

import minigrad as mg
from transformer import TransformerConfig
from transformer.tasks import get_task
from transformer.training import loop
from transformer.training.config import RunConfig, TrainingConfig
from transformer.training.metrics import read_metrics
from transformer.training.run import create_run, open_run


@pytest.fixture
def tiny_config():
    """Copy with a model of one narrow layer, with dropout: 12 steps, a look at 5 validation pairs every 4."""
    vocabulary = len(get_task("copy").source_vocabulary)
    model = TransformerConfig(
        source_vocab=vocabulary, target_vocab=vocabulary, d_model=8, heads=2, layers=1, d_ff=16, max_length=17
    )
    training = TrainingConfig(
        steps=12, warmup=5, peak_rate=1.0, batch_size=4, label_smoothing=0.1, evaluate_every=4, validation_size=5
    )
    return RunConfig("copy", model, training)


@pytest.fixture
def make_run(tmp_path, tiny_config):
    """Make a run folder `name` of the tiny training, with some of its settings changed."""

    def make(name="run", **changes):
        config = replace(tiny_config, training=replace(tiny_config.training, **changes))
        return create_run(tmp_path / name, config, get_task(config.task))

    return make


@pytest.fixture
def assert_same_end():
    """Assert that two runs were left in the same state, bit for bit, and that nothing is in their folders besides."""

    def check(found, wanted):
        found, wanted = left_behind(found), left_behind(wanted)
        assert found[1:] == wanted[1:]
        assert found[0].keys() == wanted[0].keys()
        for name, array in wanted[0].items():
            assert found[0][name].tobytes() == array.tobytes(), name

    return check


def left_behind(run):
    """Weights, their average, the optimiser's memory, the best weights, every step's numbers, and the files' names."""
    run = open_run(run.path)
    arrays = {f"last {name}": array for name, array in mg.load(run.last_file).items()}
    arrays |= {f"best {name}": array for name, array in mg.load(run.best_file).items()}
    rows = [(row.step, row.loss, row.rate, row.gradient_norm, row.tokens, row.exact_match, row.token_accuracy)
            for row in read_metrics(run.metrics_file)]  # fmt: skip
    state = run.load_last().state
    reached = (state.step, state.best_step, state.best_exact_match, state.best_token_accuracy)
    return arrays, rows, reached, sorted(file.name for file in run.path.iterdir())


@pytest.fixture
def small_test_set(monkeypatch):
    """Judge on a few pairs instead of thousands."""
    monkeypatch.setattr(
        "transformer.training.report.judged_splits",
        lambda task: {k: v[:6] for k, v in loop.judged_splits(task).items()},
    )
