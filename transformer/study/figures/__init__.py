"""Figures of studies as plain data, in English and Chinese, and as SVG: `figure.svg("zh")`; a notebook shows them."""

from transformer.study.figures.figure import Bars, Figure, Grid, Label, Language, Lines, Table, WordLinks, Words

__all__ = ["Bars", "Figure", "Grid", "Label", "Language", "Lines", "Table", "WordLinks", "Words"]
