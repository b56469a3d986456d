"""What a page tells of a box beside its picture, as plain JSON values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minigrad.drawing.folding import dotted, tally
from minigrad.drawing.graph import Graph, Vertex
from minigrad.drawing.numerals import grid, number, shape_text
from minigrad.drawing.rows import NOT_COMPUTED, RELEASED
from minigrad.drawing.view import Box


def box_details(graph: Graph, box: Box) -> Mapping[str, Any]:
    """Title, module path, operation and formula, shape, value, gradient, bytes kept, source line: what there is."""
    found: dict[str, Any] = {"title": box.title, "path": dotted(box.module or box.path)}
    if box.members:
        found["operations"] = [f"{name} ×{count:,}" for name, count in tally(graph, box.members, box.times, 12)]
        found["saved"] = _bytes(sum(graph.vertices[member].saved_bytes for member in box.members) // box.times)
    else:
        vertex = graph.vertices[box.index]
        found |= {"operation": vertex.operation, "formula": vertex.formula, "source": vertex.source}
        found |= {
            "shape": f"{shape_text(vertex.shape) or 'scalar'} {vertex.dtype}",
            "saved": _bytes(vertex.saved_bytes),
        }
        found |= {"value": _value(vertex), "gradient": _gradient(vertex, graph.differentiated)}
    return {name: value for name, value in found.items() if value}


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count else ""


def _value(vertex: Vertex) -> str | list[list[str]]:
    numbers = None if vertex.value is None else grid(vertex.value)
    if numbers is not None:
        return [list(row) for row in numbers]
    if (short := vertex.summary()) is not None:
        return f"mean {number(short.mean)}, spread {number(short.spread)}"
    return RELEASED if vertex.released else ""


def _gradient(vertex: Vertex, differentiated: bool) -> str | list[list[str]]:
    if vertex.gradient is None:
        return NOT_COMPUTED if differentiated and vertex.tracked else ""
    numbers = None if isinstance(vertex.gradient, float) else grid(vertex.gradient)
    if numbers is not None:
        return [list(row) for row in numbers]
    return f"norm {number(np.linalg.norm(vertex.gradient))}"
