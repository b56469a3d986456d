"""`python -m demos rules`: the table of rules as a cheat-sheet, each derivative checked as it is printed."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from demos.keeping import keep, refuse_foreign
from demos.options import positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from demos.cheatsheet.checked import CheckedRow

SUMMARY = "the cheat-sheet of derivatives, each checked as it is printed"
STYLES = {"forward": "", "derivative": "cyan", "note": "dim", "wrong": "bold red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--html", "--out", type=Path, metavar="FILE", help="also write the sheet as one page, formulas typeset"
    )
    parser.add_argument(
        "--seed",
        type=whole_number,
        default=0,
        metavar="N",
        help="of the numbers on which rules are checked (default 0)",
    )
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=60.0,
        metavar="S",
        help="for all checks together; rows that come later are printed unchecked (default 60)",
    )


def run(options: argparse.Namespace) -> int:
    """Check and print row by row; 1 if a derivative is wrong."""
    import minigrad as mg
    from demos.cheatsheet.checked import checked_rows
    from demos.cheatsheet.sheet import header, write_page
    from demos.terminal.tables import terminal_width

    if options.html is not None:
        with told_plainly(OSError):
            refuse_foreign([options.html], "rules", "--html")
            options.html.parent.mkdir(parents=True, exist_ok=True)
    width = terminal_width()
    print("g is the cotangent of the output, out. Error: relative, against a numerical derivative.\n")
    print(header(width))
    sheet = []
    for checked in checked_rows(options.seed, time.monotonic() + options.max_seconds):
        show(checked, width)
        sheet.append(checked)
    wrong = [checked.row.name for checked in sheet if checked.wrong]
    unchecked = [checked.row.name for checked in sheet if checked.verdict == "not checked"]
    right = len(sheet) - len(wrong) - len(unchecked)
    print(f"\n{right} of {len(sheet)} rows checked right, first and second derivative.")
    if unchecked:
        print(f"note: not checked, for want of an example or of time: {', '.join(unchecked)}", file=sys.stderr)
    if options.html is not None:
        with told_plainly(OSError):
            keep(options.html, write_page(sheet, mg.__version__).encode(), "rules")
        print(f"{options.html}: the same as a page; open it in a browser")
    if wrong:
        raise UserError(f"the derivative is wrong of {', '.join(wrong)}", status=1)
    return 0


def show(checked: "CheckedRow", width: int) -> None:
    """Print a row: in colours on a terminal, plain elsewhere."""
    from demos.cheatsheet.sheet import lines

    if not sys.stdout.isatty():
        for name, middle, error, _ in lines(checked, width):
            print(f"{name}{middle}{error}".rstrip(), flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    for name, middle, error, kind in lines(checked, width):
        line = Text.assemble((name, "bold"), (middle, STYLES[kind]), (error, "bold red" if checked.wrong else "green"))
        line.rstrip()
        console.print(line, soft_wrap=True)
