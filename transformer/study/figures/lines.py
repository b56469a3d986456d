"""Curves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.study.figures.picture import FONT, SERIES, at, nothing, picture
from transformer.study.figures.words import Label, Language, Words, number, power, said, shortened, width

Numbers = npt.NDArray[np.float64]

WIDTH, HIGH = 400, 180  # of the whole, and of the plot's inside
LONGEST_NAME, APART = 110, 16
GREATEST = 1e300  # what is greater is as good as infinite
MARKED = 12  # at most so many points of a curve have a mark
DASHES = ("", "7 4", "2 4", "11 3 2 3", "4 2", "1 3 5 3")
MARKS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "M-3 -3h6v6h-6z", "M0 -4.2L4 3H-4z", "M0 -4.5L4.5 0L0 4.5L-4.5 0z",
    "M0 4.2L4 -3H-4z", "M-4 -1.3H-1.3V-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4z",
)  # fmt: skip
"""Circle, square, triangle, diamond, triangle upside down, cross."""


@dataclass(frozen=True)
class Lines:
    """Curves over x, by name: values (N,), or (R, N) of R runs: their mean, and a shadow from lowest to highest.

    uprights: places on the x axis with an upright line each, and what it says; one beyond the curves is left out.
    What is not finite, and on a logarithmic axis what is not above 0, is a gap.
    Raises ShapeError where a curve has not as many values as x.
    """

    title: Words
    x: Sequence[float]
    curves: Mapping[Label, Numbers]
    x_axis: Label = ""
    y_axis: Label = ""
    x_log: bool = False
    y_log: bool = False
    uprights: Mapping[float, Label] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in self.curves.items():
            shape = np.shape(values)
            if len(shape) not in (1, 2) or shape[-1] != len(self.x):
                raise mg.ShapeError(
                    f"Lines: the curve {said(name, 'en')!r} has the shape {shape}; for {len(self.x)} places x it is "
                    f"({len(self.x)},), or (runs, {len(self.x)})"
                )

    def svg(self, language: Language = "en") -> str:
        """The picture as SVG text."""
        runs = [(said(name, language), _visible(values, self)) for name, values in self.curves.items()]
        xs = np.where(_on_axis(np.asarray(self.x, np.float64), self.x_log), self.x, np.nan)
        seen = np.concatenate([np.where(np.isnan(xs), np.nan, each).ravel() for _, each in runs] or [xs[:0]])
        if not np.isfinite(seen).any():
            return nothing(self.title, language)
        y_low, y_high = _range(seen, self.y_log)
        named = [(tick, _tick_text(tick)) for tick in _ticks(y_low, y_high, self.y_log)]
        left = max((width(text, FONT) for _, text in named), default=0) + 10
        top = (22.0 if self.y_axis else 8.0) + APART * len(self.uprights)
        bottom = top + HIGH
        beside = _beside([name for name, _ in runs])
        right = WIDTH - beside - 8
        x_axis = Axis(*_range(xs, self.x_log, air=0.0), left, right, self.x_log)
        y_axis = Axis(y_low, y_high, bottom, top, self.y_log)
        curves = [_curve(name, n, xs, each, x_axis, y_axis) for n, (name, each) in enumerate(runs)]
        names = _at_their_ends(curves, right, top, bottom) if beside else _below(curves, bottom + 44)
        texts = [(left, 10.0, said(self.y_axis, language), "sf-quiet")] if self.y_axis else []
        uprights = _uprights(self.uprights, language, x_axis, top)
        texts += [(upright.text_x, upright.y, upright.text, "sf-quiet sf-middle") for upright in uprights]
        if self.x_axis:
            texts.append(((left + right) / 2, bottom + 36, said(self.x_axis, language), "sf-quiet sf-middle"))
        return picture(
            "lines.svg.jinja", self.title, language, (WIDTH, max([bottom + 40, *(name.y + 6 for name in names)])),
            _spoken(xs, runs),
            box=(left, top, right, bottom),
            x_ticks=_apart([(x_axis(tick), _tick_text(tick)) for tick in _ticks(x_axis.low, x_axis.high, self.x_log)]),
            y_ticks=[(y_axis(tick), text) for tick, text in named],
            curves=curves, names=names, texts=texts, uprights=uprights,
        )  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.svg()


class Axis(NamedTuple):
    """Numbers to coordinates: [low, high] to [start, end], linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def __call__(self, value: float) -> float:
        """The coordinate of a number."""
        low, high, place = self.low, self.high, value
        if self.logarithmic:
            low, high, place = math.log(low), math.log(high), math.log(value)
        return self.start + (place - low) / (high - low) * (self.end - self.start)


