"""A heat map."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.study.figures.picture import FONT, LINE, NARROWEST, STEPS, at, level, nothing, picture
from transformer.study.figures.words import Label, Language, Words, number, power, said, shortened, width

Numbers = npt.NDArray[np.float64]

MOST_TEXTS = 1024  # a grid of more cells is drawn in runs of one colour, and tells no cell's number
LONGEST_LABEL = 130
SIDE, SMALLEST, ALL = 22, 5, 620  # a cell's side where no number is in it: at most, at least, and of all cells together
HATCH = 6
MASKED = Words("masked", "被遮住")
CELLS = Words("in cells", "格内")
ALL_ZERO = Words("all exactly 0", "全部恰好是 0")


@dataclass(frozen=True)
class Grid:
    """A heat map: numbers (R, C), rows from top to bottom; 0 is white, blue above it, orange below.

    hidden: (R, C) booleans, cells that are masked: hatched. digits: behind the point of the number written into each
    cell, all as multiples of one power of ten, which stands below; None: no numbers. An exact 0 is written "0".
    Raises ShapeError where the labels are not as many as the numbers.
    """

    title: Words
    rows: Sequence[Label]
    columns: Sequence[Label]
    values: Numbers
    hidden: npt.NDArray[np.bool_] | None = None
    digits: int | None = 2
    row_axis: Label = ""
    column_axis: Label = ""

    def __post_init__(self) -> None:
        labels = (len(self.rows), len(self.columns))
        for name, array in (("values", self.values), ("hidden", self.hidden)):
            if array is not None and np.shape(array) != labels:
                raise mg.ShapeError(
                    f"Grid: {name} of shape {np.shape(array)} for {labels[0]} rows and {labels[1]} columns"
                )

    def svg(self, language: Language = "en") -> str:
        """The picture as SVG text."""
        return _Drawn(self, language).svg() if np.size(self.values) else nothing(self.title, language)

    def _repr_svg_(self) -> str:
        return self.svg()


class Text(NamedTuple):
    """A text in the picture. turned: by so many degrees, around its beginning."""

    x: float
    y: float
    text: str
    kind: str = ""
    turned: int = 0

    def end(self) -> float:
        """Where it ends at the right, at most."""
        if self.kind.startswith("end") or self.turned == -90:
            return self.x
        return self.x + width(self.text, FONT) * (0.71 if self.turned else 1)


class Cell(NamedTuple):
    """A cell: its colour, whole number with labels, and what is written into it."""

    x: float
    y: float
    level: int | str
    told: str
    text: str


class _Drawn:
    """Where everything stands. The origin is the left end of what stands below the title."""

    def __init__(self, grid: Grid, language: Language) -> None:
        self.grid, self.language = grid, language
        self.values = np.asarray(grid.values, np.float64)
        self.hidden = np.zeros(self.values.shape, bool) if grid.hidden is None else np.asarray(grid.hidden, bool)
        self.rows = [said(label, language) for label in grid.rows]
        self.columns = [said(label, language) for label in grid.columns]
        shown = self.values[~self.hidden & np.isfinite(self.values)]
        self.greatest = float(np.abs(shown).max(initial=0))
        self.signed = bool((shown < 0).any())
        self.exponent = self._exponent()
        self.width, self.height = self._cell()
        self.row_axis = f"{said(grid.row_axis, language)} ↓" if grid.row_axis else ""
        self.column_axis = f"{said(grid.column_axis, language)} →" if grid.column_axis else ""
        self.left = max((width(text, FONT) for text in [*self._short(self.rows), self.row_axis]), default=0) + 8
        self.step, self.turned = self._turn()
        self.top = self._head() + (18 if self.column_axis else 4)
        self.right = self.left + self.width * len(self.columns)
        self.bottom = self.top + self.height * len(self.rows)

    def svg(self) -> str:
        texts = [*self._row_labels(), *self._column_labels()]
        legend, swatches, swatch = self._legend()
        told = self.values.size <= MOST_TEXTS or self.grid.digits is not None
        levels = [level(value, self.greatest) for value in self.values[~self.hidden]]
        return picture(
            "grid.svg.jinja",
            self.grid.title,
            self.language,
            (max([self.right, *(t.end() for t in [*texts, *legend])]), max([self.bottom, *(t.y for t in legend)]) + 8),
            self._spoken(),
            [*levels, *self._scale()],
            texts=[*texts, *legend],
            cells=list(self._cells()) if told else [],
            runs=[] if told else list(self._runs()),
            swatches=swatches,
            hatches=self._hatches() + swatch,
            cell=(self.width, self.height),
            origin=(self.left, self.top),
        )

    def _scale(self) -> range:
        """The levels that the legend shows."""
        return range(-STEPS if self.signed else 0, STEPS + 1, 4)

    def _exponent(self) -> int:
        """Of the power of ten that the written numbers are multiples of."""
        if self.grid.digits is None or not self.greatest or 0.1 <= self.greatest < 1000:
            return 0
        return max(math.floor(math.log10(self.greatest)), -300)

    def _written(self, value: float) -> str:
        if self.grid.digits is None:
            return ""
        if value == 0:
            return "0"
        if not math.isfinite(value):
            return number(value, "g")
        return number(value / 10.0**self.exponent, f".{self.grid.digits}f")

    def _cell(self) -> tuple[int, int]:
        if self.grid.digits is None:
            side = min(max(ALL // max(*self.values.shape, 1), SMALLEST), SIDE)
            return side, side
        widest = max((width(self._written(v), FONT - 1) for v in self.values[~self.hidden].ravel()), default=0)
        return max(math.ceil(widest) + 8, 30), 24

    def _turn(self) -> tuple[int, int]:
        """Every how-manieth column has its label, and how far these are turned so that they do not touch."""
        step = max(math.ceil(12 / self.width), 1)
        widest = max((width(text, FONT) for text in self._short(self.columns)), default=0)
        if widest + 6 <= self.width * step:
            return step, 0
        return step, -45 if self.width * step >= 18 else -90

    def _head(self) -> float:
        """How much height the columns' labels need."""
        widest = max((width(text, FONT) for text in self._short(self.columns)), default=0)
        return 16 if not self.turned else widest + 8 if self.turned == -90 else 0.71 * widest + 18

    @staticmethod
    def _short(labels: Sequence[str]) -> list[str]:
        return [shortened(label, FONT, LONGEST_LABEL) for label in labels]

    def _row_labels(self) -> Iterator[Text]:
        every = max(math.ceil(12 / self.height), 1)
        for n, label in list(enumerate(self._short(self.rows)))[::every]:
            yield Text(self.left - 8, self.top + self.height * (n + 0.5) + 4, label, "end")
        if self.row_axis:
            yield Text(self.left - 8, self.top - 6, self.row_axis, "end sf-quiet")

    def _column_labels(self) -> Iterator[Text]:
        for n, label in list(enumerate(self._short(self.columns)))[:: self.step]:
            x = self.left + self.width * (n + 0.5)
            if self.turned:
                yield Text(x + 4, self.top - 5, label, turned=self.turned)
            else:
                yield Text(x - width(label, FONT) / 2 if self.step > 1 else x, self.top - 5, label,
                           "" if self.step > 1 else "middle")  # fmt: skip
        if self.column_axis:
            yield Text(self.left, 10, self.column_axis, "quiet")

    def _cells(self) -> Iterator[Cell]:
        for (r, c), value in np.ndenumerate(self.values):
            labels = " · ".join(label for label in (self.rows[r], self.columns[c]) if label)
            hidden = bool(self.hidden[r, c])
            told = number(value, ".6g") + (f" ({MASKED.said(self.language)})" if hidden else "")
            yield Cell(
                self.left + self.width * c,
                self.top + self.height * r,
                "hidden" if hidden else f"h{level(value, self.greatest)}",
                f"{labels}: {told}" if labels else told,
                "" if hidden else self._written(value),
            )

    def _runs(self) -> Iterator[tuple[str, str]]:
        """(colour, path) of all cells of one colour, in units of a cell: neighbours in a row in one stroke."""
        paths: dict[str, list[str]] = {}
        for r, row in enumerate(self.values):
            kinds = ["hidden" if h else f"h{level(v, self.greatest)}" for v, h in zip(row, self.hidden[r], strict=True)]
            c = 0
            for kind, group in groupby(kinds):
                length = len(list(group))
                paths.setdefault(kind, []).append(f"M{c} {r}h{length}")
                c += length
        for kind in sorted(paths):
            yield kind, "".join(paths[kind])

    def _hatches(self) -> str:
        """The strokes of all hidden cells, in one path; they go on from a cell to its neighbour."""
        strokes = []
        for r, row in enumerate(self.hidden):
            c = 0
            for hidden, group in groupby(row.tolist()):
                length = len(list(group))
                if hidden:
                    x, y = self.left + self.width * c, self.top + self.height * r
                    strokes.append(hatch(x, y, self.width * length, self.height))
                c += length
        return "".join(strokes)

    def _legend(self) -> tuple[list[Text], list[tuple[float, float, int]], str]:
        """Texts, (x, y, level) of the colours shown, and the strokes of a hatched swatch, in one line or two."""
        texts: list[Text] = []
        swatches: list[tuple[float, float, int]] = []
        x, y = 0.0, self.bottom + 22
        if self.greatest:
            low = number(-self.greatest, ".3g") if self.signed else "0"
            texts.append(Text(0, y, low, "quiet"))
            x = width(low, FONT) + 6
            swatches = [(x + 14 * n, y - 10, of) for n, of in enumerate(self._scale())]
            x += 14 * len(swatches) + 6
        high = number(self.greatest, ".3g") if self.greatest else ALL_ZERO.said(self.language)
        if self.greatest or not (self.values[~self.hidden] != 0).any():
            texts.append(Text(x, y, high, "quiet"))
            x += width(high, FONT) + 16
        unit = f"{CELLS.said(self.language)} × {power(self.exponent)}" if self.exponent else ""
        masked = MASKED.said(self.language) if self.hidden.any() else ""
        if x + width(f"{unit}    {masked}", FONT) + 20 > max(self.right, NARROWEST):
            x, y = 0.0, y + LINE
        if unit:
            texts.append(Text(x, y, unit, "quiet"))
            x += width(unit, FONT) + 16
        if not masked:
            return texts, swatches, ""
        texts.append(Text(x + 20, y, masked, "quiet"))
        return texts, swatches, hatch(x, y - 10, 14, 11)

    def _spoken(self) -> str:
        rows, columns = self.values.shape
        where = np.where(self.hidden | ~np.isfinite(self.values), np.nan, self.values)
        parts = [Words(f"{rows} by {columns} numbers", f"{rows} 行 {columns} 列").said(self.language)]
        if np.isfinite(where).any():
            for words, place in (
                (Words("greatest", "最大"), np.nanargmax(where)),
                (Words("least", "最小"), np.nanargmin(where)),
            ):
                r, c = divmod(int(place), columns)
                value = number(self.values[r, c], ".3g")
                parts.append(f"{words.said(self.language)} {value} ({self.rows[r]} · {self.columns[c]})")
        if self.hidden.any():
            parts.append(f"{int(self.hidden.sum())} {MASKED.said(self.language)}")
        return ("；" if self.language == "zh" else "; ").join(parts)


def hatch(x: float, y: float, wide: float, high: float) -> str:
    """Slanted strokes over a rectangle: of the lines x + y = k HATCH, what is in it."""
    strokes = []
    for k in range(math.ceil((x + y) / HATCH), math.floor((x + y + wide + high) / HATCH) + 1):
        along = k * HATCH
        left, right = max(x, along - y - high), min(x + wide, along - y)
        if right - left > 0.5:
            strokes.append(f"M{at(left)} {at(along - left)}L{at(right)} {at(along - right)}")
    return "".join(strokes)
