"""A batch shared by workers, or cut into micro-batches: the loss and gradients of the whole batch, no loose ends.

And the same bits every time.
"""

import signal
import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from transformer import Transformer, TransformerConfig
from transformer.batching import make_batch
from transformer.training import gradients
from transformer.training.errors import TrainingInterrupted
from transformer.training.gradients import DROPOUT_STREAM, Workers
from transformer.training.loop import train
from transformer.training.metrics import read_metrics
from transformer.training.progress import Silent
from transformer.vocabulary import PAD

V = 9
CONFIG = TransformerConfig(
    source_vocab=V, target_vocab=V, d_model=6, heads=2, layers=1, d_ff=10, dropout=0.0, max_length=7
)
ids = st.lists(st.integers(4, V - 1), min_size=1, max_size=6)
batches = st.lists(st.tuples(ids, ids), min_size=1, max_size=7).map(make_batch)


def in_float64(config=CONFIG):
    with mg.default_dtype("float64"):
        return Transformer(config, rng=3)


def shared_by(count, model, batch, smoothing=0.1, seed=5, step=2, accumulate=1):
    with Workers(count, accumulate) as workers:
        return workers.loss_and_gradients(model, model.parameters(), batch, smoothing, seed, step)


@settings(deadline=None)
@given(batch=batches, count=st.integers(1, 4), accumulate=st.integers(1, 4), smoothing=st.sampled_from([0.0, 0.2]))
def test_any_number_of_workers_find_the_loss_and_gradients_of_the_whole_batch(batch, count, accumulate, smoothing):
    """In any number of micro-batches, too, of pairs of unequal length."""
    model = in_float64()
    logits = model(batch.source, batch.target_in)
    expected = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD, label_smoothing=smoothing)
    expected.backward()
    loss, found = shared_by(count, model, batch, smoothing, accumulate=accumulate)
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    for (name, parameter), gradient in zip(model.named_parameters(), found, strict=True):
        np.testing.assert_allclose(gradient.data, parameter.grad.data, rtol=0, atol=1e-12, err_msg=name)


@given(batch=batches)
@settings(deadline=None)
def test_one_worker_finds_the_very_bits_of_backward(batch):
    model = Transformer(CONFIG, rng=3)
    expected = mg.cross_entropy(model(batch.source, batch.target_in), batch.target_out, PAD, 0.1)
    expected.backward()
    loss, found = shared_by(1, model, batch)
    assert loss == expected.item()
    for parameter, gradient in zip(model.parameters(), found, strict=True):
        np.testing.assert_array_equal(gradient.data, parameter.grad.data)


@settings(deadline=None, max_examples=20)
@given(batch=batches, count=st.integers(2, 4), accumulate=st.integers(1, 3))
def test_the_same_bits_whichever_worker_is_ready_first(batch, count, accumulate):
    model = Transformer(replace(CONFIG, dropout=0.3), rng=3)
    loss, found = shared_by(count, model, batch, accumulate=accumulate)
    for _ in range(3):
        again, others = shared_by(count, model, batch, accumulate=accumulate)
        assert again == loss
        for gradient, other in zip(found, others, strict=True):
            np.testing.assert_array_equal(gradient.data, other.data)


def test_nothing_shared_is_written():
    model, batch = Transformer(CONFIG, rng=3), make_batch([([4, 5], [6]), ([7], [8, 4, 5]), ([5], [5])])
    before = {name: array.copy() for name, array in model.state_dict().items()}
    shared_by(3, model, batch)
    assert all(parameter.grad is None for parameter in model.parameters())
    np.testing.assert_equal(model.state_dict(), before)


