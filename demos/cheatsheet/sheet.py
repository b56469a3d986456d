"""The sheet as text, fitted to the terminal, and as one self-contained page."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from demos.cheatsheet.checked import CheckedRow

NAMES, ERRORS = 21, 11  # the widths of the first and the last column
NARROWEST, WIDEST = 24, 90  # what is between them


def header(width: int) -> str:
    """The line over all rows."""
    return f"{'operation':<{NAMES}}{'forward and derivatives':<{middle(width)}}{'error':>{ERRORS}}"


def lines(checked: CheckedRow, width: int) -> Iterator[tuple[str, str, str, str]]:
    """A row's lines: (name, middle, error, kind of the middle: "forward", "derivative" or "note")."""
    row = checked.row
    room = middle(width) - 1
    parts = [("forward", row.forward)]
    for derivative in row.derivatives:
        parts.append(("derivative", f"d{derivative.operand} = {derivative}" if derivative.operand else str(derivative)))
    notes = [f"reads {', '.join(row.reads)}" if row.reads else "reads nothing", "fused" if row.fused else "", row.kinks]
    parts.append(("note", " · ".join(note for note in notes if note)))
    if checked.wrong:
        parts.append(("wrong", checked.wrong))
    name, verdict = row.name, checked.verdict
    for kind, said in parts:
        for line in textwrap.wrap(said, room, subsequent_indent="  ", break_on_hyphens=False):
            yield f"{name:<{NAMES}}", f"{line:<{middle(width)}}", f"{verdict:>{ERRORS}}", kind
            name = verdict = ""


def middle(width: int) -> int:
    """The width of the middle column."""
    return min(max(width - NAMES - ERRORS, NARROWEST), WIDEST)


def write_page(sheet: Sequence[CheckedRow], version: str) -> str:
    """The HTML text: everything is in it, formulas as MathML; it asks for no network and runs no script."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = Path(__file__).with_name("sheet.html.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        rows=sheet,
        version=version,
        wrong=[row.row.name for row in sheet if row.wrong],
        markup=Markup,
    )
