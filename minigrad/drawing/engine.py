"""The layout engine: a Graphviz program, found or brought along, run with a time limit.

Looked for in this order: the program that the caller names, or else the environment variable MINIGRAD_DOT; the one that
the wheel `graphviz-pure` installs; a system's `dot`. Each is asked for its version before it is trusted. The wheel's
engine writes SVG and PNG, but no PDF, and its PNG has Latin, Greek and Cyrillic letters only; a system's Graphviz does
it all.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from minigrad.errors import DrawingError

VARIABLE = "MINIGRAD_DOT"
FORMATS = ("svg", "png", "pdf")
OLDEST = (2, 40)
INSTALL = "apt install graphviz, brew install graphviz, or winget install graphviz (then `dot` is on the PATH)"

_WHEEL = "graphviz-pure"
_VERSION = re.compile(r"graphviz(?:-pure)? version (\d+)\.(\d+)")
_WHEEL_LETTERS = re.compile(
    r"[\s -~\u00a0-\u0377\u0384-\u052f\u2010-\u2027\u2030-\u203f\u2070-\u208e\u2190-\u2195∂∆∏∑−√∞∩∫≈≠≡≤≥]*"
)


class LayoutError(DrawingError):
    """The engine could not lay this graph out: it failed, or did not finish in its time. A smaller graph may do."""


@dataclass(frozen=True)
class Engine:
    """A program that lays out and draws DOT. `complete`: it writes PDF, and any script in a PNG."""

    program: str
    version: tuple[int, ...]
    complete: bool

    def can(self, form: str, text: str = "") -> bool:
        """Whether it can write `text` in the format `form`."""
        if self.complete or form == "svg":
            return True
        return form == "png" and _WHEEL_LETTERS.fullmatch(text) is not None

    def run(self, source: str, form: str, placed: bool = False, seconds: float = 20.0) -> bytes:
        """The picture of the DOT text `source`.

        placed: all positions are in the source already; only draw.
        Raises LayoutError where the engine fails or takes longer than `seconds`, DrawingError where it can't be run.
        """
        arguments = [f"-T{form}", *(["-Kneato", "-n2"] if placed else ["-Kdot"])]
        if form == "png":
            arguments.append("-Gdpi=144")
        done = self._call(arguments, source, seconds)
        if b"init_rank" in done.stderr:  # a fault of dot's with nested clusters, which it has not with this ranking
            done = self._call([*arguments, "-Gnewrank=true"], source, seconds)
        if done.returncode or not done.stdout:
            lines = done.stderr.decode(errors="replace").splitlines()
            complaints = [line.strip() for line in lines if line.strip() and not line.startswith("Warning")]
            reason = complaints[0] if complaints else "no message"
            raise LayoutError(f"{self.program} failed (exit status {done.returncode}): {reason}")
        return done.stdout

    def _call(self, arguments: list[str], source: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [self.program, *arguments], input=source.encode(), capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            raise LayoutError(f"{self.program} did not finish the layout within {seconds:g} s") from None
        except OSError as error:
            raise DrawingError(f"{self.program} can't be run: {error}; {_remedy()}") from error


def find_engine(form: str = "svg", text: str = "", chosen: str | None = None) -> Engine:
    """The first engine that can write `text` in the format `form`. chosen: a program, by name or path, and no other.

    Call it before long work that ends in a picture. Raises DrawingError, which says what to install, if there is none.
    """
    if form not in FORMATS:
        raise DrawingError(f"no picture can be written as {form!r}; the formats are {', '.join(FORMATS)}")
    found = False
    for engine in engines(chosen):
        found = True
        if engine.can(form, text):
            return engine
    if not found:
        raise DrawingError(f"no layout engine is on this machine: {_remedy()}")
    if form == "pdf":
        what = "PDF is"
    else:
        foreign = "".join(dict.fromkeys(c for c in text if not _WHEEL_LETTERS.fullmatch(c)))
        what = f"PNG with {foreign[:8]!r} is"
    raise DrawingError(f"{what} beyond the engine found here; save as .svg, or install Graphviz itself: {INSTALL}")


def engines(chosen: str | None = None) -> Iterator[Engine]:
    """Every engine of this machine, best choice first; only the one that is chosen, by the caller or by MINIGRAD_DOT.

    Raises DrawingError if what is chosen is no Graphviz: an explicit choice is not passed over.
    """
    named = chosen or os.environ.get(VARIABLE)
    if named:
        engine = _asked(shutil.which(named) or named)
        if engine is None:
            what = f"engine={chosen!r}" if chosen else f"{VARIABLE}={named}"
            raise DrawingError(f"{what} is no Graphviz program of version 2.40 or later; unset it, or mend it")
        yield engine
        return
    for program in (_wheel_program(), shutil.which("dot")):
        engine = _asked(program) if program else None
        if engine is not None:
            yield engine


@lru_cache(maxsize=16)
def _asked(program: str) -> Engine | None:
    """The engine `program` says it is; None if it does not answer as a Graphviz recent enough."""
    try:
        answer = subprocess.run([program, "-V"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    match = _VERSION.search(text)
    if match is None:
        return None
    version = (int(match[1]), int(match[2]))
    wheel = _WHEEL in text
    return Engine(program, version, complete=not wheel) if wheel or version >= OLDEST else None


@lru_cache(maxsize=1)
def _wheel_program() -> str | None:
    """Where the wheel put its program: beside this Python's scripts, wherever pip installed them."""
    try:
        files = distribution(_WHEEL).files or []
    except PackageNotFoundError:
        files = []
    named = [
        Path(str(file.locate())).resolve() for file in files if file.stem == _WHEEL and not file.suffix.startswith(".d")
    ]
    scripts = Path(sysconfig.get_path("scripts"))
    for place in (*named, scripts / _WHEEL, scripts / f"{_WHEEL}.exe"):
        if place.is_file():
            return str(place)
    return shutil.which(_WHEEL)


def _remedy() -> str:
    return f"pip install {_WHEEL}, or install Graphviz: {INSTALL}; or let {VARIABLE} name a `dot` program"
