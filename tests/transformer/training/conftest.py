"""A run so small that it trains in no time."""

from dataclasses import replace

import pytest

from transformer import TransformerConfig
from transformer.tasks import get_task
from transformer.training import loop
from transformer.training.config import RunConfig, TrainingConfig
from transformer.training.run import create_run


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
def small_test_set(monkeypatch):
    """Judge on a few pairs instead of thousands."""
    monkeypatch.setattr(
        "transformer.training.report.judged_splits",
        lambda task: {k: v[:6] for k, v in loop.judged_splits(task).items()},
    )