def test_each_part_has_dropout_of_its_own(monkeypatch):
    drawn = {}

    def watched(model, parameters, batch, tokens, smoothing, rng):
        drawn[threading.current_thread().name, len(batch)] = rng.random(3).tolist()
        return honest(model, parameters, batch, tokens, smoothing, rng)

    honest = gradients.part_of_gradients
    monkeypatch.setattr(gradients, "part_of_gradients", watched)
    shared_by(2, Transformer(CONFIG, rng=3), make_batch([([4], [5])] * 3), seed=5, step=2)
    expected = [np.random.default_rng([5, DROPOUT_STREAM, 2, part]).random(3).tolist() for part in (0, 1)]
    assert drawn == {("MainThread", 1): expected[0], ("worker_0", 2): expected[1]}
    assert expected[0] == np.random.default_rng([5, DROPOUT_STREAM, 2]).random(3).tolist()  # as runs before workers had


@pytest.mark.parametrize(
    ("pairs", "count", "accumulate", "sizes"),
    [
        (7, 1, 1, [[7]]),
        (7, 1, 3, [[2, 2, 3]]),
        (8, 2, 2, [[2, 2], [2, 2]]),
        (3, 2, 2, [[1], [1, 1]]),
        (2, 4, 3, [[1], [1]]),
    ],
)
def test_micro_batches_are_the_parts_in_their_order_each_with_dropout_of_its_own(
    monkeypatch, pairs, count, accumulate, sizes
):
    seen = {}

    def watched(model, parameters, batch, tokens, smoothing, rng):
        seen.setdefault(threading.current_thread().name, []).append((batch.source[:, 0].tolist(), rng.random()))
        return 1.0, [mg.Tensor(1.0)]

    monkeypatch.setattr(gradients, "part_of_gradients", watched)
    batch = make_batch([([4 + pair], [5]) for pair in range(pairs)])
    with Workers(count, accumulate) as workers:
        loss, (total,) = workers.loss_and_gradients(None, [], batch, 0.0, seed=5, step=2)
    assert loss == total.item() == sum(map(len, sizes))
    of_threads = sorted(seen.values(), key=lambda shares: shares[0])
    parts = [part for share in of_threads for part in share]
    assert [len(part) for part, _ in parts] == [size for share in sizes for size in share]
    assert [row for part, _ in parts for row in part] == [4 + pair for pair in range(pairs)]
    expected = [np.random.default_rng([5, DROPOUT_STREAM, 2, part]).random() for part in range(len(parts))]
    assert [drawn for _, drawn in parts] == expected


def test_four_micro_batches_take_far_less_memory_than_the_batch_at_once():
    model = Transformer(replace(CONFIG, max_length=40), rng=3)
    batch = make_batch([([4] * 40, [5] * 39)] * 16)

    def peak(accumulate):
        tracemalloc.start()
        try:
            shared_by(1, model, batch, accumulate=accumulate)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4) < 0.5 * peak(1)


def test_what_holds_for_the_caller_holds_for_workers():
    """The default dtype, and which floating-point errors are told, are the caller's; a new thread has neither."""
    seen = []

    class Watched(Transformer):
        def forward(self, source, target_in, rng=None):
            seen.append((mg.Tensor(1.5).dtype, np.geterr()["over"]))
            return super().forward(source, target_in, rng)

    batch = make_batch([([4], [5])] * 3)
    with mg.default_dtype("float64"), np.errstate(over="ignore"):
        shared_by(3, Watched(CONFIG, rng=3), batch)
    assert seen == [(np.dtype(np.float64), "ignore")] * 3


@pytest.mark.parametrize("failing", [{0}, {1}, {2}, {1, 2}, {0, 1, 2}])
def test_what_a_worker_raises_is_raised_once_all_have_ended(monkeypatch, failing):
    ended, others = [], threading.Barrier(3)

    def part(model, parameters, batch, tokens, smoothing, rng):
        number = int(batch.source[0, 0]) - 4
        others.wait()
        if number in failing:
            raise MemoryError(f"part {number}")
        ended.append(number)
        return 0.0, []

    monkeypatch.setattr(gradients, "part_of_gradients", part)
    with Workers(3) as workers, pytest.raises(MemoryError, match=f"part {min(failing)}"):
        workers.loss_and_gradients(None, [], make_batch([([4], [5]), ([5], [5]), ([6], [5])]), 0.0, 0, 1)
    assert sorted(ended) == sorted({0, 1, 2} - failing)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("worker")]


