"""What a picture shows: boxes with rows, arrows between them, nested clusters; no colours and no DOT yet."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from minigrad.drawing.folding import Folding, Path, path_of, tally
from minigrad.drawing.graph import Graph, Operand, Vertex
from minigrad.drawing.numerals import Grid, grid, number, shape_text
from minigrad.drawing.palette import Kind

RowKind = Literal["parameter", "constant", "detail", "value", "gradient"]
Flow = Literal["right", "down", "up"]

NOT_COMPUTED = "not computed"
RELEASED = "released: use retain_graph=True"
_FEW = 24
"""Up to so many boxes, a picture without modules reads from left to right, with every value it has."""

SIGNS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "matmul": "@", "negative": "−", "power": "^"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a box: what it is about, and its text or its numbers."""

    kind: RowKind
    label: str
    cells: Grid


@dataclass(slots=True)
class Box:
    """A node of the picture.

    sign: the operation's, such as "×". caption: what the thing is called, beside what it is.
    ports: the names of the operands that arrows lead to, where there are several.
    """

    index: int
    kind: Kind
    title: str
    sign: str = ""
    caption: str = ""
    rows: list[Row] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    path: Path = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, or to one of its ports. `label` is the shape that goes along it."""

    source: int
    target: int
    port: int | None
    label: str


@dataclass(slots=True)
class Cluster:
    """A module with what is in it, boxes by index and clusters."""

    label: str
    boxes: list[int] = field(default_factory=list)
    clusters: list["Cluster"] = field(default_factory=list)


@dataclass(slots=True)
class View:
    """All that is drawn; `root` is the outermost cluster and has no frame."""

    boxes: dict[int, Box]
    arrows: list[Arrow]
    root: Cluster
    flow: Flow
    title: str
    notes: list[str]


def make_view(
    graph: Graph, folding: Folding, title: str = "", flow: Flow | None = None, values: bool | None = None
) -> View:
    """The view of a folded graph.

    flow: where the outputs are; by default to the right in a small graph without modules, else below.
    values: whether numbers are shown; by default in a small graph.
    """
    small = folding.boxes() <= _FEW and not any(vertex.path for vertex in graph.vertices)
    shown = small if values is None else values
    boxes = {
        index: _box(graph, folding, index, shown)
        for index, place in enumerate(folding.stand_in)
        if place == index and index not in folding.rows
    }
    arrows = _arrows(graph, folding, boxes)
    root = _clusters(boxes.values(), folding)
    notes = [folding.note] if folding.note else []
    return View(boxes, arrows, root, flow or ("right" if small else "down"), title, notes)


def _box(graph: Graph, folding: Folding, index: int, values: bool) -> Box:
    vertex = graph.vertices[index]
    if index in folding.groups:
        return _group_box(graph, folding, index)
    box = Box(index, _kind(graph, index), _title(vertex), path=path_of(vertex))
    if vertex.operation and vertex.name:
        box.caption = vertex.name
    box.sign = SIGNS.get(vertex.operation, "")
    sources = [o for o in vertex.operands if o.source is not None and o.source not in folding.rows]
    if len(sources) > 1:
        box.ports = [operand.name for operand in sources]
    for operand in vertex.operands:
        row = _operand_row(graph, folding, vertex, operand)
        if row is not None:
            box.rows.append(row)
    details = ", ".join(f"{name} {_param(value)}" for name, value in vertex.params.items() if value is not None)
    if details:
        box.rows.append(Row("detail", "", ((details,),)))
    if vertex.shape and (index in graph.outputs or not vertex.operation):
        box.rows.append(Row("detail", "", ((f"{shape_text(vertex.shape)} {vertex.dtype}",),)))
    if values:
        box.rows += _value_rows(vertex, graph.differentiated)
    box.description = _description(graph, vertex)
    return box


def _kind(graph: Graph, index: int) -> Kind:
    vertex = graph.vertices[index]
    if not vertex.operation:
        return "input" if vertex.tracked else "constant"
    return "output" if index in graph.outputs else "operation"


def _title(vertex: Vertex) -> str:
    if not vertex.operation:
        return vertex.name or ("input" if vertex.tracked else "tensor")
    return vertex.operation


def _operand_row(graph: Graph, folding: Folding, vertex: Vertex, operand: Operand) -> Row | None:
    """The row of an operand that no arrow brings: a parameter, a constant, a number."""
    if operand.source is not None:
        if operand.source not in folding.rows:
            return None
        name = graph.vertices[operand.source].name or operand.name
        return Row("parameter", _nearest_name(name, vertex.path), ((shape_text(operand.shape) or "scalar",),))
    label = operand.label or operand.name
    if not operand.shape and operand.value is not None:
        return Row("constant", label, ((number(np.asarray(operand.value).item()),),))
    return Row("constant", label, ((shape_text(operand.shape) or "scalar",),))


def _nearest_name(name: str, path: str) -> str:
    """A parameter's name as its user sees it: without the module that both are in."""
    shared = 0
    parts, around = name.split("."), path.split(".")
    while shared < min(len(parts) - 1, len(around)) and parts[shared] == around[shared].partition("#")[0]:
        shared += 1
    return ".".join(parts[shared:])


