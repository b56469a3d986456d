"""A row of the table with what its check found."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import minigrad as mg
from demos.cheatsheet.examples import EXAMPLES
from minigrad.errors import MinigradError
from minigrad.formulas import Row, rows


@dataclass(frozen=True)
class CheckedRow:
    """A row, and the largest relative error that the check of its first derivative saw.

    error: None where there is no example to check, or no time.
    wrong: what the check says of a wrong derivative, "" of a right one.
    """

    row: Row
    error: float | None
    wrong: str = ""

    @property
    def verdict(self) -> str:
        """The error in few characters: "exact", "2e-13", "WRONG", "not checked"."""
        if self.wrong:
            return "WRONG"
        if self.error is None:
            return "not checked"
        return f"{self.error:.0e}" if self.error else "exact"


def checked_rows(seed: int, until: float = float("inf")) -> Iterator[CheckedRow]:
    """Every row of the table, checked as it comes: to the second derivative, on the example that it has.

    until: from when on, by `time.monotonic()`, rows come unchecked.
    """
    for row in rows():
        yield checked(row, seed) if time.monotonic() < until else CheckedRow(row, None)


def checked(row: Row, seed: int) -> CheckedRow:
    """The row with its check."""
    example = EXAMPLES.get(row.name)
    if example is None:
        return CheckedRow(row, None)
    call = example.call if example.call is not None else partial(row.operation, **example.params)
    try:
        found = mg.check_grads(call, example.operands(seed), order=2, seed=seed)
    except (MinigradError, ArithmeticError, ValueError, TypeError) as error:
        return CheckedRow(row, None, str(error).splitlines()[0])
    return CheckedRow(row, max(part.error for part in found if part.order == 1))
