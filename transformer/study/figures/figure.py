"""What a figure is: a title in two languages, and numbers; each knows how to draw itself, `figure.svg("zh")`."""

from transformer.study.figures.bars import Bars
from transformer.study.figures.grid import Grid
from transformer.study.figures.lines import Lines
from transformer.study.figures.links import WordLinks
from transformer.study.figures.table import Table
from transformer.study.figures.words import Label, Language, Words

Figure = Grid | Bars | Lines | Table | WordLinks

__all__ = ["Bars", "Figure", "Grid", "Label", "Language", "Lines", "Table", "WordLinks", "Words"]
