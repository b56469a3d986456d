"""Progress: a bar on a terminal, lines elsewhere, and rich is not even imported there."""

import io
import os
import re
import subprocess
import sys

import pytest

from transformer.training.metrics import Metrics
from transformer.training.progress import Bar, Lines, Silent, clock, progress_on


class Terminal(io.StringIO):
    def isatty(self):
        return True


def row(step, exact=None):
    return Metrics(step, 2.0, 1e-3, 1.0, 10, 0.0, 0.0, exact, exact)


def test_lines_come_with_each_evaluation_and_say_all_there_is_to_know():
    stream = io.StringIO()
    lines = progress_on(stream)
    assert isinstance(lines, Lines)
    lines.start("copy", 0, 1200)
    for step in range(1, 101):
        lines.update(row(step, 0.875 if step == 100 else None))
    lines.close()
    first, second = stream.getvalue().splitlines()
    assert first == "training copy: steps 1 to 1,200"
    assert second.startswith("step   100 of 1,200  loss 2.0000  exact match  87.5%  ")
    assert "steps/s" in second
    assert second.endswith("left")


def test_a_line_comes_at_least_every_ten_seconds(monkeypatch):
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    lines = Lines(stream)
    lines.start("copy", 0, 10)
    for step in range(1, 7):
        now[0] += 4.0
        lines.update(row(step))
    assert stream.getvalue().count("step ") == 2


def test_a_bar_shows_speed_loss_exact_match_and_time_left(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    bar = progress_on(stream)
    assert isinstance(bar, Bar)
    bar.start("copy", 0, 200)
    for step in range(1, 101):
        bar.update(row(step, 0.5 if step == 100 else None))
    bar.close()
    for shown in ("copy", "100/200", "/s", "loss 2.0000", "exact match  50.0%", "left"):
        assert shown in stream.getvalue()


@pytest.mark.parametrize("columns", [60, 80, 95, 200])
def test_a_bar_stays_in_one_line_with_room_for_a_typed_control_c(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    bar = progress_on(stream)
    bar.start("translate", 0, 1800)
    bar.update(row(1000, 0.5))
    bar.close()
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert max(map(len, re.split(r"[\r\n]+", drawn))) <= columns - 4


@pytest.mark.parametrize(("kind", "failure"), [(io.StringIO, BrokenPipeError()), (Terminal, OSError(5, "I/O error"))])
def test_an_output_that_can_no_longer_be_written_is_no_reason_to_stop(monkeypatch, kind, failure):
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = kind()
    progress = progress_on(stream)
    progress.start("copy", 0, 2)

    def fail(*_):
        raise failure

    stream.write = stream.flush = fail
    progress.update(row(1, 0.5))
    progress.update(row(2, 0.5))
    progress.close()


def test_nothing_left_to_do_is_said():
    stream = io.StringIO()
    Lines(stream).start("copy", 46, 46)
    assert stream.getvalue() == "training copy: all 46 steps are made\n"


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_on(Terminal()), Lines)


def test_silent_shows_nothing(capsys):
    silent = Silent()
    silent.start("copy", 0, 2)
    silent.update(row(1))
    silent.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("seconds", "told"), [(0.2, "0:00"), (65, "1:05"), (59.6, "1:00"), (3700, "1:01:40")])
def test_clock(seconds, told):
    assert clock(seconds) == told


def test_rich_is_not_imported_for_plain_lines():
    program = (
        "import io, sys; from transformer.training.progress import progress_on\n"
        "p = progress_on(io.StringIO()); p.start('copy', 0, 3); p.close(); print('rich' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert told.stdout == "False\n"
