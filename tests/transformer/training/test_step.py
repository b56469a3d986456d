"""One step of the training loop against the same step by hand: the loss, the norm, the clipping, Adam, the clocks."""

import numpy as np
import pytest

import minigrad as mg
from transformer import Transformer
from transformer.tasks import batch_for_step, get_task
from transformer.training import loop
from transformer.training.gradients import DROPOUT_STREAM
from transformer.training.loop import train
from transformer.training.metrics import read_metrics
from transformer.training.progress import Silent

SMOOTHING, CLIP, RATE, SEED = 0.3, 0.05, 0.01, 7


@pytest.fixture
def trained(make_run):
    """A run after its one step: smoothing, padding and dropout on, and a norm far above the one clipped to."""
    run = make_run(
        steps=1, warmup=1, peak_rate=RATE, label_smoothing=SMOOTHING, clip_norm=CLIP, averaging=0.0, seed=SEED
    )
    train(run, Silent())
    return run


@pytest.fixture
def batch():
    batch = batch_for_step(get_task("copy"), 4, SEED, 1)
    assert (batch.target_out == 0).any()
    return batch


@pytest.fixture
def by_hand(trained, batch):
    """(the initial parameters, their gradients, the loss) of the step, the loss written out from the logits."""
    model = Transformer(trained.config.model, rng=SEED)
    initial = model.state_dict()
    logits = model(batch.source, batch.target_in, rng=np.random.default_rng([SEED, DROPOUT_STREAM, 1]))
    log_p = mg.log_softmax(logits)
    V = logits.shape[-1]
    target = (1 - SMOOTHING) * np.eye(V)[batch.target_out] + SMOOTHING / V  # (B, T_t, V)
    target[batch.target_out == 0] = 0.0
    loss = -mg.sum(log_p * target.astype(np.float32)) / float((batch.target_out != 0).sum())
    loss.backward()
    return initial, {name: parameter.grad.data for name, parameter in model.named_parameters()}, loss.item()


def test_loss_norm_tokens_and_rate_are_those_of_the_batch(trained, batch, by_hand):
    _, gradients, loss = by_hand
    (row,) = read_metrics(trained.metrics_file)
    assert row.loss == pytest.approx(loss, rel=1e-5)
    norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradients.values()))
    assert row.gradient_norm == pytest.approx(norm, rel=1e-4)
    assert row.gradient_norm > 10 * CLIP
    assert row.tokens == sum(np.count_nonzero(target) for target in batch.target_out)
    assert row.rate == pytest.approx(RATE)


def test_adam_moves_by_the_clipped_gradient(trained, by_hand):
    """m = 0.1 g, v = 0.02 g**2, so p -= rate * (m / 0.1) / (sqrt(v / 0.02) + eps) = rate * g / (|g| + eps)."""
    initial, gradients, _ = by_hand
    norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradients.values()))
    saved = mg.load(trained.last_file)
    flat = np.concatenate([g.reshape(-1) for g in gradients.values()]) * (CLIP / norm)
    np.testing.assert_allclose(saved["optimizer.sum"], flat, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(saved["optimizer.sum_of_squares"], flat**2, rtol=2e-3, atol=1e-12)
    for name, g in gradients.items():
        clipped = g.astype(np.float64) * (CLIP / norm)
        sure = np.abs(clipped) > 1e-5  # below, rounding decides the sign
        expected = initial[name] - RATE * clipped / (np.abs(clipped) + 1e-9)
        np.testing.assert_allclose(saved[f"model.{name}"][sure], expected[sure], rtol=1e-3, atol=1e-4, err_msg=name)


def test_each_clock_counts_the_steps_alone(make_run, monkeypatch):
    """Every look at the CPU's clock takes 1 s by it, at the wall's 100 s; an evaluation takes an hour by both."""
    cpu, wall = [0.0], [0.0]

    def tick(clock, seconds):
        clock[0] += seconds
        return clock[0]

    def slow_evaluate(*arguments):
        cpu[0] += 3600
        wall[0] += 3600
        return honest(*arguments)

    honest = loop.evaluate
    monkeypatch.setattr(loop.time, "process_time", lambda: tick(cpu, 1.0))
    monkeypatch.setattr(loop.time, "perf_counter", lambda: tick(wall, 100.0))
    monkeypatch.setattr(loop, "evaluate", slow_evaluate)
    run = make_run()
    state = train(run, Silent()).state
    assert (state.cpu_seconds, state.wall_seconds) == (12.0, 1200.0)
    assert state.evaluation_cpu_seconds == 3 * 3601.0
    assert [row.cpu_seconds for row in read_metrics(run.metrics_file)] == list(range(1, 13))
    assert [row.wall_seconds for row in read_metrics(run.metrics_file)] == list(range(100, 1300, 100))