class Curve(NamedTuple):
    """A curve: pieces of its mean, outlines of its shadow, and its marks with what is told at each."""

    name: str
    number: int
    pieces: list[str]
    shadows: list[str]
    marks: list[tuple[float, float, str]]
    end: float

    @property
    def colour(self) -> int:
        """One of SERIES."""
        return self.number % len(SERIES)

    @property
    def dash(self) -> str:
        """Curves of one colour have different dashes, so that there are 36 looks."""
        return DASHES[(self.number + self.number // len(SERIES)) % len(DASHES)]

    @property
    def mark(self) -> str:
        """The path of its mark."""
        return MARKS[self.number % len(MARKS)]


class Upright(NamedTuple):
    """An upright line, and the middle of what it says at its upper end."""

    x: float
    y: float
    text_x: float
    text: str


class Name(NamedTuple):
    """A curve's name, behind a sample of it."""

    x: float
    y: float
    text: str
    curve: Curve


def _uprights(told: Mapping[float, Label], language: Language, axis: Axis, top: float) -> list[Upright]:
    """The lines that stand within the axis, each with a row of its own above the plot for what it says."""
    found: list[Upright] = []
    for place, label in sorted(told.items(), reverse=True):
        if axis.low <= place <= axis.high:
            text = said(label, language)
            half = width(text, FONT) / 2
            middle = max(min(axis(place), WIDTH - half), axis.start + half)
            found.append(Upright(axis(place), top - 5 - APART * len(found), middle, text))
    return found


def _visible(values: Numbers, lines: Lines) -> Numbers:
    """(R, N): what has no place on the axis is NaN."""
    runs = np.atleast_2d(np.asarray(values, np.float64))
    return np.where(_on_axis(runs, lines.y_log), runs, np.nan)


def _on_axis(values: Numbers, logarithmic: bool) -> npt.NDArray[np.bool_]:
    return (np.abs(values) < GREATEST) & ((values > 0) | (not logarithmic))


def _range(values: Numbers, logarithmic: bool, air: float = 0.05) -> tuple[float, float]:
    """The axis' ends: from 0 where the numbers come near it, and never twice the same."""
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    if logarithmic:
        return (low / 1.5, high * 1.5) if air or low == high else (low, high)
    if high - low <= 1e-9 * abs(high):  # as good as one number
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    gap = air * (high - low)
    if air and 0 <= low < 0.4 * high:
        return 0.0, high + gap
    return low - gap, high + gap


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers in [low, high], about five."""
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digits in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            found = [digit * 10.0**power for power in powers for digit in digits]
            found = [value for value in found if low <= value <= high]
            if len(found) >= 3:
                return found[:: math.ceil(len(found) / 7)]
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if rough <= unit * factor)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _tick_text(value: float) -> str:
    """1e-05 as 10⁻⁵; else four digits."""
    if value and not 1e-4 <= abs(value) < 1e6:
        exponent = math.floor(math.log10(abs(value)) + 1e-9)
        digits = number(value / 10.0**exponent, ".3g")
        return power(exponent) if digits == "1" else f"{digits}·{power(exponent)}"
    return number(value, ".4g") if abs(value) < 1e4 else number(value, ".0f")


def _apart(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Every one, every second, every third ... tick, so that their texts do not touch."""
    for every in range(1, len(ticks) + 1):
        kept = ticks[::every]
        if all(b - a > (width(s, FONT) + width(t, FONT)) / 2 + 6 for (a, s), (b, t) in pairwise(kept)):
            return kept
    return ticks


def _curve(name: str, n: int, xs: Numbers, runs: Numbers, x: Axis, y: Axis) -> Curve:
    mean = runs.sum(axis=0) / max(len(runs), 1)
    if not len(runs):
        mean = np.full(xs.shape, np.nan)
    pieces, shadows, marks = [], [], []
    points: list[tuple[float, float, float, float]] = []
    for place, value, least, most in [*zip(xs, mean, *_bounds(runs, mean), strict=True), (math.nan,) * 4]:
        if math.isfinite(place + value):
            points.append((x(place), y(value), y(least), y(most)))
            continue
        if points:
            pieces.append(_points([(a, b) for a, b, _, _ in points]))
            if len(runs) > 1:
                upper = [(a, d) for a, _, _, d in points]
                shadows.append(_points([(a, c) for a, _, c, _ in points] + upper[::-1]))
        points = []
    there = [i for i in range(len(xs)) if math.isfinite(xs[i] + mean[i])]
    for i in there[:: max(math.ceil(len(there) / MARKED), 1)]:
        marks.append((x(xs[i]), y(mean[i]), f"{name}: {number(xs[i], '.6g')} → {number(mean[i], '.6g')}"))
    end = y(mean[there[-1]]) if there else y.start
    return Curve(name, n, pieces, shadows, marks, end)


def _bounds(runs: Numbers, mean: Numbers) -> tuple[Numbers, Numbers]:
    return (runs.min(axis=0), runs.max(axis=0)) if len(runs) else (mean, mean)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{at(x)},{at(y)}" for x, y in points)


def _beside(names: Sequence[str]) -> float:
    """How much width the names take right of the plot; 0 where they had better stand below it."""
    if names == [""]:
        return 0.0
    widest = max(width(name, FONT) for name in names)
    return widest + 42 if widest <= LONGEST_NAME and len(names) * APART <= HIGH else 0.0


def _at_their_ends(curves: Sequence[Curve], x: float, top: float, bottom: float) -> list[Name]:
    """Each name as near to its curve's end as the others let it."""
    order = sorted(curves, key=lambda curve: (curve.end, curve.number))
    places: list[float] = []
    for curve in order:
        places.append(max(curve.end, places[-1] + APART if places else top + 6))
    lowest = bottom
    for n in range(len(places) - 1, -1, -1):
        places[n] = min(places[n], lowest)
        lowest = places[n] - APART
    return [Name(x + 10, y + 4, curve.name, curve) for curve, y in zip(order, places, strict=True)]


def _below(curves: Sequence[Curve], top: float) -> list[Name]:
    """The names in lines below the plot; none for a lone curve without one."""
    found, x, y = [], 0.0, top + 14
    for curve in curves:
        name = shortened(curve.name, FONT, WIDTH - 40)
        if x and x + width(name, FONT) + 32 > WIDTH:
            x, y = 0.0, y + 18
        if name:
            found.append(Name(x, y, name, curve))
        x += width(name, FONT) + 50
    return found


def _spoken(xs: Numbers, runs: Sequence[tuple[str, Numbers]]) -> str:
    """Where each curve begins and ends."""
    parts = []
    for name, values in runs:
        mean = values.sum(axis=0) / max(len(values), 1)
        there = np.flatnonzero(np.isfinite(xs + mean))
        if len(there) and len(values):
            first, last = (f"{number(xs[i], '.3g')} → {number(mean[i], '.3g')}" for i in (there[0], there[-1]))
            parts.append(f"{name}: {first}, {last}" if name else f"{first}, {last}")
    return "; ".join(parts)
