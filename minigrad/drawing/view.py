"""What a picture shows: boxes with rows, arrows between them, nested clusters; no colours and no DOT yet."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from minigrad.drawing.folding import Folding, Path, path_of, tally
from minigrad.drawing.graph import Graph, Vertex
from minigrad.drawing.numerals import shape_text
from minigrad.drawing.palette import Kind
from minigrad.drawing.rows import Row, gradient_rows, operand_row, param_rows, saved_rows, value_rows

Flow = Literal["right", "down", "up"]

_FEW = 24
"""Up to so many boxes, a picture without modules reads from left to right, with every value it has."""

_FEW_MAPS = 60
"""Up to so many boxes have heat maps, if they have values: more would not be seen, and take long to lay out."""

SIGNS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "matmul": "@", "negative": "−", "power": "^"}


@dataclass(slots=True)
class Box:
    """A node of the picture.

    title: what it is called, or the operation. badge: the operation, or its sign, where the title does not say it.
    caption: the module it stands for. module: its path, if it stands for a whole module. members: the vertices that it
    stands for. times: for how many equal modules.
    ports: the names of the operands that arrows lead to, where there are several.
    """

    index: int
    kind: Kind
    title: str
    badge: str = ""
    caption: str = ""
    rows: list[Row] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    path: Path = ()
    module: Path = ()
    members: list[int] = field(default_factory=list)
    times: int = 1
    description: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, or to one of its ports.

    label: the shape that goes along it, and the dtype where it is not the usual one. notes: more lines below it.
    norm: of the gradient that flows along it, which its width shows; None where none is known.
    """

    source: int
    target: int
    port: int | None
    label: str
    notes: tuple[str, ...] = ()
    norm: float | None = None


@dataclass(slots=True)
class Cluster:
    """A module with what is in it, boxes by index and clusters."""

    label: str
    path: Path = ()
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
    heat = folding.boxes() <= _FEW_MAPS
    outputs = {folding.stand_in[output] for output in graph.outputs}
    everyone = folding.everyone()
    boxes = {
        index: _group_box(graph, folding, index, outputs, everyone[index])
        if index in folding.groups
        else _box(graph, folding, index, outputs, shown, heat)
        for index, place in enumerate(folding.stand_in)
        if place == index and index not in folding.rows
    }
    arrows = _arrows(graph, folding, boxes)
    root = _clusters(boxes.values(), folding)
    notes = [folding.note] if folding.note else []
    if folding.times and (shown or graph.differentiated):
        notes.append("Where a layer stands for several, its numbers are the first one's.")
    return View(boxes, arrows, root, flow or ("right" if small else "down"), title, notes)


def _box(graph: Graph, folding: Folding, index: int, outputs: set[int], values: bool, heat: bool) -> Box:
    vertex = graph.vertices[index]
    box = Box(index, _kind(vertex, index in outputs), _title(vertex), path=path_of(vertex))
    sign = SIGNS.get(vertex.operation, "")
    box.badge = sign or (vertex.operation if vertex.name else "")
    sources = [o for o in vertex.operands if o.source is not None and o.source not in folding.rows]
    if len(sources) > 1:
        box.ports = [operand.name for operand in sources]
    for operand in vertex.operands:
        row = operand_row(graph, folding, vertex, operand)
        if row is not None:
            box.rows.append(row)
    box.rows += param_rows(vertex)
    if vertex.shape and (index in outputs or not vertex.operation):
        box.rows.append(Row("detail", "", ((f"{shape_text(vertex.shape)} {vertex.dtype}",),)))
    if values:
        box.rows += value_rows(vertex, heat)
    if (values or graph.differentiated) and vertex.tracked:
        box.rows += gradient_rows(vertex, graph.differentiated)
    if values:
        box.rows += saved_rows(vertex.saved_bytes)
    box.description = _description(vertex)
    return box


def _kind(vertex: Vertex, is_output: bool) -> Kind:
    if not vertex.operation:
        return "input" if vertex.tracked else "constant"
    return "output" if is_output else "operation"


