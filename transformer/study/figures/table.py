"""A table of words and numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import minigrad as mg
from transformer.study.figures.picture import BOLD, FONT, nothing, picture, template
from transformer.study.figures.words import NOTHING, Label, Language, Words, said, width, wrapped

WIDEST, WIDEST_HEAD, BETWEEN, LINE = 220, 130, 18, 17
NUMBER = re.compile(r"[-−+<>≤≥±~≈×]?\s?(\d[\d.,eE+\-−×⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ]*\s?%?|∞|inf|nan|—|–|)")


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers as text; the first column is a heading.

    Raises ShapeError for a row that has not as many cells as there are columns.
    """

    title: Words
    columns: Sequence[Label]
    rows: Sequence[Sequence[Label]]

    def __post_init__(self) -> None:
        for n, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise mg.ShapeError(f"Table: {len(row)} cells in row {n} for {len(self.columns)} columns")

    def svg(self, language: Language = "en") -> str:
        """The picture as SVG text."""
        columns, rows = self._said(language)
        if not (columns and rows):
            return nothing(self.title, language)
        cells = [
            [wrapped(text, FONT, WIDEST if r else WIDEST_HEAD) for text in row]
            for r, row in enumerate([columns, *rows])
        ]
        wide = [max(width(line, FONT * BOLD) for row in cells for line in row[c]) for c in range(len(columns))]
        right = [c > 0 and all(NUMBER.fullmatch(row[c]) for row in rows) for c in range(len(columns))]
        texts: list[tuple[float, float, str, str]] = []
        rules: list[tuple[float, str]] = []
        top = 0.0
        for r, row in enumerate(cells):
            left = 0.0
            for c, lines in enumerate(row):
                x, side = (left + wide[c], "sf-end") if right[c] else (left, "sf-start")
                kind = f"{side} sf-strong" if r == 0 or c == 0 else side
                texts += [(x, top + 13 + LINE * n, line, kind) for n, line in enumerate(lines)]
                left += wide[c] + BETWEEN
            top += LINE * max(len(lines) for lines in row) + 7
            rules.append((top - 3, "sf-rule" if r else "sf-axis"))
        spoken = "; ".join(", ".join(f"{c} {t}" if c else t for c, t in zip(columns, row, strict=True)) for row in rows)
        size = sum(wide) + BETWEEN * (len(wide) - 1), top
        return picture(
            "table.svg.jinja", self.title, language, size, spoken, texts=texts, rules=rules[:-1], wide=size[0]
        )

    def html(self, language: Language = "en") -> str:
        """The table as HTML text, for a page: it can be read aloud cell by cell, and its words wrap."""
        columns, rows = self._said(language)
        right = [c > 0 and all(NUMBER.fullmatch(row[c]) for row in rows) for c in range(len(columns))]
        return template("table.html.jinja").render(
            title=said(self.title, language), language=language, columns=columns, rows=rows, right=right,
            nothing=NOTHING.said(language),
        )  # fmt: skip

    def _repr_svg_(self) -> str:
        return self.svg()

    def _said(self, language: Language) -> tuple[list[str], list[list[str]]]:
        return [said(c, language) for c in self.columns], [[said(c, language) for c in row] for row in self.rows]