def _param(value: Any) -> str:
    if isinstance(value, tuple) and value and all(isinstance(size, int | np.integer) for size in value):
        return " ".join(map(str, value))
    if isinstance(value, np.ndarray):
        return f"array {shape_text(value.shape)}"
    return number(value) if isinstance(value, int | float | np.number) else str(value)


def _value_rows(vertex: Vertex, differentiated: bool) -> list[Row]:
    rows = []
    if vertex.value is not None:
        numbers = grid(vertex.value)
        if numbers is not None:
            rows.append(Row("value", "value", numbers))
    elif vertex.released:
        rows.append(Row("value", "value", ((RELEASED,),)))
    if not vertex.tracked:
        return rows
    gradient = vertex.gradient
    if isinstance(gradient, float):
        rows.append(Row("gradient", "gradient", ((f"norm {number(gradient)}",),)))
    elif gradient is not None:
        rows.append(Row("gradient", "gradient", grid(gradient) or ((shape_text(np.shape(gradient)),),)))
    elif differentiated or not vertex.operation:
        rows.append(Row("gradient", "gradient", ((NOT_COMPUTED,),)))
    return rows


def _description(graph: Graph, vertex: Vertex) -> str:
    """What a reader hears, or sees on pointing at the box."""
    shape = f"{shape_text(vertex.shape) or 'scalar'} {vertex.dtype}"
    if not vertex.operation:
        return f"{_title(vertex)}: {shape}"
    lines = [f"{vertex.operation}: {vertex.formula}, gives {shape}"]
    if vertex.path:
        lines.append(f"in {vertex.path}")
    if vertex.saved_bytes:
        lines.append(f"keeps {vertex.saved_bytes:,} bytes for backward")
    return "\n".join(lines)


def _group_box(graph: Graph, folding: Folding, index: int) -> Box:
    group = folding.groups[index]
    kind: Kind = "output" if any(member in graph.outputs for member in group.members) else "module"
    path = (*group.path, group.title) if group.module else group.path
    box = Box(index, kind, _labelled(group.title, path, folding) if group.module else group.title, path=group.path)
    parameters = dict.fromkeys(
        o.source for member in group.members for o in graph.vertices[member].operands if o.source in folding.rows
    )
    operations = sum(1 for member in group.members if graph.vertices[member].operation)
    counted = tally(graph, group.members)
    if group.module:
        box.rows.append(Row("detail", "", ((f"{operations:,} operations",),)))
    elif counted:
        text = ", ".join(f"{name} ×{count:,}" for name, count in counted)
        box.rows.append(Row("detail", "", ((text,),)))
    if parameters:
        size = sum(int(np.prod(graph.vertices[source].shape)) for source in parameters if source is not None)
        box.rows.append(Row("parameter", "parameters", ((f"{size:,}",),)))
    box.description = f"{box.title}: {operations:,} operations" + (f"\nin {'.'.join(group.path)}" if group.path else "")
    return box


def _arrows(graph: Graph, folding: Folding, boxes: dict[int, Box]) -> list[Arrow]:
    arrows: dict[Arrow, None] = {}
    for index, vertex in enumerate(graph.vertices):
        target = folding.stand_in[index]
        position = -1
        for operand in vertex.operands:
            if operand.source is None or operand.source in folding.rows:
                continue
            position += 1
            source = folding.stand_in[operand.source]
            if source == target or (operand.source, index) in folding.steps:
                continue
            port = position if position < len(boxes[target].ports) else None
            arrows[Arrow(source, target, port, shape_text(operand.shape))] = None
    return list(arrows)


def _clusters(boxes: Iterable[Box], folding: Folding) -> Cluster:
    """The tree of modules. A module that has one thing in it is no frame: a dotted label, or a caption of its box."""
    root = Cluster("")
    known: dict[Path, Cluster] = {(): root}
    for box in boxes:
        for length in range(1, len(box.path) + 1):
            path = box.path[:length]
            if path not in known:
                cluster = known[path] = Cluster(_labelled(path[-1], path, folding))
                known[path[:-1]].clusters.append(cluster)
        known[box.path].boxes.append(box.index)
    by_index = {box.index: box for box in boxes}
    for path in sorted(known, key=len, reverse=True):  # innermost first
        cluster = known[path]
        cluster.clusters = [inner for inner in cluster.clusters if not _dissolved(inner, cluster, by_index)]
        while path and not cluster.boxes and len(cluster.clusters) == 1:
            only = cluster.clusters[0]
            cluster.label = f"{cluster.label}.{only.label}"
            cluster.boxes, cluster.clusters = only.boxes, only.clusters
    return root


def _dissolved(inner: Cluster, outer: Cluster, boxes: dict[int, Box]) -> bool:
    """Whether `inner` held one box only, which now is in `outer` and captioned with its name."""
    if inner.clusters or len(inner.boxes) != 1:
        return False
    box = boxes[inner.boxes[0]]
    box.caption = ".".join(part for part in (inner.label, box.caption) if part)
    outer.boxes.append(box.index)
    return True


def _labelled(name: str, path: Path, folding: Folding) -> str:
    count, last = folding.times.get(path, (1, ""))
    name, call = (name.partition("#")[0], name.partition("#")[2])
    label = f"{name}, call {call}" if call else name
    return f"{label}–{last}  ×{count}" if count > 1 else label
