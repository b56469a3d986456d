"""Two moons: points of two classes that no straight line parts; and how a score parts them, as an SVG.

Here numbers become coordinates; how they look is in `moons.svg.jinja`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Edge = tuple[int, int, int]  # row and column of a grid point, and 0 for its edge to the next column, 1 to the next row

SIZE, MARGIN, TOP = 560, 24, 84
X_RANGE, Y_RANGE = (-1.6, 2.6), (-1.3, 1.8)
STEP = 0.05  # of the grid on which the score is asked
FAR_BELOW = -1e9  # around the grid, so that every region is closed


def make_moons(count: int, noise: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """(points (count, 2), labels (count,), each -1 or 1): two half circles that reach into each other.

    noise: the standard deviation of a point's distance from its half circle, in each direction.
    """
    angle = rng.uniform(0, np.pi, count)
    labels = np.where(np.arange(count) % 2, 1.0, -1.0)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.where(labels[:, None] < 0, upper, [1.0, 0.5] - upper)
    return points + rng.normal(0, noise, (count, 2)), labels


def draw_moons(points: Array, labels: Array, score: Callable[[Array], Array], title: str, subtitle: str) -> str:
    """The SVG text: the points, the boundary where the score is 0, and the margins where it is -1 and 1.

    score: (n, 2) points -> (n,).
    """
    import jinja2

    # One step beyond the frame on each side: where an outline must turn back, nobody sees it.
    columns = np.arange(X_RANGE[0] - STEP, X_RANGE[1] + 1.5 * STEP, STEP)
    rows = np.arange(Y_RANGE[0] - STEP, Y_RANGE[1] + 1.5 * STEP, STEP)
    grid = np.stack(np.meshgrid(columns, rows), axis=-1)
    scores = score(grid.reshape(-1, 2)).reshape(len(rows), len(columns))
    unit = SIZE / (X_RANGE[1] - X_RANGE[0])
    height = round(unit * (Y_RANGE[1] - Y_RANGE[0]))

    def place(x: float, y: float) -> tuple[float, float]:
        return MARGIN + (x - X_RANGE[0]) * unit, TOP + height - (y - Y_RANGE[0]) * unit

    def outline(level: float) -> str:
        return "".join(
            "M" + "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in loop) + "Z"
            for loop in regions(scores - level, columns, rows)
        )

    wrong = np.sign(score(points)) != labels
    dots = [
        (*place(x, y), label > 0, bool(missed))
        for (x, y), label, missed in zip(points.tolist(), labels.tolist(), wrong.tolist(), strict=True)
    ]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = Path(__file__).with_name("moons.svg.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        size=SIZE, margin=MARGIN, top=TOP, height=height, title=title, subtitle=subtitle, dots=dots,
        above=outline(0.0), far_above=outline(1.0), not_far_below=outline(-1.0),
    )  # fmt: skip


def regions(scores: Array, columns: Array, rows: Array) -> Iterator[list[tuple[float, float]]]:
    """The outlines of where the scores on a grid are above 0, each a closed loop of points, to be filled even-odd.

    Marching squares: in every cell a piece of outline runs from edge to edge, at the places where the score, linear
    along an edge, is 0. Two cells share an edge, so that the pieces join to loops.
    """
    padded = np.pad(scores, 1, constant_values=FAR_BELOW)
    xs, ys = (np.concatenate([[2 * a[0] - a[1]], a, [2 * a[-1] - a[-2]]]) for a in (columns, rows))
    after = dict(pieces(padded > 0))
    while after:
        start, edge = after.popitem()
        loop = [start]
        while edge != start:
            loop.append(edge)
            edge = after.pop(edge)
        yield [crossing(padded, xs, ys, edge) for edge in loop]


def pieces(above: NDArray[np.bool_]) -> Iterator[tuple[Edge, Edge]]:
    """Each cell's pieces of outline, from edge to edge. A cell whose corners alternate is cut at those above 0.

    On a walk around the cell, a piece goes from where the walk leaves what is above to where it came in. The cell on
    the other side of an edge is walked the other way, so that pieces meet end to start.
    """
    for row, column in np.argwhere(above[:-1, :-1] | above[1:, :-1] | above[:-1, 1:] | above[1:, 1:]).tolist():
        corners = above[row, column], above[row, column + 1], above[row + 1, column + 1], above[row + 1, column]
        edges = (row, column, 0), (row, column + 1, 1), (row + 1, column, 0), (row, column, 1)  # each after its corner
        for side in range(4):
            if corners[side] and not corners[(side + 1) % 4]:
                first = side
                while corners[(first - 1) % 4]:
                    first -= 1
                yield edges[side], edges[(first - 1) % 4]


def crossing(scores: Array, xs: Array, ys: Array, edge: Edge) -> tuple[float, float]:
    """Where on an edge the score is 0."""
    row, column, downward = edge
    start, end = scores[row, column], scores[row + downward, column + 1 - downward]
    share = start / (start - end)
    if downward:
        return float(xs[column]), float(ys[row] + share * (ys[row + 1] - ys[row]))
    return float(xs[column] + share * (xs[column + 1] - xs[column])), float(ys[row])
