"""`python -m demos evaluate RUN`: how well a saved run does, on its own test set or on a file of pairs."""

import argparse
import sys
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer import Transformer
    from transformer.evaluation import Score
    from transformer.tasks import Pair, Task
    from transformer.training.run import Run
    from transformer.vocabulary import Vocabulary

SUMMARY = "score a saved run on unseen pairs, or on a file of your own"
BLOCK = 256  # pairs between two looks at the clock
SHOWN_MISTAKES = 10
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))  # of no width: they only look like nothing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="the folder that `train` saved")
    parser.add_argument(
        "--file", type=Path, metavar="PAIRS.tsv", help="UTF-8 lines of source<TAB>target to score instead"
    )
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
    tell(opened, scores)
    if options.out is not None:
        write_answers(options.out, opened.task, scores)
    return 0


def unseen_pairs(task: "Task", seed: int) -> dict[str, list["Pair"]]:
    """The test set of the task by split; seed 0 draws the one that every report is about."""
    return task.test_set(task.test_size, seed=seed)


def score_in_time(
    opened: "Run", model: "Transformer", splits: Mapping[str, Sequence["Pair"]], max_seconds: float | None, beam: int
) -> dict[str, "Score"]:
    """The score of each split; what could not be reached in time is left out, and said so."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from transformer.evaluation import evaluate

    deadline = time.monotonic() + (max_seconds or float("inf"))
    scores: dict[str, Score] = {}
    broken = np.errstate(over="raise", invalid="raise")  # what weights that are too great lead to
    with threadpool_limits(1, user_api="blas"), told_plainly(FloatingPointError), broken:
        for name, pairs in splits.items():
            for start in range(0, len(pairs), BLOCK):
                if scores and time.monotonic() >= deadline:
                    print(f"time is up: {len(pairs) - start:,} of {len(pairs):,} pairs of {name} were not scored")
                    break
                block = pairs[start : start + BLOCK]
                score = evaluate(model, block, opened.source_vocabulary, opened.target_vocabulary, beam=beam)
                scores[name] = scores[name] + score if name in scores else score
    return scores


def tell(opened: "Run", scores: Mapping[str, "Score"]) -> None:
    """Print the scores and the first mistakes."""
    from demos.terminal.tables import print_table
    from transformer.training.report import shown

    rows = [
        (name, f"{score.size:,}", f"{score.exact_match:.2%}", f"{score.token_accuracy:.2%}")
        for name, score in scores.items()
    ]
    print_table((f"{opened.path} on", "pairs", "exact match", "tokens right"), rows, ("bold", "", "green", ""))
    mistakes = [answer for score in scores.values() for answer in score.mistakes]
    if mistakes:
        print(
            f"\n{len(mistakes):,} mistake{'s' if len(mistakes) > 1 else ''}"
            + (f", the first {SHOWN_MISTAKES}:" if len(mistakes) > SHOWN_MISTAKES else ":")
        )
        rows3 = [shown(opened.task, answer) for answer in mistakes[:SHOWN_MISTAKES]]
        print_table(("reads", "writes", "right is"), rows3, ("", "bold", ""))


def write_answers(path: Path, task: "Task", scores: Mapping[str, "Score"]) -> None:
    """Every answer as a line of TSV."""
    from minigrad.atomic import write_atomically
    from transformer.training.report import shown

    lines = ["source\twritten\tright\n"]
    for score in scores.values():
        lines += ["\t".join(shown(task, answer)) + "\n" for answer in score.answers]
    with told_plainly(OSError):
        write_atomically(path, "".join(lines).encode())


def read_pairs(path: Path, opened: "Run") -> list["Pair"]:
    """The pairs of a UTF-8 file of `source<TAB>target` lines; a third column, as some collections have, is left out.

    Blank lines are skipped. Raises UserError that names the first line that can't be used, and why.
    """
    with told_plainly(OSError):
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {number}: not UTF-8 text") from None
    pairs, unknown = [], dict[str, None]()
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                pair = read_pair(line, opened)
            except UserError as error:
                raise UserError(f"{path}, line {number}: {error}") from None
            pairs.append(pair)
            unknown |= dict.fromkeys(opened.source_vocabulary.unknown(pair.source))
            unknown |= dict.fromkeys(opened.target_vocabulary.unknown(pair.target))
    if not pairs:
        raise UserError(f"{path}: there is no line of source<TAB>target in it")
    if unknown:
        named = ", ".join(list(unknown)[:10]) + (f" and {len(unknown) - 10} more" if len(unknown) > 10 else "")
        print(f"warning: not in the vocabulary, so never right: {named}", file=sys.stderr)
    return pairs


def read_pair(line: str, opened: "Run") -> "Pair":
    """The tokens of one line. Raises UserError that says what is wrong with it."""
    from transformer.tasks import Pair

    if "\0" in line:
        raise UserError("holds a NUL: is this UTF-16? Save it as UTF-8")
    parts = unicodedata.normalize("NFC", line).translate(INVISIBLE).split("\t")
    if len(parts) < 2:
        raise UserError("no tab between source and target")
    source = opened.task.tokenize_source(parts[0])
    target = split_into_words(parts[1], opened.target_vocabulary)
    for name, tokens, longest in (
        ("source", source, opened.task.max_source_length),
        ("target", target, opened.task.max_target_length),
    ):
        if not tokens:
            raise UserError(f"the {name} is empty")
        if len(tokens) > longest:
            raise UserError(f"the {name} has {len(tokens)} tokens, and the longest this model has learnt is {longest}")
    return Pair(tuple(source), tuple(target))


def split_into_words(text: str, vocabulary: "Vocabulary") -> list[str]:
    """The words of the vocabulary that `text` is made of, the longest first; a sign that starts none stands alone."""
    longest = max(map(len, vocabulary.tokens))
    words, place = [], 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        sizes = range(min(longest, len(text) - place), 1, -1)
        size = next((size for size in sizes if text[place : place + size] in vocabulary), 1)
        words.append(text[place : place + size])
        place += size
    return words