def _title(vertex: Vertex) -> str:
    if not vertex.operation:
        return vertex.name or ("input" if vertex.tracked else "tensor")
    return vertex.name or vertex.operation


def _description(vertex: Vertex) -> str:
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


def _group_box(graph: Graph, folding: Folding, index: int, outputs: set[int], members: list[int]) -> Box:
    group = folding.groups[index]
    kind: Kind = "output" if index in outputs else "module"
    path = (*group.path, group.title) if group.module else group.path
    box = Box(index, kind, _labelled(group.title, path, folding) if group.module else group.title, path=group.path)
    box.module, box.members = (path if group.module else ()), members
    box.times = folding.repeated(path) if group.module else 1
    parameters = dict.fromkeys(
        o.source for member in members for o in graph.vertices[member].operands if o.source in folding.rows
    )
    operations = sum(1 for member in members if graph.vertices[member].operation) // box.times
    commonest = tally(graph, members, box.times)
    counted_operations = commonest[0][0] if operations == 1 else f"{operations:,} operations"
    if group.module:
        box.rows.append(Row("detail", "", ((counted_operations,),)))
    elif commonest:
        text = ", ".join(f"{name} ×{count:,}" for name, count in commonest)
        box.rows.append(Row("detail", "", ((text,),)))
    if parameters:
        size = sum(int(np.prod(graph.vertices[source].shape)) for source in parameters if source is not None)
        box.rows.append(Row("parameter", "parameters", ((f"{size // box.times:,}",),)))
    box.description = f"{box.title}: {counted_operations}" + (f"\nin {'.'.join(group.path)}" if group.path else "")
    return box


def _arrows(graph: Graph, folding: Folding, boxes: dict[int, Box]) -> list[Arrow]:
    arrows: dict[Arrow, float | None] = {}  # and the norm of all that flows back along each
    usual = usual_dtype(graph)
    for index, vertex in enumerate(graph.vertices):
        if index in folding.twins:
            continue
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
            label = shape_text(operand.shape)
            if operand.dtype != usual:
                label = f"{label} {operand.dtype}".strip()
            arrow = Arrow(source, target, port, label)
            norm = arrows.setdefault(arrow, None)
            if operand.contribution is not None:
                arrows[arrow] = math.hypot(norm or 0.0, operand.contribution.norm)
    return [replace(arrow, norm=norm) for arrow, norm in arrows.items()]


def usual_dtype(graph: Graph) -> str:
    """The dtype that most values have: an arrow says its own where it is another."""
    return Counter(vertex.dtype for vertex in graph.vertices).most_common(1)[0][0] if graph.vertices else ""


def _clusters(boxes: Iterable[Box], folding: Folding) -> Cluster:
    """The tree of modules. A module that has one thing in it is no frame: a dotted label, or a caption of its box."""
    root = Cluster("")
    known: dict[Path, Cluster] = {(): root}
    for box in boxes:
        for length in range(1, len(box.path) + 1):
            path = box.path[:length]
            if path not in known:
                cluster = known[path] = Cluster(_labelled(path[-1], path, folding), path)
                known[path[:-1]].clusters.append(cluster)
        known[box.path].boxes.append(box.index)
    by_index = {box.index: box for box in boxes}
    for path in sorted(known, key=len, reverse=True):  # innermost first
        cluster = known[path]
        cluster.clusters = [inner for inner in cluster.clusters if not _dissolved(inner, cluster, by_index)]
        while path and not cluster.boxes and len(cluster.clusters) == 1:
            only = cluster.clusters[0]
            cluster.label, cluster.path = f"{cluster.label}.{only.label}", only.path
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
    count, last = folding.repeated(path), folding.times.get(path, (1, ""))[1]
    name, call = (name.partition("#")[0], name.partition("#")[2])
    label = f"{name}, call {call}" if call else name
    return f"{label}–{last}  ×{count}" if count > 1 else label
