"""Pictures that a command draws into one folder, each said as it is written."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from demos.keeping import keep, refuse_foreign
from demos.problems import told_plainly

if TYPE_CHECKING:
    from minigrad.drawing import Drawing


@dataclass(frozen=True)
class Piece:
    """One picture: its file, what it shows, and how it is drawn from a seed. A file .html is a page."""

    file: str
    what: str
    draw: Callable[[int], "Drawing"]


def begin(folder: Path, files: Sequence[str], command: str) -> None:
    """Make the folder. Raises UserError, before anything is drawn, for want of an engine, or a file from elsewhere."""
    from minigrad.drawing import find_engine
    from minigrad.errors import DrawingError

    with told_plainly(DrawingError, OSError):
        find_engine("svg")
        folder.mkdir(parents=True, exist_ok=True)
        refuse_foreign([folder / file for file in files], command, "--out")


def write(pieces: Sequence[Piece], folder: Path, seed: int, seconds: float, command: str) -> None:
    """Draw each, write it, and say so. seconds: for the layout of one picture."""
    from minigrad.errors import DrawingError

    for piece in pieces:
        with told_plainly(DrawingError, OSError), noted() as notes:
            drawing = piece.draw(seed)
            page = piece.file.endswith(".html")
            content = drawing.html(seconds).encode() if page else drawing.render("svg", seconds)
            keep(folder / piece.file, content, command)
        print(f"{folder / piece.file}: {piece.what}", flush=True)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)


@contextmanager
def noted() -> Iterator[list[str]]:
    """What drawings warn of meanwhile, such as a picture that shows less than was asked for."""
    from minigrad.drawing import DrawingWarning

    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DrawingWarning)
        yield notes
    notes += [str(warning.message) for warning in caught]
