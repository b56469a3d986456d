"""What was measured of one configuration, in words, and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from demos.terminal.tables import print_table

MINIGRAD = "minigrad"


@dataclass(frozen=True)
class Measured:
    """One configuration.

    seconds: of each turn of minigrad and of its competitors, round by round.
    ratios: minigrad's time by a competitor's, the median over the rounds. goals: what they should be, at most.
    """

    name: str
    sizes: Mapping[str, int]
    seconds: Mapping[str, Sequence[float]]
    ratios: Mapping[str, float]
    goals: Mapping[str, float] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """How many turns each took."""
        return len(self.seconds[MINIGRAD])

    @property
    def medians(self) -> dict[str, float]:
        """{name: the median of its turns, in milliseconds}."""
        from statistics import median

        return {name: median(turns) * 1e3 for name, turns in self.seconds.items()}

    def as_json(self) -> dict[str, Any]:
        """All of it, for a program to read."""
        return {
            **self.sizes,
            "rounds": self.rounds,
            "median_ms": self.medians,
            "ratio": dict(self.ratios),
            "goal": dict(self.goals),
            "seconds": {name: list(turns) for name, turns in self.seconds.items()},
        }


def milliseconds(value: float) -> str:
    """Three digits, more where it is more than a second: "4.12 ms", "41.2 ms", "1,197 ms"."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} ms"


def goal(measured: Measured, name: str) -> str:
    """The goal for a competitor: "goal <= 2.8"; nothing where there is none."""
    return f"goal <= {measured.goals[name]:g}" if name in measured.goals else ""


def print_measured(found: Sequence[Measured], names: Sequence[str]) -> None:
    """Print two rows a configuration: medians, and below them minigrad's time by each competitor's, with its goal."""
    rows = []
    for measured in found:
        medians = measured.medians
        rows.append([measured.name, *(milliseconds(medians[name]) for name in (MINIGRAD, *names))])
        if names:
            ratios = [f"{measured.ratios[name]:.2f}  {goal(measured, name)}".rstrip() for name in names]
            rows.append(["", "ratio to", *ratios])
    print_table(["", MINIGRAD, *names], rows, ["bold", "green", *[""] * len(names)])


def goals_reached(found: Sequence[Measured]) -> str:
    """How many of the goals are reached, and which are not; nothing where there are none."""
    stated = [(measured, name) for measured in found for name in measured.ratios if name in measured.goals]
    missed = [f"{measured.name} to {name}" for measured, name in stated if measured.ratios[name] > measured.goals[name]]
    if not stated:
        return ""
    told = f"{len(stated) - len(missed)} of {len(stated)} goals reached"
    return told + (f"; missed: {', '.join(missed)}." if missed else ".")
