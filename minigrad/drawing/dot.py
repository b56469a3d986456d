"""A view as DOT text.

Written directly, not through the `graphviz` package: every attribute here is either ours or an HTML-like label, and
escaping for those is XML's; a package that guesses from its first and last character whether a string is HTML would
have to be guarded against. Ids are n0, c0, e0, by order of creation: a user's name never is one, for a colon in an id
makes a port. HTML tables, never records.
"""

from collections.abc import Iterator
from itertools import count
from math import ceil

from minigrad.drawing.palette import ARROW, CLUSTERS, KINDS, PAPER, QUIET_TEXT, TEXT, Kind
from minigrad.drawing.text import escape, shorten, width
from minigrad.drawing.view import Arrow, Box, Cluster, Flow, Row, RowKind, View

FONT = "Helvetica"
_LONGEST = 44
_PADDING = 2
_MANY = 300  # boxes: ranked together, not a cluster at a time, a big graph takes half the time; a small one looks worse
_LEAST = 86  # the width of a box with values, so that a column of them looks even
_DIRECTIONS: dict[Flow, str] = {"right": "LR", "down": "TB", "up": "BT"}
_SURFACES: dict[RowKind, Kind | None] = {"parameter": "parameter", "constant": "constant"}


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
    for position, arrow in enumerate(view.arrows):
        lines.append(f"  {_arrow_line(view, arrow, names, position)}")
    return "\n".join([*lines, "}", ""])


def _heading(view: View) -> str:
    parts = []
    if view.title:
        parts.append(f'<TR><TD><FONT POINT-SIZE="14"><B>{escape(shorten(view.title, 100))}</B></FONT></TD></TR>')
    parts += [
        f'<TR><TD><FONT POINT-SIZE="10" COLOR="{QUIET_TEXT}">{escape(note)}</FONT></TD></TR>' for note in view.notes
    ]
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="2">{"".join(parts)}</TABLE>' if parts else ""


def _cluster_lines(view: View, names: dict[int, str]) -> Iterator[str]:
    """Boxes and clusters, nested; without recursion, however deep modules are."""
    numbers = count()
    waiting: list[tuple[Cluster | None, int]] = [(view.root, 0)]  # None: a cluster ends
    while waiting:
        cluster, depth = waiting.pop()
        indent = "  " * min(depth, 20)
        if cluster is None:
            yield f"{indent}}}"
            continue
        if depth:
            name = f"c{next(numbers)}"
            fill, line = CLUSTERS[(depth - 1) % len(CLUSTERS)]
            label = f'<FONT POINT-SIZE="11" COLOR="{TEXT}">{escape(shorten(cluster.label, _LONGEST))}</FONT>'
            yield f"{indent}subgraph cluster_{name} {{"
            yield (
                f'{indent}  graph [id="{name}", label=<{label}>, labeljust=l, labelloc=t, style="rounded,filled", '
                f'fillcolor="{fill}", color="{line}", penwidth=1, margin=10];'
            )
            waiting.append((None, depth))
        for index in sorted(cluster.boxes):
            yield f'{indent}  {names[index]} [id="{names[index]}", label=<{_table(view.boxes[index], view.flow)}>];'
        waiting.extend((inner, depth + 1) for inner in reversed(cluster.clusters))


def _arrow_line(view: View, arrow: Arrow, names: dict[int, str], position: int) -> str:
    side = {"right": "w", "down": "n", "up": "s"}[view.flow]
    target = names[arrow.target] + ("" if arrow.port is None else f":p{arrow.port}:{side}")
    label = f", label=<{_beside(arrow.label)}>" if arrow.label else ""
    return f'{names[arrow.source]} -> {target} [id="e{position}", weight={_weight(view, arrow)}{label}];'


def _weight(view: View, arrow: Arrow) -> int:
    """How short an arrow is to be: slack goes between modules, not within them nor below the inputs."""
    source, target = view.boxes[arrow.source], view.boxes[arrow.target]
    if source.kind in ("input", "constant"):
        return 3
    return 2 if source.path == target.path else 1


def _beside(text: str) -> str:
    """An arrow's label, kept off the arrow."""
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="3"><TR><TD>{escape(text)}</TD></TR></TABLE>'


def _table(box: Box, flow: Flow) -> str:
    """A box as an HTML-like table: operand ports at the side that arrows come from, what it is, its rows in panels."""
    fill, line = KINDS[box.kind]
    strength = 2 if box.kind == "output" else 1
    body = [_ports(box, flow)] if flow == "down" else []
    body += [_title(box), *_panels(box)]
    if flow == "up":
        body.append(_ports(box, flow))
    rows = "".join(body)
    start = f'<TABLE BORDER="{strength}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" STYLE="ROUNDED" '
    start += f'BGCOLOR="{fill}" COLOR="{line}">'
    if flow == "right" and box.ports:
        inner = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>'
        return f"{start}<TR><TD>{_port_table(box, '</TR><TR>')}</TD><TD>{inner}</TD></TR></TABLE>"
    return f"{start}{rows}</TABLE>"


