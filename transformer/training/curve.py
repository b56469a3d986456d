"""The learning curve as an SVG: loss above, exact match below, over the steps.

Here the numbers become coordinates; how they look is in `curve.svg.jinja`. No plotting library: it would take longer to
import than the picture takes to draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from transformer.training.metrics import Metrics

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT = 64, 648  # the plots' sides; what is right of them is for the labels at the lines' ends
LOSS_TOP, LOSS_BOTTOM = 94, 272
MATCH_TOP, MATCH_BOTTOM = 308, 428
BINS = 160  # more steps than this are drawn as the mean and the span of so many groups
SMALLEST_LOSS = 1e-6  # a logarithmic axis has no zero
LABEL_GAP = 16


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True)
class Scale:
    """Numbers to coordinates: [low, high] of the data to [start, end] of the picture, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The coordinate of `value`, to a hundredth of a pixel."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 2)


def draw_curve(rows: Sequence[Metrics], title: str) -> str:
    """The SVG text of a training's curve. rows: its metrics in the order of steps, at least one."""
    import jinja2  # only here: training itself need not wait for it

    losses = [max(row.loss, SMALLEST_LOSS) for row in rows]
    low, high = _loss_range(losses)
    x = Scale(0, max(rows[-1].step, 1), LEFT, RIGHT)
    loss = Scale(low, high, LOSS_BOTTOM, LOSS_TOP, logarithmic=True)
    match = Scale(0, 1, MATCH_BOTTOM, MATCH_TOP)
    groups = _groups([row.step for row in rows], losses)
    evaluated = [row for row in rows if row.exact_match is not None]
    exact = [(x(row.step), match(row.exact_match or 0.0)) for row in evaluated]
    tokens = [(x(row.step), match(row.token_accuracy or 0.0)) for row in evaluated]
    best = max(evaluated, key=lambda row: (row.exact_match or 0.0, row.step), default=None)
    mean = [(x(step), loss(value)) for step, _, value, _ in groups]
    template = resources.files(__package__).joinpath("curve.svg.jinja").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template).render(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=RIGHT,
        loss_top=LOSS_TOP,
        loss_bottom=LOSS_BOTTOM,
        match_top=MATCH_TOP,
        match_bottom=MATCH_BOTTOM,
        title=title,
        subtitle=_subtitle(rows[-1], best),
        step_ticks=[Tick(x(step), f"{step:,}") for step in _steps(rows[-1].step)],
        loss_ticks=[Tick(loss(value), f"{value:g}") for value in _decades(low, high)],
        match_ticks=[Tick(match(percent / 100), f"{percent}%") for percent in (0, 25, 50, 75, 100)],
        span=_polygon(
            [(x(step), loss(least)) for step, least, _, _ in groups],
            [(x(step), loss(most)) for step, _, _, most in groups],
        ),
        mean=_points(mean),
        mean_end=mean[-1],
        exact=_points(exact),
        exact_end=exact[-1] if exact else None,
        tokens=_points(tokens),
        label_heights=_apart(exact[-1][1], tokens[-1][1]) if exact else None,
        best=(x(best.step), match(best.exact_match or 0.0)) if best else None,
    )


def _subtitle(last: Metrics, best: Metrics | None) -> str:
    """Steps, seconds and the best exact match, in one line."""
    told = [f"{last.step:,} {'step' if last.step == 1 else 'steps'}", f"{last.cpu_seconds:.1f} CPU s"]
    if best is not None:
        told.append(f"best exact match {best.exact_match or 0.0:.1%} after step {best.step:,}")
    return " · ".join(told)


def _loss_range(losses: Sequence[float]) -> tuple[float, float]:
    """Bounds of the loss axis: the data's, with a little air, never both the same."""
    low, high = min(losses), max(losses)
    return low / 1.15, max(high * 1.15, low * 1.5)


def _steps(last: int) -> list[int]:
    """Round numbers from 0 to `last`, at most eight."""
    unit = 10 ** max(len(str(last)) - 2, 0)
    every = next(unit * factor for factor in (1, 2, 5, 10, 20, 50) if last <= 7 * unit * factor)
    return list(range(0, last + 1, every))


def _decades(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5 times a power of ten in [low, high]; only powers of ten where these are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    shown = [value for value in fine if low <= value <= high]
    if len(shown) > 7:
        return [value for value in (10.0**power for power in powers) if low <= value <= high]
    return shown or [round(math.sqrt(low * high), 4)]


def _groups(steps: Sequence[int], losses: Sequence[float]) -> list[tuple[float, float, float, float]]:
    """The steps in at most `BINS` groups of neighbours: (middle step, least, mean, greatest loss)."""
    size = math.ceil(len(steps) / BINS)
    groups = []
    for start in range(0, len(steps), size):
        chunk, members = losses[start : start + size], steps[start : start + size]
        groups.append(((members[0] + members[-1]) / 2, min(chunk), math.fsum(chunk) / len(chunk), max(chunk)))
    return groups


def _apart(first: float, second: float) -> tuple[float, float]:
    """Heights for two labels that would touch: the upper stays above, both move as little as needed."""
    gap = abs(first - second)
    if gap >= LABEL_GAP:
        return first, second
    push = (LABEL_GAP - gap) / 2
    return (first - push, second + push) if first < second else (first + push, second - push)


def _points(points: Sequence[tuple[float, float]]) -> str:
    """Coordinates as SVG writes them."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _polygon(lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]]) -> str:
    """The outline of the band between two lines."""
    return _points([*lower, *reversed(upper)])
