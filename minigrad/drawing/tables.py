"""A box of a picture as an HTML-like table.

The engine reckons a space for each byte of what is not ASCII. So words that a user wrote stand in a cell of their true
width, at its left: then they are where they belong, Chinese too, whatever the engine takes them for.
"""

from collections.abc import Iterator
from math import ceil

from minigrad.drawing.palette import KINDS, PAPER, QUIET_TEXT, TEXT, Kind
from minigrad.drawing.rows import Row, RowKind
from minigrad.drawing.text import escape, shorten, width
from minigrad.drawing.view import Box, Flow

LONGEST = 44
"""Longer words lose their middle; a tooltip has them whole."""

_LEAST = 86  # the width of a box with values, so that a column of them looks even
_SURFACES: dict[RowKind, Kind] = {"parameter": "parameter", "constant": "constant"}


def table(*rows: str, attributes: str = "", padding: int = 0) -> str:
    """A table without lines or gaps, of rows or cells that are marked up already."""
    body = "".join(rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}"{attributes}>{body}</TABLE>'


def row(*cells: str) -> str:
    """A row of cells."""
    return f"<TR>{''.join(cells)}</TR>"


def cell(inside: str, attributes: str = "") -> str:
    """A cell."""
    return f"<TD{attributes}>{inside}</TD>"


def phrase(text: str, size: float, colour: str = TEXT, bold: bool = False, longest: int = LONGEST) -> str:
    """Some words, in a table as wide as they are."""
    words, room = _words(shorten(text, longest), size, colour, bold)
    return _fixed(row(cell(words, ' ALIGN="LEFT"')), room, size)


def _words(text: str, size: float, colour: str = TEXT, bold: bool = False) -> tuple[str, int]:
    """The mark-up of some words, and the room that they take."""
    marked = f"<B>{escape(text)}</B>" if bold else escape(text)
    return f'<FONT POINT-SIZE="{size:g}" COLOR="{colour}">{marked}</FONT>', ceil(width(text, size, bold)) + 2


def _fixed(inside: str, room: int, size: float) -> str:
    """A table that keeps its size in a wider cell, where another would spread what is in it."""
    return table(inside, attributes=f' FIXEDSIZE="TRUE" WIDTH="{room}" HEIGHT="{ceil(size * 1.25) + 1}"')


def box_table(box: Box, flow: Flow) -> str:
    """A box: operand ports at the side that arrows come from, what it is, its rows in panels."""
    fill, line = KINDS[box.kind]
    body = [_title(box), *_panels(box)]
    if box.ports and flow == "right":
        body = [row(cell(_ports(box, upright=True)), cell(table(*body)))]
    elif box.ports:
        ports = row(cell(_ports(box, upright=False)))
        body = [ports, *body] if flow == "down" else [*body, ports]
    return (
        f'<TABLE BORDER="{2 if box.kind == "output" else 1}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" '
        f'STYLE="ROUNDED" BGCOLOR="{fill}" COLOR="{line}">{"".join(body)}</TABLE>'
    )


def _ports(box: Box, upright: bool) -> str:
    cells = [
        cell(phrase(name, 8.5, QUIET_TEXT, longest=12), f' PORT="p{place}" CELLPADDING="3"')
        for place, name in enumerate(box.ports)
    ]
    return table(*map(row, cells)) if upright else table(row(*cells))


def _title(box: Box) -> str:
    """A badge with the operation's sign, and a name; above it, smaller, the module it stands for."""
    name, room = _words(shorten(box.title, LONGEST), 12, bold=True)
    cells = [cell(name, f' ALIGN="LEFT" WIDTH="{room}"')]
    if box.badge:
        sign, wide = _words(box.badge, 11, PAPER, bold=True)
        wide += 6
        badge = table(row(cell(sign)), attributes=f' BGCOLOR="{KINDS[box.kind].line}" STYLE="ROUNDED"', padding=1)
        cells = [cell(badge, f' WIDTH="{wide}"'), cell("", ' WIDTH="5"'), *cells]
        room += wide + 5
    least = f' WIDTH="{_LEAST}"' if any(row.kind == "value" for row in box.rows) else ' WIDTH="34"'
    title = row(cell(_fixed(row(*cells), room, 14), f' CELLPADDING="3"{least}'))
    return row(cell(phrase(box.caption, 9, QUIET_TEXT), ' CELLPADDING="3"')) + title if box.caption else title


def _panels(box: Box) -> Iterator[str]:
    """Rows of one kind beside each other share a panel: blue for parameters, grey for constants, white for values."""
    panel: list[Row] = []
    for entry in box.rows:
        if panel and _surface(panel[0]) != _surface(entry):
            yield _panel(panel)
            panel = []
        panel.append(entry)
    if panel:
        yield _panel(panel)


def _surface(entry: Row) -> str:
    if entry.kind == "detail":
        return ""
    return KINDS[_SURFACES[entry.kind]].fill if entry.kind in _SURFACES else PAPER


def _panel(entries: list[Row]) -> str:
    surface = _surface(entries[0])
    colour = f' BGCOLOR="{surface}" STYLE="ROUNDED"' if surface else ""
    return row(cell(table(*map(_row, entries), attributes=colour, padding=2), ' CELLPADDING="4"'))


def _heat_map(entry: Row) -> str:
    """A cell a number, of its colour."""
    rows = [row(*(cell("", f' BGCOLOR="{colour}" WIDTH="9" HEIGHT="9"') for colour in line)) for line in entry.cells]
    return row(cell(table(*rows), ' ALIGN="CENTER" CELLPADDING="3"'))


def _row(entry: Row) -> str:
    """A label at the left, and a text or numbers at the right; a text without a label in the middle."""
    if entry.kind == "heat":
        return _heat_map(entry)
    if not entry.label:
        return row(cell(phrase(entry.cells[0][0], 9)))
    words, room = _words(shorten(entry.label, LONGEST), 9, QUIET_TEXT)
    label = cell(words, f' ALIGN="LEFT" WIDTH="{room + 6}"')
    lines = [[_words(shorten(text, LONGEST), 9) for text in line] for line in entry.cells]
    numbers = [row(*(cell(words, f' ALIGN="RIGHT" WIDTH="{room}"') for words, room in line)) for line in lines]
    if len(entry.cells) > 1 or len(entry.cells[0]) > 1:
        return row(label, cell(table(*numbers, padding=2), ' ALIGN="RIGHT"'))
    return f"<TR>{label}{numbers[0].removeprefix('<TR>')}"
