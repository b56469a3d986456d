"""What a picture shows: boxes with rows, arrows between them, nested clusters; no colours and no DOT yet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from minigrad.drawing.folding import Folding, Path, path_of, tally
from minigrad.drawing.graph import Graph, Operand, Vertex
from minigrad.drawing.numerals import Grid, grid, number, shape_text
from minigrad.drawing.palette import Kind
from minigrad.tape import Array

RowKind = Literal["parameter", "constant", "detail", "value", "gradient"]
Flow = Literal["right", "down", "up"]

NOT_COMPUTED = "not computed"
RELEASED = "released: use retain_graph=True"
_FEW = 24
"""Up to so many boxes, a picture without modules reads from left to right, with every value it has."""

_DERIVED = {"kept", "keepdims", "share"}
"""Parameters that the shapes on the arrows say already."""

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

    title: what it is called, or the operation. badge: the operation, or its sign, where the title does not say it.
    caption: the module it stands for.
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
    outputs = {folding.stand_in[output] for output in graph.outputs}
    boxes = {
        index: _box(graph, folding, index, outputs, shown)
        for index, place in enumerate(folding.stand_in)
        if place == index and index not in folding.rows
    }
    arrows = _arrows(graph, folding, boxes)
    root = _clusters(boxes.values(), folding)
    notes = [folding.note] if folding.note else []
    return View(boxes, arrows, root, flow or ("right" if small else "down"), title, notes)


def _box(graph: Graph, folding: Folding, index: int, outputs: set[int], values: bool) -> Box:
    vertex = graph.vertices[index]
    if index in folding.groups:
        return _group_box(graph, folding, index, outputs)
    box = Box(index, _kind(vertex, index in outputs), _title(vertex), path=path_of(vertex))
    sign = SIGNS.get(vertex.operation, "")
    box.badge = sign or (vertex.operation if vertex.name else "")
    sources = [o for o in vertex.operands if o.source is not None and o.source not in folding.rows]
    if len(sources) > 1:
        box.ports = [operand.name for operand in sources]
    for operand in vertex.operands:
        row = _operand_row(graph, folding, vertex, operand)
        if row is not None:
            box.rows.append(row)
    box.rows += _param_rows(vertex)
    if vertex.shape and (index in outputs or not vertex.operation):
        box.rows.append(Row("detail", "", ((f"{shape_text(vertex.shape)} {vertex.dtype}",),)))
    if values:
        box.rows += _value_rows(vertex)
    if (values or graph.differentiated) and vertex.tracked:
        box.rows += _gradient_rows(vertex, graph.differentiated)
    box.description = _description(graph, vertex)
    return box


def _kind(vertex: Vertex, is_output: bool) -> Kind:
    if not vertex.operation:
        return "input" if vertex.tracked else "constant"
    return "output" if is_output else "operation"


def _title(vertex: Vertex) -> str:
    if not vertex.operation:
        return vertex.name or ("input" if vertex.tracked else "tensor")
    return vertex.name or vertex.operation


def _operand_row(graph: Graph, folding: Folding, vertex: Vertex, operand: Operand) -> Row | None:
    """The row of an operand that no arrow brings: a parameter, a constant, a number."""
    if operand.source is not None:
        if operand.source not in folding.rows:
            return None
        leaf = graph.vertices[operand.source]
        cells = [shape_text(operand.shape) or "scalar"]
        if graph.differentiated:
            cells.append(f"gradient {_norm(leaf.gradient)}")
        return Row("parameter", _nearest_name(leaf.name or operand.name, vertex.path), (tuple(cells),))
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


def _param_rows(vertex: Vertex) -> Iterator[Row]:
    """The keyword parameters that a user wrote: arrays as constants, the others in one line."""
    words = []
    for name, value in vertex.params.items():
        if value is None or name in _DERIVED:
            continue
        array = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        if isinstance(array, np.ndarray):
            yield Row("constant", name, ((shape_text(array.shape) or number(array),),))
        else:
            words.append(f"{name} {_param(value)}")
    if words:
        yield Row("detail", "", ((", ".join(words),),))


def _param(value: Any) -> str:
    """A parameter as text: axes 0 2 1 3, index 2:5, -1."""
    if isinstance(value, tuple):
        plain = all(isinstance(part, int | np.integer) for part in value)
        return (" " if plain else ", ").join(map(_param, value)) or "()"
    if isinstance(value, slice):
        ends = ["" if end is None else str(end) for end in (value.start, value.stop, value.step)]
        return ":".join(ends if value.step is not None else ends[:2])
    if isinstance(value, np.ndarray):
        return f"array {shape_text(value.shape)}".rstrip()
    if value is Ellipsis:
        return "..."
    return number(value) if isinstance(value, int | float | np.number) else str(value)


def _value_rows(vertex: Vertex) -> Iterator[Row]:
    if vertex.value is not None:
        numbers = grid(vertex.value)
        if numbers is not None:
            yield Row("value", "value", numbers)
    elif vertex.released:
        yield Row("value", "value", ((RELEASED,),))


def _gradient_rows(vertex: Vertex, differentiated: bool) -> Iterator[Row]:
    """The cotangent; of an operation that none was computed for, only where all were asked for."""
    gradient = vertex.gradient
    numbers = None if gradient is None or isinstance(gradient, float) else grid(gradient)
    if numbers is not None:
        yield Row("gradient", "gradient", numbers)
    elif gradient is not None or differentiated or not vertex.operation:
        yield Row("gradient", "gradient", ((_norm(gradient),),))


def _norm(gradient: Array | float | None) -> str:
    return NOT_COMPUTED if gradient is None else f"norm {number(np.linalg.norm(gradient))}"


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


def _group_box(graph: Graph, folding: Folding, index: int, outputs: set[int]) -> Box:
    group = folding.groups[index]
    kind: Kind = "output" if index in outputs else "module"
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
