"""What is seen while something is counted: one line that is drawn anew on a terminal, plain lines anywhere else."""

import os
import sys
import time
from typing import Protocol

SECONDS_BETWEEN_FRAMES = 0.2
MARGIN = 4  # columns at the right, for the ^C that a terminal writes there


class Progress(Protocol):
    """Whoever watches."""

    def start(self, name: str, rounds: int) -> None:
        """Competitors of a configuration are made and warm up; so many rounds will follow."""

    def update(self, done: int) -> None:
        """So many rounds are done."""

    def close(self) -> None:
        """This configuration is over."""


class Lines:
    """A line as a configuration begins."""

    def __init__(self, unit: str, before: str) -> None:
        self._unit, self._before = unit, before

    def start(self, name: str, rounds: int) -> None:
        """Say what begins."""
        before = f"{self._before}, then " if self._before else ""
        print(f"{name}: {before}{rounds} {self._unit}{'' if rounds == 1 else 's'}", flush=True)

    def update(self, done: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Line:
    """A bar of rounds, gone at the end. It is redrawn between turns, a few times a second, by no thread of its own."""

    def __init__(self, unit: str, before: str) -> None:
        self._unit, self._before = unit, before

    def start(self, name: str, rounds: int) -> None:
        """Draw the empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        console = Console(file=sys.stdout)
        console.width -= MARGIN
        self._rich: RichProgress = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._rich.add_task(name, total=rounds, told=self._before)
        self._frame = 0.0
        self._rich.start()

    def update(self, done: int) -> None:
        """Redraw, if the last time was long enough ago."""
        now = time.monotonic()
        if now - self._frame >= SECONDS_BETWEEN_FRAMES:
            self._frame = now
            self._rich.update(self._task, completed=done, told=f"{self._unit}s", refresh=True)

    def close(self) -> None:
        """Take the bar away."""
        self._rich.stop()


def progress(unit: str = "round", before: str = "warming up") -> Progress:
    """The bar where the output is a terminal that can redraw a line, else plain lines.

    unit: what is counted. before: what happens before the first.
    """
    kind = Line if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else Lines
    return kind(unit, before)
