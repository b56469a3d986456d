"""Losses over steps as lines, one a training, as an SVG. Here numbers become coordinates; see `losses.svg.jinja`."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 400, 64, 590, 76, 350
TITLE = "Post-norm and pre-norm, without and with warm-up"


def draw_losses(losses: Mapping[str, Sequence[float]], last: Mapping[str, float], warmup: int, chance: float) -> str:
    """The SVG text.

    losses: by training, of each step, smoothed here. last: what each is said to end with. chance: the loss of a guess.
    """
    import jinja2

    steps = max(map(len, losses.values()))
    smooth = {name: smoothed(values) for name, values in losses.items()}
    seen = [value for values in smooth.values() for value in values if math.isfinite(value)]
    highest = min(max([*seen, chance]), 2 * chance) * 1.05

    def x(step: float) -> float:
        return LEFT + (RIGHT - LEFT) * step / max(steps, 1)

    def y(loss: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * min(loss, highest) / highest

    ends = apart([y(values[-1]) if math.isfinite(values[-1]) else TOP for values in smooth.values()])
    lines = [
        (name, " ".join(f"{x(n + 1):.1f},{y(v):.1f}" for n, v in enumerate(values) if math.isfinite(v)), end,
         f"{last[name]:.2f}")
        for (name, values), end in zip(smooth.items(), ends, strict=True)
    ]  # fmt: skip
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = Path(__file__).with_name("losses.svg.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        width=WIDTH, height=HEIGHT, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM, title=TITLE, lines=lines,
        subtitle="Loss of each training, smoothed; the same weights and texts, rates of one height.",
        spoken=". ".join(f"{name}: the loss ends at {value:.2f}" for name, value in last.items()),
        chance=y(chance), warm=x(min(warmup, steps)),
        across=[(x(step), f"{step:,}") for step in even(steps)], up=[(y(loss), f"{loss:g}") for loss in even(highest)],
    )  # fmt: skip


def smoothed(values: Sequence[float]) -> list[float]:
    """A running mean over the 20 steps before each."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    starts = np.maximum(np.arange(len(values)) - 19, 0)
    ends = np.arange(1, len(values) + 1)
    return [float(mean) for mean in (sums[ends] - sums[starts]) / (ends - starts)]


def even(largest: float) -> list[float]:
    """Round numbers from 0 to `largest`, at most seven."""
    rough = largest / 6
    power = 10.0 ** math.floor(math.log10(rough))
    every = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    every = int(every) if every >= 1 else every
    return [every * n for n in range(int(largest / every) + 1)]


def apart(places: Sequence[float], least: float = 17.0) -> list[float]:
    """The places moved down where they are nearer than `least` to one above, none below BOTTOM."""
    moved = list(places)
    above = -math.inf
    for index in sorted(range(len(places)), key=places.__getitem__):
        moved[index] = above = max(places[index], above + least)
    below = float(BOTTOM)
    for index in sorted(range(len(moved)), key=moved.__getitem__, reverse=True):  # up again, what is below the ground
        moved[index] = below = min(moved[index], below)
        below -= least
    return moved
