"""How a sentence was written, token by token, as a table of the probabilities that each token was chosen from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from demos.terminal.tables import bar, percent, print_table, terminal_width
from transformer.vocabulary import EOS, Vocabulary

TOP = 4
NARROWEST_BAR, WIDEST_BAR = 3, 10
END = "(end)"


@dataclass(frozen=True)
class Choice:
    """One step: the token that was written, the most probable ones, and what is left for all others together."""

    written: str
    likeliest: tuple[tuple[str, float], ...]
    other: float


def choices(steps: Iterable[tuple[int, NDArray[np.float64]]], vocabulary: Vocabulary) -> list[Choice]:
    """What `next_token_probabilities` yields, (chosen id, (V,) probabilities) a step, in words."""

    def word(number: int) -> str:
        return END if number == EOS else vocabulary.tokens[number]

    told = []
    for chosen, probabilities in steps:
        order = np.argsort(-probabilities, kind="stable")[:TOP]
        likeliest = tuple((word(int(number)), float(probabilities[number])) for number in order)
        other = max(0.0, 1.0 - sum(share for _, share in likeliest))
        told.append(Choice(word(chosen), likeliest, other))
    return told


def print_choices(steps: Sequence[Choice]) -> None:
    """Print a row a token: it, then the four likeliest next tokens and all others, each with its bar."""
    words = max(wide(word) for step in steps for word, _ in step.likeliest)
    fixed = max(wide(step.written) for step in steps) + 2 + (TOP + 1) * (len("99.9%") + 3) + TOP * (words + 1)
    cells = min(max((terminal_width() - fixed) // (TOP + 1), NARROWEST_BAR), WIDEST_BAR)
    header = ["", *("next: likeliest", "second", "third", "fourth")[:TOP], "any other"]
    rows = []
    for step in steps:
        shares = [f"{pad(word, words)} {bar(share, cells)} {percent(share)}" for word, share in step.likeliest]
        rows.append([step.written, *shares, f"{bar(step.other, cells)} {percent(step.other)}"])
    print_table(header, rows, ["bold", "green", *["blue"] * (TOP - 1), "dim"])


def wide(text: str) -> int:
    """The terminal cells that `text` takes: a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int) -> str:
    """`text` with spaces up to so many cells."""
    return text + " " * (width - wide(text))
