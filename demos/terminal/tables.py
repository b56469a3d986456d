"""Tables in columns that line up, Chinese included: with colours on a terminal, plain text anywhere else."""

import sys
from collections.abc import Iterable, Sequence

PLAIN_WIDTH = 160  # of a line that goes to a file or a pipe, where nothing is gained by folding it
EIGHTHS = "▏▎▍▌▋▊▉█"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows under a header on standard output. styles: rich's style of each column, "" for none."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else PLAIN_WIDTH, highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, name in enumerate(header):
        table.add_column(Text(name), style=styles[place] if styles else "", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text: what a model writes is never markup
    if terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def terminal_width() -> int:
    """The columns of the terminal; 100 if the output goes elsewhere."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 100


def bar(share: float, width: int) -> str:
    """A bar of `share` of `width` cells, in steps of an eighth of a cell; a share above 0 is never invisible."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (EIGHTHS[rest - 1] if rest else "")).ljust(width)


def percent(share: float) -> str:
    """A share in five cells: "99.9%", " 0.4%", "<0.1%"; " 100%" is said of nothing less."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return " 100%" if share >= 1 else f"{min(share, 0.999):5.1%}"
