"""Minigrad's time by its competitors' times as bars, as an SVG: a group a configuration, a bar a competitor.

Here numbers become coordinates; how they look is in `ratios.svg.jinja`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from demos.benchmarking.measured import Measured, milliseconds

WIDTH, LEFT, RIGHT = 760, 216, 620  # left of the bars stand names and times, right of them ratios and goals
TOP, HEADING, BAR, GAP, AXIS, LINE = 112, 26, 24, 16, 46, 18
COLOURS = 4  # of which the template has so many, taken in turn
TITLE = "A training step: minigrad's time by that of others"


@dataclass(frozen=True)
class Row:
    """A bar, or where `name` is empty, the heading of a group."""

    y: float
    name: str
    told: str
    colour: int = 0
    width: float = 0.0
    ratio: str = ""
    goal: str = ""
    goal_x: float = 0.0


def draw_ratios(found: Sequence[Measured], what: Mapping[str, str], threads: int) -> str:
    """The SVG text.

    found: with at least one ratio. what: the competitors in words. threads: how many each had.
    """
    import jinja2

    longest = max(max([*measured.ratios.values(), *measured.goals.values(), 1.0]) for measured in found)
    unit = (RIGHT - LEFT) / longest
    rows = list(laid_out(found, unit))
    bottom = rows[-1].y + BAR
    height = bottom + AXIS + LINE * len(what) + 8
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = Path(__file__).with_name("ratios.svg.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        width=WIDTH, height=height, left=LEFT, top=TOP, bottom=bottom, bar=BAR, title=TITLE,
        subtitle=f"Medians of turns in one process, {threads} {'thread' if threads == 1 else 'threads'} each. "
        "The shorter the bar, the faster is minigrad.",
        spoken=in_words(found), rows=rows, equal=LEFT + unit,
        ticks=[(LEFT + value * unit, f"{value:g}") for value in ticks(longest) if value != 1],
        notes=[(bottom + AXIS + LINE * place, f"{name}: {words}") for place, (name, words) in enumerate(what.items())],
    )  # fmt: skip


def laid_out(found: Sequence[Measured], unit: float) -> Iterator[Row]:
    """The rows from top to bottom. unit: the length of a bar of ratio 1."""
    y = float(TOP)
    colours: dict[str, int] = {}
    for measured in found:
        medians = measured.medians
        yield Row(y, "", f"{measured.name} · minigrad {milliseconds(medians['minigrad'])}")
        y += HEADING
        for name, ratio in measured.ratios.items():
            colour = colours.setdefault(name, len(colours) % COLOURS)
            goal = measured.goals.get(name)
            yield Row(
                y,
                name,
                milliseconds(medians[name]),
                colour,
                ratio * unit,
                f"{ratio:.2f}",
                "" if goal is None else f"≤ {goal:g}",
                0.0 if goal is None else LEFT + goal * unit,
            )
            y += BAR
        y += GAP


def ticks(longest: float) -> list[float]:
    """Round numbers from 0 to `longest`, at most seven."""
    every = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, longest) if longest <= 6 * step)
    return [place * every for place in range(int(longest / every) + 1)]


def in_words(found: Sequence[Measured]) -> str:
    """All numbers, for whoever does not see the picture."""
    groups = []
    for measured in found:
        bars = [f"{ratio:.2f} of {name}'s" for name, ratio in measured.ratios.items()]
        groups.append(
            f"{measured.name}: minigrad takes {milliseconds(measured.medians['minigrad'])}, {', '.join(bars)}."
        )
    return " ".join(groups)
