"""Training goes on exactly where it stopped, says when it can't, and loses nothing."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import minigrad as mg
from minigrad.errors import CheckpointError
from transformer.tasks import TASKS, get_task
from transformer.training import loop
from transformer.training.errors import TrainingFailed, TrainingInterrupted
from transformer.training.loop import judged_splits, train, validation_pairs
from transformer.training.metrics import read_metrics
from transformer.training.progress import Silent
from transformer.training.run import open_run
from transformer.training.state import TrainingState


class After(Silent):
    """Does something after a step."""

    def __init__(self, step, act):
        self.step, self.act, self.steps = step, act, []

    def update(self, row):
        self.steps.append(row.step)
        if row.step == self.step:
            self.act()


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def learnt(run):
    """All that a training leaves that is not time: last and best arrays, and the metrics."""
    rows = [replace(row, cpu_seconds=0.0, wall_seconds=0.0) for row in read_metrics(run.metrics_file)]
    return mg.load(run.last_file), mg.load(run.best_file), rows


def assert_same(first, second):
    for ours, theirs in zip(learnt(first)[:2], learnt(second)[:2], strict=True):
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=name, strict=True)
    assert learnt(first)[2] == learnt(second)[2]


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not(make_run):
    first, second, third = make_run("first"), make_run("second"), make_run("third", seed=1)
    for run in (first, second, third):
        train(run, Silent())
    assert_same(first, second)
    assert learnt(first)[2] != learnt(third)[2]


@pytest.mark.parametrize(
    ("moment", "stops"),
    [
        ("batch_for_step", (1,)),
        ("batch_for_step", (3, 4, 5)),
        ("evaluate", (4, 8)),
        ("update", (1, 7)),
        ("update", (4, 11)),
    ],
)
def test_a_run_that_was_interrupted_and_resumed_ends_bit_identical(make_run, monkeypatch, moment, stops):
    whole, parts = make_run("whole"), make_run("parts")
    train(whole, Silent())
    for stop in stops:
        watched = After(stop, press_ctrl_c) if moment == "update" else Silent()
        with monkeypatch.context() as patch:
            if moment != "update":
                patch.setattr(loop, moment, pressing_ctrl_c(getattr(loop, moment), stop))
            with pytest.raises(TrainingInterrupted, match=f"after step {stop}"):
                train(open_run(parts.path), watched)
    outcome = train(open_run(parts.path), Silent())
    assert (outcome.state.step, outcome.stopped_early) == (12, False)
    assert_same(whole, parts)


def pressing_ctrl_c(function, stop):
    """`function`, but Ctrl-C is pressed while it runs in step `stop`."""

    def pressing(*arguments):
        if function.__name__ == "evaluate" or arguments[3] == stop:  # task, batch_size, seed, step
            press_ctrl_c()
        return function(*arguments)

    return pressing


@pytest.mark.parametrize("stop", [2, 6, 9])
def test_a_run_that_died_and_was_resumed_ends_bit_identical(make_run, stop):
    def die():
        raise MemoryError

    whole, parts = make_run("whole"), make_run("parts")
    train(whole, Silent())
    with pytest.raises(MemoryError):
        train(parts, After(stop, die))
    again = After(None, None)
    train(open_run(parts.path), again)
    assert again.steps[0] == 4 * (stop // 4) + 1  # from the last checkpoint
    assert_same(whole, parts)


def test_more_steps_later_are_the_same_as_more_steps_at_once_where_the_rate_does_not_look_at_the_end(make_run):
    short, long = make_run("short", steps=8, schedule="paper"), make_run("long", steps=12, schedule="paper")
    train(short, Silent())
    train(replace(short, config=long.config), Silent())
    train(long, Silent())
    assert_same(short, long)


def test_time_that_runs_out_stops_in_good_order_and_can_be_resumed(make_run):
    whole, parts = make_run("whole"), make_run("parts")
    train(whole, Silent())
    outcome = train(parts, Silent(), max_seconds=1e-6)
    assert (outcome.state.step, outcome.stopped_early) == (1, True)
    assert read_metrics(parts.metrics_file)[-1].exact_match is not None  # evaluated where it stopped
    assert parts.best_file.exists()
    train(parts, Silent())
    np.testing.assert_equal(mg.load(parts.last_file), mg.load(whole.last_file))


def test_a_finished_run_is_left_as_it_is(make_run):
    run = make_run()
    train(run, Silent())
    before = run.last_file.read_bytes()
    watched = After(None, None)
    outcome = train(run, watched)
    assert (outcome.state.step, outcome.stopped_early, watched.steps) == (12, False, [])
    assert run.last_file.read_bytes() == before


def test_a_loss_that_is_not_finite_stops_training_names_the_step_and_keeps_the_checkpoint(make_run, monkeypatch):
    run = make_run(evaluate_every=2)
    honest = mg.cross_entropy

    def breaks_down(logits, targets, **options):
        loss = honest(logits, targets, **options)
        return loss * float("nan") if len(read_metrics(run.metrics_file)) == 6 else loss

    monkeypatch.setattr(loop.mg, "cross_entropy", breaks_down)
    with pytest.raises(TrainingFailed, match=r"the loss is nan at step 7: .*last\.safetensors is kept.*--peak-rate"):
        train(run, Silent())
    monkeypatch.undo()
    assert train(run, Silent()).state.step == 12


def test_a_rate_far_too_high_is_found_out(make_run):
    run = make_run(peak_rate=1e30, warmup=1)
    with pytest.raises(TrainingFailed, match=r"at step \d: training can't go on \(nothing was saved yet\)"):
        train(run, Silent())
    assert not run.last_file.exists()


def test_one_blas_thread_while_training(make_run):
    seen = []
    train(make_run(), After(3, lambda: seen.extend(info["num_threads"] for info in threadpool_info())))
    assert set(seen) == {1}


def test_seconds_add_up_over_sessions(make_run):
    run = make_run()
    first = train(run, Silent(), max_seconds=1e-6).state
    second = train(run, Silent()).state
    assert 0 < first.cpu_seconds < second.cpu_seconds
    assert 0 < first.wall_seconds < second.wall_seconds


def test_the_best_weights_are_kept(make_run, monkeypatch):
    scores = iter([(0.5, 0.6), (0.2, 0.9), (0.5, 0.6)])  # a tie goes to the later

    class Judged:
        def __init__(self):
            self.exact_match, self.token_accuracy = next(scores)

    monkeypatch.setattr(loop, "evaluate", lambda *_: Judged())
    run = make_run()
    state = train(run, Silent()).state
    assert (state.best_step, state.best_exact_match, state.best_token_accuracy) == (12, 0.5, 0.6)
    last = mg.load(run.last_file)
    for name, array in mg.load(run.best_file).items():
        np.testing.assert_array_equal(array, last[f"average.{name}"])


@pytest.mark.parametrize("name", TASKS)
def test_validation_pairs_are_unseen_and_not_the_test_set(name):
    task = get_task(name)
    validation = {pair.source for pair in validation_pairs(task, 50)}
    tested = {pair.source for pairs in judged_splits(task).values() for pair in pairs}
    rng = np.random.default_rng(5)
    trained = {task.sample(rng).source for _ in range(2000)}
    assert len(validation) == 50
    assert validation.isdisjoint(tested)
    assert validation.isdisjoint(trained)


def test_ctrl_c_before_the_first_step_makes_that_step_and_saves_it(make_run, monkeypatch):
    run, honest = make_run(), loop.validation_pairs

    def pressing(*arguments):
        press_ctrl_c()
        return honest(*arguments)

    monkeypatch.setattr(loop, "validation_pairs", pressing)
    with pytest.raises(TrainingInterrupted, match="after step 1"):
        train(run, Silent())
    assert run.load_last().state.step == 1


def test_progress_does_not_start_where_training_can_not(make_run):
    class Watched(Silent):
        def start(self, *_):
            raise AssertionError("nobody would put the cursor back")

    run = make_run()
    run.metrics_file.mkdir()
    with pytest.raises(OSError, match=r"metrics\.csv"):
        train(run, Watched())


def test_the_configuration_is_written_once_it_is_known_to_fit(make_run):
    run = make_run(steps=8)
    train(run, Silent())
    longer = replace(run, config=replace(run.config, training=replace(run.config.training, steps=12)))
    before, whole = run.config_file.read_bytes(), run.last_file.read_bytes()
    run.last_file.write_bytes(whole[:-1])
    with pytest.raises(CheckpointError):
        train(longer, Silent())
    assert run.config_file.read_bytes() == before
    run.last_file.write_bytes(whole)
    train(longer, Silent())
    assert open_run(run.path) == longer


def test_weights_that_are_not_finite_are_found_before_they_are_saved(make_run):
    run = make_run(steps=1, warmup=1, peak_rate=1e39)  # beyond float32; loss and gradient of the only step are fine
    with pytest.raises(TrainingFailed, match=r"the largest weight is (inf|nan) at step 1"):
        train(run, Silent())
    assert not run.last_file.exists()
    assert not run.best_file.exists()


def test_a_fresh_state_is_before_the_first_step():
    assert TrainingState().step == 0
