"""The training loop, from the first step to the last."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import minigrad as mg
from minigrad.atomic import remove_leftovers
from transformer.evaluation import evaluate
from transformer.model import Transformer
from transformer.tasks.stream import batch_for_step
from transformer.tasks.task import Pair, Task
from transformer.training.averaging import Average, CheckpointMean, RunningAverage
from transformer.training.blas import limited_blas
from transformer.training.config import TrainingConfig, save_config
from transformer.training.errors import TrainingFailed, TrainingInterrupted
from transformer.training.gradients import Workers
from transformer.training.interruption import Interruption
from transformer.training.memory import keep_freed_memory
from transformer.training.metrics import Metrics, MetricsTable
from transformer.training.progress import Progress
from transformer.training.run import Run
from transformer.training.state import TrainingState

TEST_SEED = 0
VALIDATION_SEED = 2**32 - 1  # one that nobody asks for: `evaluate --seed` draws test pairs by seeds of its own


@dataclass(frozen=True)
class Outcome:
    """How a training ended: where it stands, and whether time ran out before its last step."""

    state: TrainingState
    stopped_early: bool


def train(run: Run, progress: Progress, max_seconds: float | None = None) -> Outcome:
    """Train the run's model from where it stands (step 0, or its last saved state) to its configured last step.

    The result depends on the configuration alone: not on where training was stopped and resumed, nor on what else the
    machine does. What happens in step n is a function of the seed, the weights and n.
    max_seconds: stop after the step that takes this session, evaluations included, over so many seconds.
    Raises TrainingInterrupted after Ctrl-C, TrainingFailed when loss or gradient are no longer finite; the run's folder
    then holds a state to resume from.
    """
    keep_freed_memory()
    config, task = run.config.training, run.task
    deadline = time.monotonic() + (max_seconds if max_seconds is not None else float("inf"))
    with (
        Interruption() as interruption,
        limited_blas(run.config),
        np.errstate(all="ignore"),  # what overflows is found and named below
        Workers(config.workers, config.accumulate) as workers,
        ExitStack() as opened,
    ):
        saved = run.load_last()
        model = Transformer(run.config.model, rng=config.seed)
        parameters = model.parameters()
        schedule = learning_rate(config, run.config.model.d_model)
        optimizer = mg.optim.Adam(parameters, lr=schedule, betas=(0.9, 0.98), eps=1e-9)
        average = average_of(model, config)
        state = saved.restore(model, average, optimizer) if saved else TrainingState()
        remove_leftovers(run.path)
        save_config(run.config, run.config_file)  # it may ask for more steps than before; now it is known to fit
        judged = Transformer(run.config.model)
        validation = validation_pairs(task, config.validation_size)
        metrics = opened.enter_context(MetricsTable(run.metrics_file, state.step))
        opened.enter_context(closing(progress)).start(task.name, state.step, config.steps)

        while state.step < config.steps:
            cpu_start, wall_start = time.process_time(), time.perf_counter()
            step = state.step + 1
            batch = batch_for_step(task, config.batch_size, config.seed, step, config.window)

            loss, gradients = workers.loss_and_gradients(
                model, parameters, batch, config.label_smoothing, config.seed, step
            )
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            norm = mg.optim.clip_grad_norm(parameters, config.clip_norm)
            require_finite(run, step, {"loss": loss, "gradient": norm})
            optimizer.step()
            average.update(step)

            state = replace(
                state,
                step=step,
                cpu_seconds=state.cpu_seconds + time.process_time() - cpu_start,
                wall_seconds=state.wall_seconds + time.perf_counter() - wall_start,
            )
            row = Metrics(
                step=step,
                loss=loss,
                rate=optimizer.rate,
                gradient_norm=norm,
                tokens=batch.tokens,
                cpu_seconds=state.cpu_seconds,
                wall_seconds=state.wall_seconds,
            )

            out_of_time = time.monotonic() >= deadline
            if step % config.evaluate_every == 0 or step == config.steps or out_of_time:
                cpu_start = time.process_time()
                judged.load_state_dict(average.weights())
                largest = np.max([np.abs(parameter.data).max() for parameter in judged.parameters()])
                require_finite(run, step, {"largest weight": largest})
                score = evaluate(judged, validation, run.source_vocabulary, run.target_vocabulary)
                evaluation_cpu_seconds = state.evaluation_cpu_seconds + time.process_time() - cpu_start
                state = replace(state, evaluation_cpu_seconds=evaluation_cpu_seconds)
                row = replace(row, exact_match=score.exact_match, token_accuracy=score.token_accuracy)
                if (score.exact_match, score.token_accuracy) >= (state.best_exact_match, state.best_token_accuracy):
                    run.save_best(judged)
                    state = replace(
                        state,
                        best_step=step,
                        best_exact_match=score.exact_match,
                        best_token_accuracy=score.token_accuracy,
                    )
            metrics.append(row)
            progress.update(row)
            if row.exact_match is not None or interruption.requested:
                run.save_last(model, average, optimizer, state)
            if interruption.requested:
                raise TrainingInterrupted(step)
            if out_of_time:
                break
    return Outcome(state, stopped_early=state.step < config.steps)


def average_of(model: Transformer, config: TrainingConfig) -> Average:
    """The average of the model's weights that is judged and used."""
    if config.checkpoints:
        return CheckpointMean(model, config.checkpoints, config.evaluate_every)
    return RunningAverage(model, config.averaging)


def learning_rate(config: TrainingConfig, d_model: int) -> Callable[[int], float]:
    """The rate as a function of the step, from 1."""
    if config.schedule == "paper":
        return mg.optim.warmup(d_model, config.warmup, factor=config.peak_rate * (d_model * config.warmup) ** 0.5)
    return mg.optim.warmup_linear(config.peak_rate, config.warmup, config.steps)


def validation_pairs(task: Task, size: int) -> list[Pair]:
    """Pairs to choose the best weights by: held out, drawn as the test set is, and none of them in it."""
    tested = {pair.source for pairs in judged_splits(task).values() for pair in pairs}
    drawn = next(iter(task.test_set(2 * size, seed=VALIDATION_SEED).values()))
    return [pair for pair in drawn if pair.source not in tested][:size]


@cache
def judged_splits(task: Task) -> dict[str, list[Pair]]:
    """The task's test set, the same for every run: named splits, the one the goal is stated on first."""
    return task.test_set(task.test_size, seed=TEST_SEED)


def require_finite(run: Run, step: int, values: Mapping[str, float]) -> None:
    """Raise TrainingFailed if one of the named values of a step is infinite or not a number."""
    for name, value in values.items():
        if not np.isfinite(value):
            kept = f"{run.last_file} is kept" if run.last_file.exists() else "nothing was saved yet"
            raise TrainingFailed(
                f"the {name} is {value} at step {step:,}: training can't go on ({kept}). "
                "Try a smaller --peak-rate or a longer --warmup"
            )
