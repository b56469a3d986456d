"""A trained run to translate with: the one that is there, or a new one; and sentences as it reads them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, redirect_stdout, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from demos.problems import UserError

if TYPE_CHECKING:
    from transformer.tasks import Task
    from transformer.training.run import Run

TASK = "translate"


def worth_a_training(sentences: Iterable[str], none_given: str) -> Iterator[str]:
    """The same sentences, read as far as the first that can be translated. Raises UserError if there is none.

    none_given: what to say where there is not even a sentence.
    """
    from transformer.tasks import get_task

    seen, complaint, coming = list[str](), UserError(none_given), iter(sentences)
    for sentence in coming:
        seen.append(sentence)
        try:
            split(get_task(TASK), sentence)
        except UserError as error:
            complaint = error
        else:
            return chain(seen, coming)
    raise complaint


def train_first(out: Path | None, seed: int | None, max_seconds: float | None, quiet: bool = False) -> tuple[Path, int]:
    """The folder of a run that is trained now, and the exit status if that failed.

    out: the folder, None for the next that is free. quiet: to tell of it on standard error alone.
    """
    from demos.train import learn, new_run, resume_command
    from transformer.training.run import runs_of

    stopped = runs_of(TASK)[:1] if out is None else []
    with (
        redirect_stdout(sys.stderr) if quiet else nullcontext(),  # where only translations may be
        new_run(TASK, out, {"training": {} if seed is None else {"seed": seed}}) as made,
    ):
        print(f"There is no trained run yet: training one first, into {made.path} (a minute or two).")
        for path in stopped:
            print(f"{path} was stopped before it could be used. To go on with it instead: {resume_command(path)}")
        return made.path, learn(made, max_seconds)


def shortfall(opened: "Run") -> str | None:
    """What to know of a run that has not come to its end, or has missed its goal; None if there is nothing."""
    from demos.train import resume_command
    from minigrad.errors import MinigradError
    from transformer.training.run import read_report

    report, goal = read_report(opened.path), opened.task.goal
    if report is not None:
        missed = f"{opened.path} is right on {report['exact_match']:.1%} of unseen pairs only; the goal is {goal:.1%}"
        return missed if report["exact_match"] < goal else None
    stands = ""
    with suppress(ValueError, MinigradError):
        if saved := opened.load_last():
            step, exact = f"step {saved.state.step:,} of {opened.config.training.steps:,}", saved.state.best_exact_match
            stands = f" ({step}, exact match {exact:.1%})"
    return f"{opened.path} is not trained to its end{stands}. To go on: {resume_command(opened.path)}"


def unquoted(sentences: list[str]) -> list[str]:
    """The sentences of a command line: several words, none with a space in it, are one that was given unquoted."""
    alone = len(sentences) > 1 and not any(" " in sentence.strip() for sentence in sentences)
    return [" ".join(sentences)] if alone else sentences


def split(task: "Task", sentence: str) -> list[str]:
    """The tokens of a sentence. Raises UserError for an empty sentence and one too long."""
    tokens = task.tokenize_source(sentence)
    if not tokens:
        raise UserError("an empty sentence can't be translated" if not sentence.strip() else f"no word in {sentence!r}")
    longest = task.max_source_length
    if len(tokens) > longest:
        raise UserError(f"too long: {len(tokens)} words and signs, and the longest this model has learnt is {longest}")
    return tokens


def warn(message: str) -> None:
    """A line on standard error, after what was printed before it."""
    sys.stdout.flush()
    print(f"warning: {message}", file=sys.stderr)
