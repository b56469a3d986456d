"""The rows of a box: parameters, constants, what else was asked of the operation, value and gradient."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from minigrad.drawing.folding import Folding
from minigrad.drawing.graph import Graph, Operand, Vertex
from minigrad.drawing.numerals import Grid, grid, number, shape_text, size_text
from minigrad.drawing.palette import heat_colour

RowKind = Literal["parameter", "constant", "detail", "value", "gradient", "heat"]

NOT_COMPUTED = "not computed"
RELEASED = "released: use retain_graph=True"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a box: what it is about, and its text or its numbers; of a heat map, its colours."""

    kind: RowKind
    label: str
    cells: Grid


def operand_row(graph: Graph, folding: Folding, vertex: Vertex, operand: Operand) -> Row | None:
    """The row of an operand that no arrow brings: a parameter, a constant, a number."""
    if operand.source is not None:
        if operand.source not in folding.rows:
            return None
        leaf = graph.vertices[operand.source]
        cells = [shape_text(operand.shape) or "scalar"]
        if graph.differentiated:
            cells.append(f"gradient {_norm(leaf.gradient)}")
        return Row("parameter", nearest_name(leaf.name or operand.name, vertex.path), (tuple(cells),))
    label = operand.label or operand.name
    if not operand.shape and operand.value is not None:
        return Row("constant", label, ((number(np.asarray(operand.value).item()),),))
    return Row("constant", label, ((shape_text(operand.shape) or "scalar",),))


def nearest_name(name: str, path: str) -> str:
    """A parameter's name as its user sees it: without the module that both are in."""
    shared = 0
    parts, around = name.split("."), path.split(".")
    while shared < min(len(parts) - 1, len(around)) and parts[shared] == around[shared].partition("#")[0]:
        shared += 1
    return ".".join(parts[shared:])


def param_rows(vertex: Vertex) -> Iterator[Row]:
    """The keyword parameters that a user wrote: arrays as constants, the others in one line."""
    words = []
    for name, value in vertex.params.items():
        if value is None:
            continue
        array = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        if _is_array(array):
            yield Row("constant", name, ((shape_text(array.shape) or number(array),),))
        else:
            words.append(f"{name} {_param(value)}")
    if words:
        yield Row("detail", "", ((", ".join(words),),))


def _is_array(value: Any) -> bool:
    """Whether a parameter is an array, or what a released node has in place of one: a shape."""
    return isinstance(value, np.ndarray) or bool(getattr(value, "shape", ()))


def _param(value: Any) -> str:
    """A parameter as text: axes 0 2 1 3, index 2:5, -1."""
    if isinstance(value, tuple):
        plain = all(isinstance(part, int | np.integer) for part in value)
        return (" " if plain else ", ").join(map(_param, value)) or "()"
    if isinstance(value, slice):
        ends = ["" if end is None else str(end) for end in (value.start, value.stop, value.step)]
        return ":".join(ends if value.step is not None else ends[:2])
    if _is_array(value):
        return f"array {shape_text(value.shape)}".rstrip()
    if value is Ellipsis:
        return "..."
    return number(value) if isinstance(value, int | float | np.number) else str(value)


def value_rows(vertex: Vertex, heat: bool) -> Iterator[Row]:
    """The value: its numbers if it is small, else mean and spread, and a heat map; or that it was released."""
    numbers = None if vertex.value is None else grid(vertex.value)
    if numbers is not None:
        yield Row("value", "value", numbers)
    elif (short := vertex.summary()) is not None:
        yield Row("value", "value", ((f"{number(short.mean)} ± {number(short.spread)}",),))
        if heat:
            yield Row("heat", "", tuple(tuple(heat_colour(part) for part in row) for row in short.thumbnail))
    elif vertex.released:
        yield Row("value", "value", ((RELEASED,),))


def gradient_rows(vertex: Vertex, differentiated: bool) -> Iterator[Row]:
    """The cotangent; of an operation that none was computed for, only where all were asked for."""
    gradient = vertex.gradient
    numbers = None if gradient is None or isinstance(gradient, float) else grid(gradient)
    if numbers is not None:
        yield Row("gradient", "gradient", numbers)
    elif gradient is not None or differentiated or not vertex.operation:
        yield Row("gradient", "gradient", ((_norm(gradient),),))


def saved_rows(count: int) -> Iterator[Row]:
    """How much is kept for the backward pass, if it is worth a line."""
    if count >= 1000:
        yield Row("detail", "", ((f"keeps {size_text(count)}",),))


def _norm(gradient: npt.NDArray[Any] | float | None) -> str:
    return NOT_COMPUTED if gradient is None else f"norm {number(np.linalg.norm(gradient))}"
