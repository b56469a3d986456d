"""A view as DOT text.

Written directly, not through the `graphviz` package: every attribute here is either ours or an HTML-like label, and
escaping for those is XML's; a package that guesses from its first and last character whether a string is HTML would
have to be guarded against. Ids are n0, c0, e0, by order of creation: a user's name never is one, for a colon in an id
makes a port. HTML tables, never records.
"""

import math
from collections.abc import Iterator
from itertools import count

from minigrad.drawing.palette import ARROW, CLUSTERS, PAPER, QUIET_TEXT, TEXT
from minigrad.drawing.tables import box_table, cell, phrase, row, table
from minigrad.drawing.text import escape
from minigrad.drawing.view import Arrow, Cluster, Flow, View

FONT = "Helvetica"
_MANY = 300  # boxes: ranked together, not a cluster at a time, a big graph takes half the time; a small one looks worse
_DIRECTIONS: dict[Flow, str] = {"right": "LR", "down": "TB", "up": "BT"}


def write_dot(view: View) -> str:
    """The DOT text of a view: the same view, the same text."""
    across = view.flow == "right"
    lines = [
        "digraph minigrad {",
        f'  graph [rankdir={_DIRECTIONS[view.flow]}, bgcolor="{PAPER}", fontname="{FONT}", fontcolor="{TEXT}", '
        f"pad=0.2, {'ranksep=0.55, nodesep=0.22' if across else 'ranksep=0.32, nodesep=0.3'}, nslimit=2, nslimit1=2"
        f"{', newrank=true' if len(view.boxes) > _MANY else ''}];",
        f'  node [shape=plain, fontname="{FONT}", fontsize=10, fontcolor="{TEXT}"];',
        f'  edge [fontname="{FONT}", fontsize=9, fontcolor="{QUIET_TEXT}", color="{ARROW}", penwidth=1.2, '
        "arrowsize=0.65];",
    ]
    heading = _heading(view)
    if heading:
        lines.append(f"  graph [labelloc=t, label=<{heading}>];")
    names = {index: f"n{position}" for position, index in enumerate(view.boxes)}
    lines += _cluster_lines(view, names)
    norms = [arrow.norm for arrow in view.arrows if arrow.norm and math.isfinite(arrow.norm)]
    range_of_norms = (min(norms), max(norms)) if norms else (0.0, 0.0)
    for position, arrow in enumerate(view.arrows):
        lines.append(f"  {_arrow_line(view, arrow, names, position, range_of_norms)}")
    return "\n".join([*lines, "}", ""])


def _heading(view: View) -> str:
    parts = []
    if view.title:
        parts.append(row(cell(phrase(view.title, 14, bold=True, longest=100))))
    parts += [row(cell(phrase(note, 10, QUIET_TEXT, longest=100))) for note in view.notes]
    return table(*parts, padding=2) if parts else ""


def clusters(view: View) -> Iterator[tuple[str, Cluster, int]]:
    """The clusters of a view, outer before inner: each with its id in the DOT text and how deep it is, from 1."""
    numbers = count()
    waiting = [(inner, 1) for inner in reversed(view.root.clusters)]
    while waiting:
        cluster, depth = waiting.pop()
        yield f"c{next(numbers)}", cluster, depth
        waiting.extend((inner, depth + 1) for inner in reversed(cluster.clusters))


def _cluster_lines(view: View, names: dict[int, str]) -> Iterator[str]:
    """Boxes and clusters, nested; without recursion, however deep modules are."""
    open_depth = 0
    yield from _box_lines(view, view.root, names, "")
    for name, cluster, depth in clusters(view):
        while open_depth >= depth:
            open_depth -= 1
            yield f"{_indent(open_depth)}}}"
        open_depth, indent = depth, _indent(depth - 1)
        fill, line = CLUSTERS[(depth - 1) % len(CLUSTERS)]
        yield f"{indent}subgraph cluster_{name} {{"
        yield (
            f'{indent}  graph [id="{name}", label=<{phrase(cluster.label, 11)}>, labeljust=l, labelloc=t, '
            f'style="rounded,filled", fillcolor="{fill}", color="{line}", penwidth=1, margin=10];'
        )
        yield from _box_lines(view, cluster, names, indent)
    for depth in range(open_depth - 1, -1, -1):
        yield f"{_indent(depth)}}}"


def _box_lines(view: View, cluster: Cluster, names: dict[int, str], indent: str) -> Iterator[str]:
    for index in sorted(cluster.boxes):
        yield f'{indent}  {names[index]} [id="{names[index]}", label=<{box_table(view.boxes[index], view.flow)}>];'


def _indent(depth: int) -> str:
    return "  " * min(depth, 20)


def _arrow_line(
    view: View, arrow: Arrow, names: dict[int, str], position: int, range_of_norms: tuple[float, float]
) -> str:
    side = {"right": "w", "down": "n", "up": "s"}[view.flow]
    target = names[arrow.target] + ("" if arrow.port is None else f":p{arrow.port}:{side}")
    if arrow.notes:
        lines = [
            row(cell(phrase(text, 9, QUIET_TEXT), ' ALIGN="LEFT"')) for text in (arrow.label, *arrow.notes) if text
        ]
        label = f", label=<{table(*lines, padding=1)}>"
    else:
        label = f", label=<{table(row(cell(escape(arrow.label))), padding=3)}>" if arrow.label else ""
    width = "" if arrow.norm is None else f", penwidth={_width(arrow.norm, *range_of_norms):.2g}"
    return f'{names[arrow.source]} -> {target} [id="e{position}", weight={_weight(view, arrow)}{width}{label}];'


THIN, THICK = 0.8, 3.6
DECADES = 2  # powers of ten between thin and thick, at least: what differs little looks alike


def _width(norm: float, least: float, most: float) -> float:
    """An arrow's width by the logarithm of its gradient's norm; thick is the greatest of the picture."""
    if not norm > 0 or not math.isfinite(norm):
        return THIN
    span = max(math.log10(most / least), DECADES)
    return THICK - (THICK - THIN) * math.log10(most / norm) / span


def _weight(view: View, arrow: Arrow) -> int:
    """How short an arrow is to be: slack goes between modules, not within them nor below the inputs."""
    source, target = view.boxes[arrow.source], view.boxes[arrow.target]
    if source.kind in ("input", "constant"):
        return 3
    return 2 if source.path == target.path else 1