def test_models_called_by_many_threads_at_once_do_not_disturb_each_other():
    """Module paths and call counts, the table of positions, the tape: all as when called alone."""
    model = Transformer(replace(CONFIG, max_length=1), rng=3)
    rng = np.random.default_rng(0)
    lengths = [3, 40, 5, 90, 17, 2, 60, 33]
    inputs = [(rng.integers(4, V, (2, n)), rng.integers(4, V, (2, n + 1))) for n in lengths]
    alone = [Transformer(replace(CONFIG, max_length=1), rng=3)(*each) for each in inputs]
    start, found = threading.Barrier(len(inputs)), [None] * len(inputs)

    def call(place):
        start.wait()
        logits = model(*inputs[place])
        found[place] = logits.data, [step.node.path for step in mg.walk(mg.sum(logits))]

    threads = [threading.Thread(target=call, args=(place,)) for place in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for logits, (data, paths) in zip(alone, found, strict=True):
        np.testing.assert_array_equal(data, logits.data)
        assert paths == [step.node.path for step in mg.walk(mg.sum(logits))]


@pytest.mark.parametrize(("workers", "accumulate"), [(2, 1), (1, 3), (2, 2)])
def test_a_shared_or_cut_batch_has_the_same_bits_every_time_and_after_being_resumed(make_run, workers, accumulate):
    runs = [make_run(name, workers=workers, accumulate=accumulate) for name in ("first", "second", "parts")]
    for run in runs:
        train(run, Silent(), max_seconds=1e-6 if run is runs[2] else None)
    train(runs[2], Silent())
    first, *others = (mg.load(run.last_file) for run in runs)
    for other in others:
        np.testing.assert_equal(other, first)


def test_ctrl_c_while_workers_are_at_work_ends_the_step_and_the_run_goes_on_to_the_same_bits(make_run, monkeypatch):
    def pressing(*arguments):
        if threading.current_thread() is not threading.main_thread() and not pressed:
            pressed.append(signal.raise_signal(signal.SIGINT))
        return honest(*arguments)

    whole, parts = make_run("whole", workers=2), make_run("parts", workers=2)
    train(whole, Silent())
    pressed, honest = [], gradients.part_of_gradients
    monkeypatch.setattr(gradients, "part_of_gradients", pressing)
    with pytest.raises(TrainingInterrupted, match="after step 1"):
        train(parts, Silent())
    train(parts, Silent())
    np.testing.assert_equal(mg.load(parts.last_file), mg.load(whole.last_file))


@pytest.mark.parametrize(("workers", "accumulate"), [(2, 1), (1, 3), (2, 2)])
def test_two_workers_and_micro_batches_train_as_one_batch_does(make_run, monkeypatch, workers, accumulate):
    """Without dropout, and but for rounding."""
    calls, honest = [], gradients.part_of_gradients
    monkeypatch.setattr(gradients, "part_of_gradients", lambda *given: calls.append(None) or honest(*given))
    one, two = (
        replace(run, config=replace(run.config, model=replace(run.config.model, dropout=0.0)))
        for run in (
            make_run("one", peak_rate=1e-3),
            make_run("two", peak_rate=1e-3, workers=workers, accumulate=accumulate),
        )
    )
    for run in (one, two):
        train(run, Silent())
    for first, second in zip(read_metrics(one.metrics_file), read_metrics(two.metrics_file), strict=True):
        assert second.loss == pytest.approx(first.loss, rel=1e-5)
        assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-3)
        assert second.tokens == first.tokens
    assert len(calls) == 12 * (1 + workers * accumulate)  # steps of 4 pairs
