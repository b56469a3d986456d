"""Horizontal bars."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import minigrad as mg
from transformer.study.figures.picture import FONT, SERIES, nothing, picture
from transformer.study.figures.words import Label, Language, Words, number, said, width, wrapped

WIDTH, LONGEST_LABEL = 400, 170
BAR, BETWEEN, LINE = 18, 8, 15  # heights of a bar, of the space between two labels, of a line of a label
NO_NUMBER = Words("not a number", "不是数")
INFINITE = Words("infinite", "无穷大")
MINUS_INFINITE = Words("minus infinite", "负无穷大")


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0, a number behind each. groups: several bars a label, by the group's name.

    form: of the numbers, as `format` takes it. What is not finite is told in words.
    Raises ShapeError where a group has not as many numbers as there are labels.
    """

    title: Words
    labels: Sequence[Label]
    groups: Mapping[Label, Sequence[float]]
    form: str = ".3g"

    def __post_init__(self) -> None:
        for name, values in self.groups.items():
            if len(values) != len(self.labels):
                raise mg.ShapeError(
                    f"Bars: {len(values)} numbers in the group {said(name, 'en')!r} for {len(self.labels)} labels"
                )

    def svg(self, language: Language = "en") -> str:
        """The picture as SVG text."""
        names = [said(name, language) for name in self.groups]
        labels = [said(label, language) for label in self.labels]
        rows = [[float(value) for value in row] for row in zip(*self.groups.values(), strict=True)]
        if not rows:
            return nothing(self.title, language)
        scale = _scale(labels, rows, [told(value, self.form, language) for row in rows for value in row])
        legend = _legend(names)
        start = top = legend[-1].y + 14 if legend else 0.0
        bars: list[Bar] = []
        texts: list[tuple[float, float, str, str]] = []
        for label, row in zip(labels, rows, strict=True):
            lines = wrapped(label, FONT, LONGEST_LABEL)
            middle = top + max(BAR * len(row), LINE * len(lines)) / 2
            above = middle - LINE * (len(lines) - 1) / 2 + 4
            texts += [(scale.left - 8, above + LINE * n, line, "sf-end") for n, line in enumerate(lines)]
            for n, (value, name) in enumerate(zip(row, names, strict=True)):
                which = " · ".join(part for part in (label, name) if part)
                y = middle + BAR * (n - len(row) / 2) + 2
                bars.append(_bar(scale, y, value, which, told(value, self.form, language), n % len(SERIES)))
            top += 2 * (middle - top) + BETWEEN
        spoken = "; ".join(f"{bar.label}: {bar.told}" for bar in bars)
        zero = (scale.zero, start - 2, top - BETWEEN + 2)
        return picture(
            "bars.svg.jinja", self.title, language, (WIDTH, top - BETWEEN), spoken,
            bars=bars, texts=texts, legend=legend, zero=zero, thick=BAR - 4,
        )  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.svg()


class Bar(NamedTuple):
    """A bar, and the number beside its end; `kind` says on which side."""

    x: float
    y: float
    length: float
    label: str
    told: str
    told_x: float
    kind: str
    colour: int


class Entry(NamedTuple):
    """A name in the legend."""

    x: float
    y: float
    name: str
    colour: int


class Scale(NamedTuple):
    """Numbers to places: labels end at `left`, 0 is at `zero`, and 1 so many pixels right of it."""

    left: float
    zero: float
    unit: float


def told(value: float, form: str, language: Language) -> str:
    """A number, in words where it is not finite."""
    if math.isfinite(value):
        return number(value, form)
    return (NO_NUMBER if math.isnan(value) else INFINITE if value > 0 else MINUS_INFINITE).said(language)


def _scale(labels: Sequence[str], rows: Sequence[Sequence[float]], numbers: Sequence[str]) -> Scale:
    """Bars and their numbers in what the labels leave of the width."""
    left = max(width(line, FONT) for label in labels for line in wrapped(label, FONT, LONGEST_LABEL)) + 8
    room = max(width(text, FONT) for text in numbers) + 8
    finite = [value for row in rows for value in row if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    before = room if low < 0 else 0
    unit = (WIDTH - left - before - room) / ((high - low) or 1)
    return Scale(left, left + before - low * unit, unit)


def _bar(scale: Scale, y: float, value: float, label: str, text: str, colour: int) -> Bar:
    length = abs(value) * scale.unit if math.isfinite(value) else 0.0
    if value < 0:
        return Bar(scale.zero - length, y, length, label, text, scale.zero - length - 6, "sf-end", colour)
    return Bar(scale.zero, y, length, label, text, scale.zero + length + 6, "sf-start", colour)


def _legend(names: Sequence[str]) -> list[Entry]:
    """The groups' names, in lines of the picture's width; none where a lone group has no name."""
    if names == [""]:
        return []
    found, x, y = [], 0.0, 12.0
    for n, name in enumerate(names):
        wide = width(name, FONT) + 36
        if x and x + wide > WIDTH:
            x, y = 0.0, y + 18
        found.append(Entry(x, y, name, n % len(SERIES)))
        x += wide
    return found
