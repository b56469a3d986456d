"""Words that look at words, as the paper's figures 3 to 5 draw them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.study.figures.picture import BOLD, FONT, SERIES, nothing, picture
from transformer.study.figures.words import Label, Language, Words, number, said, shortened, width

Numbers = npt.NDArray[np.float64]

ROW, ACROSS, BETWEEN, LONGEST_WORD = 21, 64, 26, 90
FAINTEST = 0.01
"""A weight of less is not drawn."""


@dataclass(frozen=True)
class WordLinks:
    """The words that ask on the left, those that are looked at on the right, and lines, the stronger the weightier.

    patterns: (queries, keys), weights from 0 to 1, one panel each, by name, in a colour of its own.
    Raises ShapeError where a pattern does not fit the words.
    """

    title: Words
    queries: Sequence[Label]
    keys: Sequence[Label]
    patterns: Mapping[Label, Numbers]

    def __post_init__(self) -> None:
        words = (len(self.queries), len(self.keys))
        for name, pattern in self.patterns.items():
            if np.shape(pattern) != words:
                raise mg.ShapeError(
                    f"WordLinks: the pattern {said(name, 'en')!r} has the shape {np.shape(pattern)}; there are "
                    f"{words[0]} words that ask and {words[1]} that are looked at"
                )

    def svg(self, language: Language = "en") -> str:
        """The picture as SVG text."""
        if not (self.queries and self.keys and self.patterns):
            return nothing(self.title, language)
        asking, asked = ([said(word, language) for word in words] for words in (self.queries, self.keys))
        left, right = (max(width(_short(word), FONT) for word in words) for words in (asking, asked))
        high = 28 + ROW * max(len(asking), len(asked))
        names = [said(name, language) for name in self.patterns]
        wide = max(left + 8 + ACROSS + 8 + right, *(width(name, FONT * BOLD) for name in names))
        panels, parts = [], []
        for n, (name, pattern) in enumerate(zip(names, self.patterns.values(), strict=True)):
            weights = np.asarray(pattern, np.float64)
            start = n * (wide + BETWEEN) + left + 8
            panels.append(_panel(name, n % len(SERIES), start, asking, asked, weights))
            most = np.nan_to_num(weights).argmax(axis=1)
            strongest = [f"{word} → {asked[k]} {number(row[k], '.2f')}"
                         for word, row, k in zip(asking, weights, most, strict=True)]  # fmt: skip
            parts.append(f"{name}: {', '.join(strongest)}")
        size = len(panels) * (wide + BETWEEN) - BETWEEN, high
        return picture("links.svg.jinja", self.title, language, size, "; ".join(parts), panels=panels)

    def _repr_svg_(self) -> str:
        return self.svg()


class Line(NamedTuple):
    """From a word to a word: heights, weight, and what is told."""

    start: float
    end: float
    weight: float
    told: str


class Panel(NamedTuple):
    """One pattern: its name, colour, from where to where its lines go, words with their heights, and lines."""

    name: str
    colour: int
    left: float
    right: float
    asking: list[tuple[float, str]]
    asked: list[tuple[float, str]]
    lines: list[Line]


def _panel(name: str, colour: int, left: float, asking: Sequence[str], asked: Sequence[str], weights: Numbers) -> Panel:
    rows = max(len(asking), len(asked))
    starts, ends = _heights(len(asking), rows), _heights(len(asked), rows)
    lines = []
    for q, k in np.argwhere(weights >= FAINTEST).tolist():
        told = f"{asking[q]} → {asked[k]}: {number(weights[q, k], '.4g')}"
        lines.append(Line(starts[q], ends[k], round(float(weights[q, k]), 2), told))
    lines.sort(key=lambda line: line.weight)
    return Panel(name, colour, left, left + ACROSS, _words(starts, asking), _words(ends, asked), lines)


def _heights(count: int, rows: int) -> list[float]:
    """The middles of a column of words, which stands in the middle of so many rows."""
    return [28 + ROW * (n + (rows - count) / 2 + 0.5) for n in range(count)]


def _words(heights: Sequence[float], words: Sequence[str]) -> list[tuple[float, str]]:
    return [(y + 4, _short(word)) for y, word in zip(heights, words, strict=True)]


def _short(word: str) -> str:
    return shortened(word, FONT, LONGEST_WORD)
