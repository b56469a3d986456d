"""What is measured at every step, and the table `metrics.csv` that keeps it."""

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from minigrad.atomic import write_atomically


@dataclass(frozen=True)
class Metrics:
    """One step of a training; the last two are None but at the steps after which the model was evaluated.

    loss: cross entropy per target token, label smoothing included. rate: the learning rate of the step.
    gradient_norm: Euclidean norm over all parameters, before clipping. tokens: target tokens in the batch.
    cpu_seconds, wall_seconds: spent on learning since step 0, over all sessions, evaluation not counted.
    exact_match, token_accuracy: of free-running decoding on the validation pairs.
    """

    step: int
    loss: float
    rate: float
    gradient_norm: float
    tokens: int
    cpu_seconds: float
    wall_seconds: float
    exact_match: float | None = None
    token_accuracy: float | None = None


COLUMNS = tuple(field.name for field in fields(Metrics))


class MetricsTable:
    """The file metrics.csv: one row a step, appended as training goes on.

    Opened at `step`, the one that training goes on from, it drops the rows after it (steps that were made but whose
    weights were lost when the process died), so that the table always tells one consistent story.
    """

    def __init__(self, path: Path, step: int = 0) -> None:
        self._path = path
        self.rows = [row for row in read_metrics(path) if row.step <= step] if step else []
        write_atomically(path, "".join(_line(values) for values in (COLUMNS, *map(astuple, self.rows))).encode())
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("a", encoding="utf-8", newline="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with self._named():
                file.close()

    def append(self, row: Metrics) -> None:
        """Add a row, and hand it to the system at once: a killed process loses none."""
        if self._file is None:
            raise ValueError("the table is closed: append inside `with`")
        with self._named():
            self._file.write(_line(astuple(row)))
            self._file.flush()
        self.rows.append(row)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """An error of the system names the file: one that comes from writing to an open file does not."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._path)
            raise


def read_metrics(path: Path) -> list[Metrics]:
    """The rows of a metrics.csv; [] if it is missing. A row that is torn or damaged is left out, with all after it."""
    if not path.exists():
        return []
    rows = []
    with (
        path.open(encoding="utf-8", errors="replace", newline="") as file,
        suppress(KeyError, TypeError, ValueError, csv.Error),  # what follows a torn row can't be trusted either
    ):
        for record in csv.DictReader(file):
            rows.append(_parse(record))
    return rows


def _parse(record: dict[str, str]) -> Metrics:
    row = Metrics(
        step=int(record["step"]),
        loss=float(record["loss"]),
        rate=float(record["rate"]),
        gradient_norm=float(record["gradient_norm"]),
        tokens=int(record["tokens"]),
        cpu_seconds=float(record["cpu_seconds"]),
        wall_seconds=float(record["wall_seconds"]),
        exact_match=float(record["exact_match"]) if record["exact_match"] else None,
        token_accuracy=float(record["token_accuracy"]) if record["token_accuracy"] else None,
    )
    if not all(isfinite(value) for value in astuple(row) if value is not None):
        raise ValueError("no training wrote this row: every number is finite in one that did")
    return row


def _line(values: Iterable[object]) -> str:
    """A row of the file. Floats are written so that reading gives the very same float."""
    return (
        ",".join("" if value is None else repr(value) if isinstance(value, float) else str(value) for value in values)
        + "\n"
    )
