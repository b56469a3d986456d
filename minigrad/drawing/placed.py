"""A picture whose places are known: boxes, panels, words and lines, for the engine to draw but not to lay out.

Coordinates are points (1/72 inch), x to the right, y upwards. The DOT text holds every position, for `neato -n2`, so
that such a picture is written as SVG, PNG and PDF by the same engines as all others.
"""

from collections.abc import Iterable, Sequence
from math import hypot

from minigrad.drawing.palette import ARROW, PAPER, TEXT, Pair
from minigrad.drawing.tables import cell, phrase, row, table
from minigrad.drawing.text import escape, width

Point = tuple[float, float]

_ROUND = 0.5523  # of a quarter circle's radius: where a cubic curve has its handles
_HEAD = 7.0  # the length of an arrow's head
_MARGIN = 16.0


class Canvas:
    """What has been put on the picture so far, and its DOT text."""

    def __init__(self) -> None:
        self._panels: list[str] = []
        self._nodes: list[str] = []
        self._edges: list[str] = []
        self._corners: list[Point] = []
        self.texts: dict[str, str] = {}

    def panel(self, left: float, bottom: float, right: float, top: float, colours: Pair) -> None:
        """A rounded surface behind everything else."""
        name = f"cluster_c{len(self._panels)}"
        self._corners += [(left, bottom), (right, top)]
        self._panels.append(
            f'  subgraph {name} {{ graph [bb="{left:g},{bottom:g},{right:g},{top:g}", style="rounded,filled", '
            f'fillcolor="{colours.fill}", color="{colours.line}", penwidth=1.2, label=""]; '
            f"{self._anchor((left + right) / 2, (bottom + top) / 2)} }}"
        )

    def box(
        self, centre: Point, size: Point, lines: Sequence[str], colours: Pair, about: str = "", bold: bool = False
    ) -> str:
        """A rounded box with lines of text in it; its id."""
        words = "<BR/>".join(escape(line) for line in lines)
        label = f"<B>{words}</B>" if bold else words
        return self._node(
            centre,
            size,
            f'shape=box, style="rounded,filled", fillcolor="{colours.fill}", color="{colours.line}", label=<{label}>',
            about,
        )

    def circle(self, centre: Point, radius: float, text: str, about: str = "", fill: str = PAPER) -> str:
        """A circle with a sign in it; its id."""
        style = f'style=filled, fillcolor="{fill}"' if fill else "style=solid"
        return self._node(
            centre,
            (2 * radius, 2 * radius),
            f"shape=circle, {style}, fontsize=15, label=<{escape(text) or ' '}>",
            about,
        )

    def words(
        self,
        at: Point,
        text: str,
        size: float = 10,
        colour: str = TEXT,
        align: str = "centre",
        bold: bool = False,
        ground: str = "",
    ) -> None:
        """A line of text, its middle at the height of `at`; `ground` is the colour of the surface it stands on."""
        room = width(text, size, bold)
        x = at[0] + {"centre": 0, "left": room / 2, "right": -room / 2}[align]
        surface = f' BGCOLOR="{ground}"' if ground else ""
        label = table(row(cell(phrase(text, size, colour, bold, longest=200))), attributes=surface)
        self._node((x, at[1]), (room + 2, size * 1.2 + 2), f"shape=plain, label=<{label}>", "")

    def arrow(
        self,
        tail: str,
        head: str,
        points: Sequence[Point],
        colour: str = ARROW,
        thickness: float = 1.3,
        radius: float = 10.0,
        about: str = "",
    ) -> str:
        """A line from `tail` to `head` along `points`, its corners rounded, a head at its end; its id."""
        length = hypot(points[-1][0] - points[-2][0], points[-1][1] - points[-2][1])
        share = min(_HEAD / length, 1.0)
        neck = (
            points[-1][0] + (points[-2][0] - points[-1][0]) * share,
            points[-1][1] + (points[-2][1] - points[-1][1]) * share,
        )
        spline = rounded([*points[:-1], neck], radius)
        return self._edge(tail, head, f"e,{_at(points[-1])} {_spline(spline)}", colour, thickness, about)

    def pointer(self, points: Sequence[Point], colour: str = ARROW, thickness: float = 1.3) -> None:
        """An arrow that leads to or from no box."""
        self.arrow(self._end(points[0]), self._end(points[-1]), points, colour, thickness)

    def curve(self, points: Sequence[Point], colour: str = ARROW, thickness: float = 1.3) -> None:
        """A line of cubic curves through points 0, 3, 6, ..., with the others as handles; no head."""
        tail, head = self._end(points[0]), self._end(points[-1])
        self._edge(tail, head, _spline(points), colour, thickness, "", head=False)

    def source(self) -> str:
        """The DOT text."""
        left, bottom = (min(corner[i] for corner in self._corners) for i in (0, 1))
        right, top = (max(corner[i] for corner in self._corners) for i in (0, 1))
        left, bottom, right, top = left - _MARGIN, bottom - _MARGIN, right + _MARGIN, top + _MARGIN
        self._end((left, bottom))
        self._end((right, top))
        return "\n".join(
            [
                "digraph minigrad {",
                f'  graph [layout=neato, outputorder=edgesfirst, bb="{left:g},{bottom:g},{right:g},{top:g}", '
                f'bgcolor="{PAPER}", pad=0, fontname="Helvetica"];',
                f'  node [fontname="Helvetica", fontsize=11, fontcolor="{TEXT}", color="{TEXT}", penwidth=1.1, '
                "fixedsize=true];",
                f"  edge [arrowsize={_HEAD / 10:g}];",
                *self._panels,
                *self._nodes,
                *self._edges,
                "}",
                "",
            ]
        )

    def _node(self, centre: Point, size: Point, attributes: str, about: str) -> str:
        name = f"n{len(self._nodes)}"
        self._corners += [
            (centre[0] - size[0] / 2, centre[1] - size[1] / 2),
            (centre[0] + size[0] / 2, centre[1] + size[1] / 2),
        ]
        if about:
            self.texts[name] = about
        self._nodes.append(
            f'  {name} [id="{name}", pos="{_at(centre)}!", width={size[0] / 72:.4f}, height={size[1] / 72:.4f}, '
            f"{attributes}];"
        )
        return name

    def _end(self, place: Point) -> str:
        self._nodes.append("  " + self._anchor(*place))
        return f"a{len(self._corners) - 1}"

    def _anchor(self, x: float, y: float) -> str:
        """An invisible node, for the end of a line that is no box's, or so that a panel is not empty."""
        self._corners.append((x, y))
        return f'a{len(self._corners) - 1} [shape=point, style=invis, width=0.01, height=0.01, pos="{_at((x, y))}!"];'

    def _edge(
        self, tail: str, head_name: str, pos: str, colour: str, thickness: float, about: str, head: bool = True
    ) -> str:
        name = f"e{len(self._edges)}"
        if about:
            self.texts[name] = about
        plain = "" if head else ", arrowhead=none"
        self._edges.append(
            f'  {tail} -> {head_name} [id="{name}", pos="{pos}", color="{colour}", penwidth={thickness:g}{plain}];'
        )
        return name


def rounded(points: Sequence[Point], radius: float) -> list[Point]:
    """The cubic curves along a line of straight pieces, with corners rounded to at most `radius`."""
    curve: list[Point] = [points[0]]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        one, two = (_length(corner, other) for other in (before, after))
        reach = min(radius, one / 2, two / 2)
        start, end = _towards(corner, before, reach), _towards(corner, after, reach)
        curve += [curve[-1], start, start]
        curve += [_towards(start, corner, reach * _ROUND), _towards(end, corner, reach * _ROUND), end]
    return [*curve, curve[-1], points[-1], points[-1]]


def _length(one: Point, other: Point) -> float:
    return hypot(other[0] - one[0], other[1] - one[1])


def _towards(start: Point, goal: Point, distance: float) -> Point:
    share = distance / (_length(start, goal) or 1.0)
    return (start[0] + (goal[0] - start[0]) * share, start[1] + (goal[1] - start[1]) * share)


def _at(point: Point) -> str:
    return f"{point[0]:.6g},{point[1]:.6g}"


def _spline(points: Iterable[Point]) -> str:
    return " ".join(_at(point) for point in points)
