"""Figures of studies as plain data, in English and Chinese, and as SVG: `figure.svg("zh")`; a notebook shows them."""

from transformer.study.figures.figure import Bars, Figure, Grid, Lines, Table, Words

__all__ = ["Bars", "Figure", "Grid", "Lines", "Table", "Words"]