def _ports(box: Box, flow: Flow) -> str:
    return f"<TR><TD>{_port_table(box, '')}</TD></TR>" if box.ports else ""


def _port_table(box: Box, between: str) -> str:
    cells = between.join(
        f'<TD PORT="p{i}" CELLPADDING="3"><FONT POINT-SIZE="8.5" COLOR="{QUIET_TEXT}">{escape(shorten(name, 12))}'
        "</FONT></TD>"
        for i, name in enumerate(box.ports)
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def _title(box: Box) -> str:
    """What the box is: a badge with the operation's sign, and a name; above it, smaller, the module it stands for."""
    title = shorten(box.title, _LONGEST)
    room = ceil(width(title, 12, bold=True)) + 4
    words = f'<TD WIDTH="{room}"><FONT POINT-SIZE="12"><B>{escape(title)}</B></FONT></TD>'
    badge = ""
    if box.badge:
        wide = ceil(width(box.badge, 11, bold=True)) + 8
        room += wide + 4
        badge = f'<TD WIDTH="{wide + 2}">{_badge(box, wide)}</TD>'
    size = f'FIXEDSIZE="TRUE" WIDTH="{room + 4}" HEIGHT="19"'  # else a wide box would tear badge and words apart
    line = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1" {size}><TR>{badge}{words}</TR></TABLE>'
    least = f' WIDTH="{_LEAST}"' if any(row.kind == "value" for row in box.rows) else ""
    cell = f'<TR><TD CELLPADDING="{_PADDING}"{least}>{line}</TD></TR>'
    if not box.caption:
        return cell
    caption = shorten(box.caption, _LONGEST)
    return (
        f'<TR><TD CELLPADDING="3" WIDTH="{ceil(width(caption, 9)) + 14}"><FONT POINT-SIZE="9" COLOR="{QUIET_TEXT}">'
        f"{escape(caption)}</FONT></TD></TR>{cell}"
    )


def _badge(box: Box, wide: int) -> str:
    line = KINDS[box.kind].line
    return (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1" BGCOLOR="{line}" STYLE="ROUNDED"><TR>'
        f'<TD WIDTH="{wide}"><FONT POINT-SIZE="11" COLOR="{PAPER}"><B>{escape(box.badge)}</B></FONT></TD></TR></TABLE>'
    )


def _panels(box: Box) -> Iterator[str]:
    """Rows of one kind beside each other share a panel: blue for parameters, grey for constants, white for values."""
    panel: list[Row] = []
    for row in box.rows:
        if panel and _surface(panel[0]) != _surface(row):
            yield _panel(panel)
            panel = []
        panel.append(row)
    if panel:
        yield _panel(panel)


def _surface(row: Row) -> str | None:
    if row.kind == "detail":
        return None
    kind = _SURFACES.get(row.kind)
    return KINDS[kind].fill if kind else PAPER


def _panel(rows: list[Row]) -> str:
    surface = _surface(rows[0])
    colour = f' BGCOLOR="{surface}" STYLE="ROUNDED"' if surface else ""
    body = "".join(_row(row) for row in rows)
    return (
        f'<TR><TD CELLPADDING="4"><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2"{colour}>'
        f"{body}</TABLE></TD></TR>"
    )


def _row(row: Row) -> str:
    label = shorten(row.label, _LONGEST)
    name = (
        f'<TD ALIGN="LEFT" WIDTH="{_room(label)}"><FONT POINT-SIZE="9" COLOR="{QUIET_TEXT}">{escape(label)}</FONT></TD>'
        if label
        else ""
    )
    if len(row.cells) == 1 and len(row.cells[0]) == 1:
        text = shorten(row.cells[0][0], _LONGEST)
        align = "RIGHT" if name else "CENTER"
        return (
            f'<TR>{name}<TD ALIGN="{align}" WIDTH="{_room(text)}"><FONT POINT-SIZE="9">{escape(text)}</FONT></TD></TR>'
        )
    numbers = "".join(
        "<TR>"
        + "".join(f'<TD ALIGN="RIGHT"><FONT POINT-SIZE="9">{escape(text)}</FONT></TD>' for text in line)
        + "</TR>"
        for line in row.cells
    )
    inner = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2">{numbers}</TABLE>'
    return f'<TR>{name}<TD ALIGN="RIGHT">{inner}</TD></TR>'


def _room(text: str) -> int:
    return ceil(width(text, 9)) + 5
