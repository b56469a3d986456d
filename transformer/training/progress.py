"""What is seen of a training while it runs: a bar on a terminal, plain lines anywhere else."""

import os
import shutil
import time
from contextlib import suppress
from typing import Protocol, TextIO

from transformer.training.metrics import Metrics

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_FRAMES = 0.2
ROOMY = 96  # columns of a terminal that has room for whole words
MARGIN = 4  # columns at the right, for the ^C that a terminal writes there


class Progress(Protocol):
    """Whoever watches a training: told before the first step, and after each."""

    def start(self, name: str, done: int, steps: int) -> None:
        """Training of `name` begins after step `done` and is to reach step `steps`."""

    def update(self, row: Metrics) -> None:
        """One step was made."""

    def close(self) -> None:
        """Training is over, for whatever reason."""


class Silent:
    """Shows nothing."""

    def start(self, name: str, done: int, steps: int) -> None:
        """Nothing."""

    def update(self, row: Metrics) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Pace:
    """How fast it goes and how long it will take, by the clock on the wall and since this session's start."""

    def __init__(self, done: int, steps: int) -> None:
        self._done, self._steps = done, steps
        self._started = time.monotonic()

    def steps_per_second(self, step: int) -> float:
        """Steps a second so far, evaluations included."""
        return (step - self._done) / max(time.monotonic() - self._started, 1e-9)

    def time_left(self, step: int) -> str:
        """The time the remaining steps will take at this pace, as "1:05"."""
        speed = self.steps_per_second(step)
        return clock((self._steps - step) / speed) if speed else "?"


def clock(seconds: float) -> str:
    """65 -> "1:05", 3700 -> "1:01:40"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Smoothed:
    """The loss as a person wants to see it: an average that forgets with the last twenty steps or so."""

    def __init__(self) -> None:
        self.value: float | None = None

    def add(self, loss: float) -> float:
        """The average with this loss in it."""
        self.value = loss if self.value is None else 0.95 * self.value + 0.05 * loss
        return self.value


class Lines:
    """A line after every evaluation, and at least every ten seconds: for logs, pipes and dumb terminals.

    Where it can't be written it is left out: training goes on.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def start(self, name: str, done: int, steps: int) -> None:
        """Say what begins."""
        self._pace, self._loss, self._steps = Pace(done, steps), Smoothed(), steps
        self._last = time.monotonic()
        to_do = f"steps {done + 1:,} to {steps:,}" if done < steps else f"all {steps:,} steps are made"
        self._print(f"training {name}: {to_do}")

    def update(self, row: Metrics) -> None:
        """Print a line if it is time for one."""
        loss = self._loss.add(row.loss)
        if row.exact_match is None and time.monotonic() - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = time.monotonic()
        told = [f"step {row.step:>{len(f'{self._steps:,}')},} of {self._steps:,}", f"loss {loss:.4f}"]
        if row.exact_match is not None:
            told.append(f"exact match {row.exact_match:6.1%}")
        told += [f"{self._pace.steps_per_second(row.step):.1f} steps/s", f"{self._pace.time_left(row.step)} left"]
        self._print("  ".join(told))

    def close(self) -> None:
        """Nothing is left to do."""

    def _print(self, text: str) -> None:
        with suppress(OSError):  # a reader that has left, a disk that is full: no reason to stop training
            print(text, file=self._stream, flush=True)


class Bar:
    """A bar with steps, speed, loss, exact match and time left, in one line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def start(self, name: str, done: int, steps: int) -> None:
        """Draw the empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = shutil.get_terminal_size().columns
        self._pace, self._loss = Pace(done, steps), Smoothed()
        self._label, self._exact = "exact match" if columns >= ROOMY else "exact", "    -"
        self._frame = 0.0
        self._rich: RichProgress = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            console=Console(file=self._stream, width=columns - MARGIN),
            auto_refresh=False,  # a thread that redraws would be counted as training
        )
        self._task = self._rich.add_task(name, total=steps, completed=done, told="")
        self._rich.start()

    def update(self, row: Metrics) -> None:
        """Redraw, a few times a second."""
        loss, now = self._loss.add(row.loss), time.monotonic()
        if row.exact_match is not None:
            self._exact = f"{row.exact_match:6.1%}"
        elif now - self._frame < SECONDS_BETWEEN_FRAMES:
            return
        self._frame = now
        told = (
            f"{self._pace.steps_per_second(row.step):.1f}/s · loss {loss:.4f}"
            f" · {self._label} {self._exact} · {self._pace.time_left(row.step)} left"
        )
        with suppress(OSError):  # as for plain lines
            self._rich.update(self._task, completed=row.step, told=told, refresh=True)

    def close(self) -> None:
        """Leave the last state of the bar standing."""
        with suppress(OSError):
            self._rich.refresh()
            self._rich.stop()


def progress_on(stream: TextIO) -> Progress:
    """The bar where `stream` is a terminal that can redraw a line, else plain lines."""
    return Bar(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" else Lines(stream)
