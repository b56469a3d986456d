"""The backward pass as a picture: the cotangents' way, from the output back to the leaves.

A box is the cotangent of what the forward picture shows there; an arrow is what one operation adds to it, with its
shape, its norm and the rule that made it. Where several arrows meet, their sum is the cotangent.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from minigrad.drawing.folding import Folding
from minigrad.drawing.graph import Graph, Operand, Vertex
from minigrad.drawing.numerals import number, shape_text
from minigrad.drawing.rows import Row, gradient_rows, nearest_name
from minigrad.drawing.view import Arrow, Box, View
from minigrad.formulas import rows as table_of_rules
from minigrad.formulas.rows import Row as Rule

SUM = "Σ"


def backward_view(graph: Graph, folding: Folding, forward: View) -> View:
    """The view of the backward pass over what a forward view shows, which must have gradients."""
    arrows = _arrows(graph, folding)
    meeting = Counter(arrow.target for arrow in arrows)
    reached = [box for box in forward.boxes.values() if _flows(graph, folding, box)]
    boxes = {box.index: _box(graph, folding, box, meeting[box.index]) for box in reached}
    arrows = [arrow for arrow in arrows if arrow.source in boxes and arrow.target in boxes]
    _keep_known(forward, boxes)
    note = f"Backward: an arrow is one contribution, the wider, the greater its norm; {SUM} is their sum."
    return View(boxes, arrows, forward.root, forward.flow, forward.title, [note, *forward.notes])


def _flows(graph: Graph, folding: Folding, box: Box) -> bool:
    """Whether a gradient comes to a box."""
    members = folding.groups[box.index].members if box.index in folding.groups else [box.index]
    return any(graph.vertices[member].gradient is not None for member in members)


def _box(graph: Graph, folding: Folding, box: Box, meeting: int) -> Box:
    group = folding.groups.get(box.index)
    vertex = graph.vertices[box.index]
    rows: list[Row] = []
    if group is None:
        rows += gradient_rows(vertex, True)
        rows += _parameter_rows(graph, folding, vertex)
        rows += [Row("detail", "", ((line,),)) for line in _kernel(vertex)]
    elif box.rows:
        rows.append(box.rows[0])
    badge = SUM if meeting > 1 else box.badge
    if meeting > 1:
        rows.insert(0, Row("detail", "", ((f"sum of {meeting} contributions",),)))
    return replace(
        box, title=f"d {box.title}", badge=badge, rows=rows, ports=[], description=f"cotangent of {box.description}"
    )


def _parameter_rows(graph: Graph, folding: Folding, vertex: Vertex) -> Iterator[Row]:
    """What an operation adds to the gradients of its parameters, which have no boxes."""
    for operand in vertex.operands:
        if operand.source in folding.rows and operand.contribution is not None:
            name = nearest_name(graph.vertices[operand.source].name or operand.name, vertex.path)
            cells = (shape_text(operand.shape) or "scalar", f"norm {number(operand.contribution.norm)}")
            yield Row("parameter", f"d {name}", (cells,))


def _arrows(graph: Graph, folding: Folding) -> list[Arrow]:
    """From each operation back to what it took: every contribution between two boxes, those of one pair apart."""
    found: list[Arrow] = []
    for index in range(len(graph.vertices) - 1, -1, -1):
        if index in folding.twins:
            continue
        vertex, source = graph.vertices[index], folding.stand_in[index]
        for operand in vertex.operands:
            if operand.source is None or operand.contribution is None or operand.source in folding.rows:
                continue
            target = folding.stand_in[operand.source]
            if target == source or (operand.source, index) in folding.steps:
                continue
            shape, notes = shape_text(operand.shape), tuple(_notes(vertex, operand))
            found.append(Arrow(source, target, None, shape, notes, operand.contribution.norm))
    return found


def _notes(vertex: Vertex, operand: Operand) -> list[str]:
    """What stands on an arrow below the shape: the norm, the rule, the axes that were summed over."""
    assert operand.contribution is not None
    lines = [f"norm {number(operand.contribution.norm)}"]
    rule = _rules().get(vertex.operation)
    derivatives = () if rule is None or rule.fused else rule.derivatives
    lines += [f"d{operand.name} = {derivative}" for derivative in derivatives if derivative.operand == operand.name]
    summed = operand.contribution.summed
    if summed:
        lines.append(f"summed over {'axis' if len(summed) == 1 else 'axes'} {', '.join(map(str, summed))}")
    return lines


def _kernel(vertex: Vertex) -> list[str]:
    """The rule of a fused operation, which serves all operands: a line a derivative."""
    rule = _rules().get(vertex.operation)
    if rule is None or not rule.fused:
        return []
    return [piece for derivative in rule.derivatives for piece in str(derivative).split("; ")]


@lru_cache(maxsize=1)
def _rules() -> dict[str, Rule]:
    return {row.name: row for row in table_of_rules()}


def _keep_known(forward: View, boxes: dict[int, Box]) -> None:
    """Leave out of the clusters what is left out of the picture, and clusters that are empty then."""
    waiting = [forward.root]
    order = []
    while waiting:
        cluster = waiting.pop()
        order.append(cluster)
        waiting.extend(cluster.clusters)
    for cluster in reversed(order):
        cluster.boxes = [index for index in cluster.boxes if index in boxes]
        cluster.clusters = [inner for inner in cluster.clusters if inner.boxes or inner.clusters]
