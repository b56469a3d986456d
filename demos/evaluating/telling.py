"""The scores of a run, in tables for people and in a file of answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from demos.problems import told_plainly

if TYPE_CHECKING:
    from transformer.evaluation import Answer, Score, TextScore
    from transformer.tasks import Task

SHOWN_MISTAKES = 10
SHOWN_TARGETS = 3
SHOWN_LENGTHS = 20
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 1000)  # of a row by length, in words
STYLES = ("", "green", "", "", "")


@dataclass(frozen=True)
class Columns:
    """What a table says of a score: the number of sources, the shares that are right, and maybe BLEU and chrF.

    render: tokens as text. tokenizer: what BLEU finds words by, None to leave BLEU and chrF out.
    """

    render: Callable[[Sequence[str]], str]
    tokenizer: str | None

    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("sources", "exact match", "tokens right", *(("BLEU", "chrF2") if self.tokenizer else ()))

    def cells(self, score: "Score", texts: Sequence["TextScore"]) -> tuple[str, ...]:
        """A row; "-" where a score is not defined. texts: what `text_scores` gave."""
        shares = (f"{score.size:,}", f"{score.exact_match:.2%}", f"{score.token_accuracy:.2%}")
        return (*shares, *("-" if text.value is None else f"{text.value:.1f}" for text in texts))

    def text_scores(self, score: "Score") -> tuple["TextScore", ...]:
        """BLEU and chrF, where they are wanted."""
        from transformer.evaluation import bleu, chrf

        return (bleu(score, self.render, self.tokenizer), chrf(score, self.render)) if self.tokenizer else ()


def columns(task: "Task", scores: Mapping[str, "Score"], text: bool) -> Columns:
    """The columns for these scores: all splits find words alike, so that their BLEU can be compared."""
    from transformer.evaluation import tokenizer_for

    whole = reduce(add, scores.values())
    return Columns(task.render_target, tokenizer_for(whole, task.render_target) if text else None)


def tell_splits(title: str, scores: Mapping[str, "Score"], told: Columns) -> None:
    """Print the score of each split, and what is needed to read it."""
    from demos.terminal.tables import print_table

    texts = {name: told.text_scores(score) for name, score in scores.items()}
    rows = [(name, *told.cells(score, texts[name])) for name, score in scores.items()]
    print_table((title, *told.header()), rows, ("bold", *STYLES))
    several = sum(len(answer.references) > 1 for score in scores.values() for answer in score.answers)
    if several:
        print(f"{several:,} source{'s have' if several > 1 else ' has'} several right targets: any of them is right")
    for signature in dict.fromkeys(f"{text.name}|{text.signature}" for of_split in texts.values() for text in of_split):
        print(signature)


def tell_lengths(scores: Mapping[str, "Score"], told: Columns) -> None:
    """Print the score at each length of the source; of several lengths together where there are many."""
    from demos.terminal.tables import print_table

    print()
    longest = max(len(answer.source) for score in scores.values() for answer in score.answers)
    width = next((width for width in WIDTHS if longest <= width * SHOWN_LENGTHS), WIDTHS[-1])
    rows = [
        (name if place == 0 else "", span(lengths), *told.cells(part, told.text_scores(part)))
        for name, score in scores.items()
        for place, (lengths, part) in enumerate(score.by_length(width).items())
    ]
    print_table(("by length of source", "words", *told.header()), rows, ("bold", "", *STYLES))


def span(lengths: range) -> str:
    """The lengths of a row: "7", "11-15"."""
    return f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]}-{lengths[-1]}"


def tell_mistakes(task: "Task", scores: Mapping[str, "Score"]) -> None:
    """Print the first mistakes, if there are any."""
    from demos.terminal.tables import print_table

    mistakes = [answer for score in scores.values() for answer in score.mistakes]
    if mistakes:
        print(
            f"\n{len(mistakes):,} mistake{'s' if len(mistakes) > 1 else ''}"
            + (f", the first {SHOWN_MISTAKES}:" if len(mistakes) > SHOWN_MISTAKES else ":")
        )
        rows = [mistake(task, answer) for answer in mistakes[:SHOWN_MISTAKES]]
        print_table(("reads", "writes", "right is"), rows, ("", "bold", ""))


def mistake(task: "Task", answer: "Answer") -> tuple[str, str, str]:
    """What was read, what was written, and what is right, of several targets the first few."""
    read, written, *right = line(task, answer)
    more = f" and {len(right) - SHOWN_TARGETS} more" if len(right) > SHOWN_TARGETS else ""
    return read, written, " / ".join(right[:SHOWN_TARGETS]) + more


def write_answers(path: Path, task: "Task", scores: Mapping[str, "Score"]) -> None:
    """Every answer as a line of TSV."""
    from minigrad.atomic import write_atomically

    lines = ["\t".join(line(task, answer)) + "\n" for score in scores.values() for answer in score.answers]
    with told_plainly(OSError):
        write_atomically(path, "".join(["source\twritten\tright\n", *lines]).encode())


def line(task: "Task", answer: "Answer") -> Iterator[str]:
    """What was read, what was written, and each right target, as the task writes them for people."""
    from transformer.training.report import shown

    yield from shown(task, answer)
    yield from map(task.render_target, answer.others)
