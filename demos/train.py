"""`python -m demos train TASK`: trains, judges on unseen pairs, and says what came of it."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, describe, told_plainly

if TYPE_CHECKING:
    from transformer.training.config import Changes
    from transformer.training.report import Judgement
    from transformer.training.run import Run

SUMMARY = "train the Transformer on a task, and save the run"
SETTINGS = ("steps", "schedule", "peak_rate", "warmup", "workers", "seed")  # options that are fields of TrainingConfig
SHOWN, SHOWN_MISTAKES = 6, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    from transformer.tasks import TASKS
    from transformer.training.config import SCHEDULES

    parser.add_argument("task", nargs="?", metavar="TASK", help=f"one of {', '.join(TASKS)}")
    parser.add_argument(
        "--steps", type=positive_number, metavar="N", help="training steps (default: what the task needs)"
    )
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        help="how the learning rate falls after warm-up: straight down to 0 at the end (linear, the default), "
        "or as the paper's, with the root of the step (paper)",
    )
    parser.add_argument("--peak-rate", type=positive_real, metavar="R", help="the learning rate at the end of warm-up")
    parser.add_argument("--warmup", type=positive_number, metavar="N", help="steps in which the learning rate rises")
    parser.add_argument(
        "--seed", type=whole_number, metavar="N", help="of the weights, the data and dropout (default 0)"
    )
    parser.add_argument(
        "--workers",
        type=positive_number,
        metavar="N",
        help="threads that share the work of every batch (default 1; 2 pay for models wider than the tasks' own)",
    )
    parser.add_argument(
        "--set",
        action="append",
        metavar="A.B=C",
        help="change any setting of config.toml, as in model.layers=3 or model.positions=rotary (repeatable)",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="start from a file such as a run's config.toml, not from the recipe"
    )
    parser.add_argument(
        "--out", type=Path, metavar="RUN", help="the run's folder (default runs/TASK; never overwritten)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with a run that was stopped, exactly where it was"
    )
    parser.add_argument(
        "--max-seconds", type=positive_real, metavar="S", help="stop training in good order after so many seconds"
    )


def run(options: argparse.Namespace) -> int:
    """Train a new run, or go on with an old one."""
    from transformer.tasks import TASKS

    if options.resume is not None:
        return learn(resumed(options), options.max_seconds)
    task, of_file = from_file(options)
    if task is None:
        raise UserError(f"which task? {', '.join(TASKS)} (as in: python -m demos train translate)")
    with new_run(task, options.out, of_file, of_options(options)) as made:
        return learn(made, options.max_seconds)


def from_file(options: argparse.Namespace) -> "tuple[str | None, Changes]":
    """The task, and what --config changes of its recipe."""
    from transformer.training.changes import read_changes

    if options.config is None:
        return options.task, {}
    with told_plainly(ValueError):
        task, changes = read_changes(options.config)
    if options.task is not None and task not in (None, options.task):
        raise UserError(f"{options.config} is of the task {task}, not {options.task}")
    return options.task or task, changes


def of_options(options: argparse.Namespace) -> "Changes":
    """What --set and the options beside it change."""
    from transformer.training.changes import parse_changes

    with told_plainly(ValueError):
        changes = parse_changes(options.set or ())
    chosen = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    for name in chosen:
        if name in changes.get("training", {}):
            raise UserError(f"--{name.replace('_', '-')} and --set training.{name} are the same setting: leave one out")
    return {**changes, "training": {**changes.get("training", {}), **chosen}}


@contextmanager
def new_run(task_name: str, out: Path | None, *changes: "Changes") -> "Iterator[Run]":
    """Make the folder of a new run; it is gone at the end if not even one step was made.

    changes: what is to differ from the task's recipe, one after another.
    """
    from transformer.tasks import get_task
    from transformer.training.config import configure
    from transformer.training.run import RUNS, create_run, free_path

    with told_plainly(ValueError):
        task = get_task(task_name)
        config = configure(task, *changes)
        path = out if out is not None else free_path(task.name)
        made = create_run(path, config, task)
    try:
        if out is None and path != RUNS / task.name:
            print(f"{RUNS / task.name} exists and is kept: this run goes to {path}.")
        yield made
    finally:
        made.discard_if_unused()


def resumed(options: argparse.Namespace) -> "Run":
    """Open the run to go on with; only its number of steps may change."""
    from minigrad.errors import MinigradError
    from transformer.training.run import open_run

    for name in ("out", "schedule", "peak_rate", "warmup", "workers", "set", "config"):
        if getattr(options, name) is not None:
            raise UserError(
                f"--{name.replace('_', '-')} can't change a run that is resumed: leave it out, or start a new run"
            )
    with told_plainly(ValueError, MinigradError):
        opened = open_run(options.resume)
        saved = opened.load_last()
    config = opened.config
    if options.task not in (None, config.task):
        raise UserError(f"{options.resume} is a run of {config.task}, not of {options.task}")
    if options.seed not in (None, config.training.seed):
        raise UserError(f"{options.resume} was started with --seed {config.training.seed}; a run keeps its seed")
    if options.steps is not None and options.steps != config.training.steps:
        if saved and options.steps < saved.state.step:
            raise UserError(f"{options.resume} has made {saved.state.step:,} steps already: --steps can't be fewer")
        warmup = min(config.training.warmup, options.steps)
        config = replace(config, training=replace(config.training, steps=options.steps, warmup=warmup))
        opened = replace(opened, config=config)
    return opened


def learn(run: "Run", max_seconds: float | None) -> int:
    """Train `run` to its end, judge it and tell; the exit status."""
    from minigrad.errors import MinigradError
    from transformer.training.errors import RunError, TrainingFailed, TrainingInterrupted
    from transformer.training.loop import train
    from transformer.training.progress import progress_on
    from transformer.training.report import judge, write_curve

    to_go_on = f"To go on: {resume_command(run.path)}"
    unusable = RunError, MinigradError, ImportError  # the last, where the task dates has no Babel
    with told_plainly(*unusable), told_plainly(TrainingFailed, MemoryError, OSError, status=1):
        try:
            outcome = train(run, progress_on(sys.stdout), max_seconds)
            judgement = judge(run, outcome)
        except BrokenPipeError:
            raise
        except OSError as error:
            if not run.last_file.exists():
                raise
            told = f"{describe(error)}. What was saved before is kept. When there is room and leave to write"
            raise UserError(f"{told}, go on: {resume_command(run.path)}", 1) from error
        except TrainingInterrupted as interruption:
            write_curve(run)
            print(f"{interruption}; saved. {to_go_on}")
            return 130
        except KeyboardInterrupt:  # outside the steps: what was saved before it stands
            if not run.last_file.exists():
                raise
            print(f"interrupted; the run is saved. {to_go_on}")
            return 130
    if outcome.stopped_early:
        told = f"step {outcome.state.step:,} of {run.config.training.steps:,}"
        print(f"Time is up: stopped early, after {told}. {to_go_on}")
    tell(run, judgement)
    return 0


def resume_command(path: Path) -> str:
    """The command line that goes on with a run."""
    return f"python -m demos train --resume {path}"


def tell(run: "Run", judgement: "Judgement") -> None:
    """Print what was reached beside the goal, what the model writes, where the run is and what to try."""
    from transformer.tasks import TASKS
    from transformer.training.report import shown_target

    report, task = judgement.report, run.task
    print(f"\n{run.config.task}: {report['parameters']:,} parameters, {report['steps']:,} steps, seed {report['seed']}")
    for place, (name, score) in enumerate(judgement.scores.items()):
        told = [f"exact match {score.exact_match:.2%} of {score.size:,} unseen ({name})"]
        if place == 0:
            told.append(f"goal {task.goal:.1%} {'reached' if score.exact_match >= task.goal else 'missed'}")
            told.append(f"{report['cpu_seconds']:.1f} CPU s of {task.budget:g}")
        print("  " + "; ".join(told))
    print(f"  {task.example}  ->  {shown_target(task, judgement.example)}\n")
    show_samples(run, judgement)
    print(f"\nsaved in {run.path} (the report, samples.txt, and curve.svg for your browser)\ntry next:")
    print(f'  python -m demos translate "{task.example}" --run {run.path}')
    print(f"  python -m demos evaluate {run.path}")
    print(f"  python -m demos study --run {run.path}")
    for following in list(TASKS)[list(TASKS).index(task.name) + 1 :][:1]:
        print(f"  python -m demos train {following}")
    print("  python -m demos graph --out drawings")


def show_samples(run: "Run", judgement: "Judgement") -> None:
    """The first answers to unseen pairs, and the first mistakes, as a table."""
    from demos.terminal.tables import print_table
    from transformer.training.report import shown

    score = next(iter(judgement.scores.values()))
    chosen = [
        *score.answers[:SHOWN],
        *[answer for answer in score.answers[SHOWN:] if not answer.right][:SHOWN_MISTAKES],
    ]
    rows = [(*shown(run.task, answer), "" if answer.right else "wrong") for answer in chosen]
    print_table(("reads", "writes", "right is", ""), rows, ("", "bold", "", "red"))
