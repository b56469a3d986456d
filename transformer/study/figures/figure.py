"""What a figure is: a title in two languages, and numbers. How it looks is `transformer.study.figures.drawn`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Language = Literal["en", "zh"]
Numbers = npt.NDArray[np.float64]


class Words(NamedTuple):
    """One text in English and in Chinese."""

    en: str
    zh: str


Label = str | Words
"""A label that is the same in both languages (a word of a sentence, a symbol), or one for each."""


@dataclass(frozen=True)
class Grid:
    """A heat map: numbers (R, C), rows from top to bottom; 0 is white, orange below it, blue above.

    hidden: (R, C) booleans, cells that are masked: hatched. digits: of the number written into each cell; None: none.
    """

    title: Words
    rows: Sequence[Label]
    columns: Sequence[Label]
    values: Numbers
    hidden: npt.NDArray[np.bool_] | None = None
    digits: int | None = 2
    row_axis: Label = ""
    column_axis: Label = ""


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0, a number behind each. groups: several bars a label, by the group's name."""

    title: Words
    labels: Sequence[Label]
    groups: Mapping[Label, Sequence[float]]
    form: str = ".3g"


@dataclass(frozen=True)
class Lines:
    """Curves over x, by name: values (N,), or (R, N) of R runs: their mean, and a shadow from lowest to highest."""

    title: Words
    x: Sequence[float]
    curves: Mapping[Label, Numbers]
    x_axis: Label = ""
    y_axis: Label = ""
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers as text; the first column is a heading."""

    title: Words
    columns: Sequence[Label]
    rows: Sequence[Sequence[Label]]


Figure = Grid | Bars | Lines | Table
