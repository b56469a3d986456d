"""`python -m demos evaluate RUN`: how well a saved run does, on its own test set or on a file of pairs."""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demos.evaluating.reading import read_pairs
from demos.evaluating.telling import columns, tell_lengths, tell_mistakes, tell_splits, write_answers
from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer import Transformer
    from transformer.evaluation import Score
    from transformer.tasks import Pair, Task
    from transformer.training.run import Run

SUMMARY = "score a saved run on unseen pairs, or on a file of your own"
BLOCK = 256  # sources between two looks at the clock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="the folder that `train` saved")
    parser.add_argument(
        "--file", type=Path, metavar="PAIRS.tsv",
        help="UTF-8 lines of source<TAB>target to score instead; all targets of one source are right",
    )  # fmt: skip
    parser.add_argument("--by-length", action="store_true", help="also the scores by length of the source")
    parser.add_argument("--bleu", action="store_true", help="also BLEU and chrF (needs pip install '.[data]')")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write every answer here: source, written, right")
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="which test pairs are drawn (default 0)"
    )
    parser.add_argument(
        "--beam", type=positive_number, default=1, metavar="N", help="write by beam search of N (default 1: greedy)"
    )
    parser.add_argument(
        "--max-seconds", type=positive_real, metavar="S", help="score only what can be in so many seconds"
    )


def run(options: argparse.Namespace) -> int:
    """Score, and print the result."""
    from minigrad.errors import MinigradError
    from transformer.training.run import open_run

    if options.bleu:
        require_sacrebleu()
    with told_plainly(ValueError, MinigradError, MemoryError):
        opened = open_run(options.run_folder)
        model = opened.load_model()
    if options.out is not None:
        if options.out.exists():
            raise UserError(f"{options.out} exists: pick another --out")
        if not options.out.parent.is_dir():
            raise UserError(f"{options.out}: {options.out.parent} is no folder")
    if options.file is not None:
        splits: Mapping[str, Sequence[Pair]] = {str(options.file): read_pairs(options.file, opened)}
    else:
        splits = unseen_pairs(opened.task, options.seed)
    scores = score_in_time(opened, model, splits, options.max_seconds, options.beam)
    told = columns(opened.task, scores, options.bleu)
    tell_splits(f"{opened.path} on", scores, told)
    if options.by_length:
        tell_lengths(scores, told)
    tell_mistakes(opened.task, scores)
    if options.out is not None:
        write_answers(options.out, opened.task, scores)
    return 0


def require_sacrebleu() -> None:
    """Before the model writes for minutes: raises UserError if BLEU can't be had."""
    from transformer.evaluation import load_sacrebleu

    with told_plainly(ImportError):
        load_sacrebleu()


def unseen_pairs(task: "Task", seed: int) -> dict[str, list["Pair"]]:
    """The test set of the task by split; seed 0 draws the one that every report is about."""
    with told_plainly(ImportError):  # the task dates wants Babel
        return task.test_set(task.test_size, seed=seed)


def score_in_time(
    opened: "Run", model: "Transformer", splits: Mapping[str, Sequence["Pair"]], max_seconds: float | None, beam: int
) -> dict[str, "Score"]:
    """The score of each split, every source once; what could not be reached in time is left out, and said so."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from transformer.evaluation import ask, questions

    deadline = time.monotonic() + (max_seconds or float("inf"))
    scores: dict[str, Score] = {}
    broken = np.errstate(over="raise", invalid="raise")  # what weights that are too great lead to
    with threadpool_limits(1, user_api="blas"), told_plainly(FloatingPointError), broken:
        for name, pairs in splits.items():
            asked = questions(pairs)
            for start in range(0, len(asked), BLOCK):
                if scores and time.monotonic() >= deadline:
                    print(f"time is up: {len(asked) - start:,} of {len(asked):,} sources of {name} were not scored")
                    break
                block = asked[start : start + BLOCK]
                score = ask(model, block, opened.source_vocabulary, opened.target_vocabulary, beam=beam)
                scores[name] = scores[name] + score if name in scores else score
    return scores
