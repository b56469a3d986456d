"""What is drawn: the tape's nodes behind some tensors, as plain data, in the order they were made.

This is the only file of the room that knows the tape; a test holds that wall. Every node is kept while it reads, so
that no two values can be taken for one. Vertices are numbered by order of creation, so that the same program gives the
same picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.backprop import Step, walk
from minigrad.errors import DrawingError
from minigrad.tape import SMALL, Array, Constant, Node, topological_order
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from minigrad.operation import Operation


@dataclass(frozen=True, slots=True)
class Contribution:
    """What an operation adds to the gradient of one operand: its norm, and the axes it was summed over, if any were.

    An operand that was stretched to the output's shape gets the sum over what it was stretched along.
    """

    norm: float
    summed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A big array in short: mean, standard deviation, and a thumbnail of its first matrix, each number from -1 to 1.

    Numbers are divided by the largest of the thumbnail; the smallest blocks of equal size are averaged.
    """

    mean: float
    spread: float
    thumbnail: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operation took in one place.

    name: the operation's name for it, such as "x" or "query".
    source: the vertex it came from; None for a constant or a plain number.
    label: a constant's own name. value: a small constant's array, or the number.
    contribution: what its gradient gets from here, where gradients were computed and it gets any.
    """

    name: str
    source: int | None
    shape: tuple[int, ...]
    dtype: str
    label: str | None = None
    value: Any = None
    contribution: Contribution | None = None


@dataclass(slots=True)
class Vertex:
    """A leaf or one operation's output.

    operation: "" for a leaf. params: what was asked of it beside its operands, without what shapes say already.
    tracked: whether a gradient can flow to it.
    value: the array, where it is small and still there; big: one that is big and still there.
    released: a backward pass let go of the value.
    gradient: a small cotangent's array, a big one's norm, None where there is none.
    source: the line of the user's code that made it, where `detect_anomaly` remembered it.
    number: its node's, by which a walk can be told of it; -1 where there is no node.
    """

    operation: str
    formula: str
    name: str | None
    path: str
    shape: tuple[int, ...]
    dtype: str
    operands: tuple[Operand, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    value: Array | None = None
    big: Array | None = None
    gradient: Array | float | None = None
    released: bool = False
    saved_bytes: int = 0
    tracked: bool = True
    source: str = ""
    number: int = -1
    short: Summary | None = None

    def summary(self) -> Summary | None:
        """The big value in short, worked out when it is first asked for; None where there is none."""
        if self.short is None and self.big is not None:
            self.short = summary(self.big)
        return self.short


@dataclass(slots=True)
class Graph:
    """Vertices, sources before their users, and which of them were asked for.

    differentiated: whether cotangents were computed for this drawing.
    """

    vertices: list[Vertex]
    outputs: list[int]
    differentiated: bool = False

    def users(self) -> list[list[int]]:
        """For each vertex, those that took it as an operand, in order, once each."""
        users: list[list[int]] = [[] for _ in self.vertices]
        for index, vertex in enumerate(self.vertices):
            for source in dict.fromkeys(o.source for o in vertex.operands):
                if source is not None:
                    users[source].append(index)
        return users


def collect(tensors: Tensor | Sequence[Tensor], gradients: bool = False) -> Graph:
    """The graph behind `tensors`; with `gradients`, every vertex has its cotangent, from a walk of its own.

    Nothing is written to any tensor, and nothing is released. Raises DrawingError for no tensor at all, and, with
    `gradients`, where not exactly one of them is a scalar with a history; GraphError if its graph was released.
    """
    several = tensors if isinstance(tensors, Sequence) else [tensors]
    strangers = sorted({type(tensor).__name__ for tensor in several if not isinstance(tensor, Tensor)})
    if strangers or not several:
        raise DrawingError(f"draw takes a Tensor, or a list of Tensors, not {', '.join(strangers) or 'nothing'}")
    wanted = list(several)
    nodes = topological_order(tensor._node for tensor in wanted if tensor._node is not None)
    index = {node: position for position, node in enumerate(nodes)}
    vertices = [_vertex(node, index) for node in nodes]
    outputs: list[int] = []
    for tensor in wanted:
        if tensor._node is not None:
            position = index[tensor._node]
            vertices[position].value = _small(tensor._data)
            vertices[position].big = _big(tensor._data)
        else:
            position = len(vertices)
            vertices.append(_untracked(tensor))
        outputs.append(position)
    graph = Graph(vertices, list(dict.fromkeys(outputs)))
    if gradients:
        _differentiate(graph, wanted, index)
    return graph


def _differentiate(graph: Graph, tensors: list[Tensor], index: dict[Node, int]) -> None:
    scalars = {tensor._node: tensor for tensor in tensors if tensor._node is not None and tensor.size == 1}
    if len(scalars) != 1:
        shapes = ", ".join(str(tensor.shape) for tensor in tensors)
        raise DrawingError(
            f"gradients=True needs one scalar to differentiate, such as a loss; the tensors drawn have shape {shapes}"
            + ("" if scalars else "; draw(t.sum(), gradients=True) would do")
        )
    for vertex in graph.vertices:
        vertex.gradient = None
    for step in walk(next(iter(scalars.values()))):
        vertex = graph.vertices[index[step.node]]
        vertex.gradient = _gradient(step.cotangent)
        if step.contributions:
            vertex.operands = _with_contributions(vertex, step)
    graph.differentiated = True


def _vertex(node: Node, index: dict[Node, int]) -> Vertex:
    gradient = None if node.grad is None else _gradient(node.grad.data)
    if node.primitive is None:
        return Vertex(
            "", "", node.name, "", node.shape, str(node.dtype),
            value=_small(node.data), big=_big(node.data), gradient=gradient,
            number=node.number,
        )  # fmt: skip
    names = _operand_names(node)
    params = {name: value for name, value in node.params.items() if name not in node.primitive.derived}
    return Vertex(
        node.primitive.name,
        node.primitive.formula,
        node.name,
        node.path,
        node.shape,
        str(node.dtype),
        tuple(_operand(name, entry, index) for name, entry in zip(names, node.inputs, strict=True)),
        params,
        _small(node.data),
        _big(node.data),
        gradient,
        node.released,
        node.saved_bytes,
        source=_source(node),
        number=node.number,
    )


def _source(node: Node) -> str:
    file, line = getattr(node, "source", None) or ("", 0)
    return f"{file}:{line}" if file else ""


def _operand_names(node: Node) -> list[str]:
    names = list(getattr(node.primitive, "operands", ()))[1:]
    missing = len(node.inputs) - len(names)
    if missing > 0 or not names:  # a variadic operation: its operands are counted
        return [str(position + 1) for position in range(len(node.inputs))]
    return names[: len(node.inputs)]


def _operand(name: str, entry: Any, index: dict[Node, int]) -> Operand:
    if isinstance(entry, Node):
        return Operand(name, index[entry], entry.shape, str(entry.dtype))
    if isinstance(entry, Constant):
        return Operand(name, None, entry.shape, str(entry.dtype), entry.name, entry.value)
    return Operand(name, None, (), type(entry).__name__, None, entry)


def _untracked(tensor: Tensor) -> Vertex:
    return Vertex(
        "", "", tensor.name, "", tensor.shape, str(tensor.dtype), value=_small(tensor._data), tracked=False
    )  # fmt: skip


def _stretches(operation: "Operation") -> bool:
    """Whether an operation broadcasts its operands: NumPy's elementwise functions, and where."""
    forward = getattr(operation, "forward", None)
    return (isinstance(forward, np.ufunc) and forward.signature is None) or operation.name == "where"


def _with_contributions(vertex: Vertex, step: Step) -> tuple[Operand, ...]:
    stretched = step.node.primitive is not None and _stretches(step.node.primitive)
    return tuple(
        operand if part is None else replace(operand, contribution=_contribution(vertex, operand, part, stretched))
        for operand, part in zip(vertex.operands, step.contributions, strict=True)
    )


def _contribution(vertex: Vertex, operand: Operand, part: Array, stretched: bool) -> Contribution:
    missing = len(vertex.shape) - len(operand.shape)
    summed: tuple[int, ...] = ()
    if stretched and operand.shape != vertex.shape and missing >= 0:
        kept = (1,) * missing + operand.shape
        summed = tuple(axis for axis, size in enumerate(vertex.shape) if size != kept[axis])
    return Contribution(_norm(part), summed)


def _big(array: Array | None) -> Array | None:
    """An array that is too big to be shown in numbers, of real numbers; else None."""
    return array if array is not None and array.size > SMALL and array.dtype.kind in "fiu" else None


def summary(array: Array) -> Summary:
    """A big array in short."""
    with np.errstate(all="ignore"):
        numbers = np.asarray(array, np.float64)
        return Summary(float(numbers.mean()), float(numbers.std()), thumbnail(numbers))


ROWS, COLUMNS = 6, 12
"""The most that a thumbnail has."""


def thumbnail(array: Array) -> tuple[tuple[float, ...], ...]:
    """The first matrix of an array, at most ROWS x COLUMNS blocks, divided by the largest block's size; NaN stays."""
    matrix = array.reshape(1, -1) if array.ndim < 2 else array[(0,) * (array.ndim - 2)]
    blocks = [
        [part.mean() for part in np.array_split(row, min(COLUMNS, matrix.shape[1]), axis=1)]
        for row in np.array_split(matrix, min(ROWS, matrix.shape[0]), axis=0)
    ]
    largest = max((abs(float(block)) for row in blocks for block in row if np.isfinite(block)), default=0.0) or 1.0
    return tuple(tuple(float(block) / largest for block in row) for row in blocks)


def _norm(array: Array) -> float:
    return float(np.linalg.norm(np.asarray(array, np.float64).ravel()))


def _small(array: Array | None) -> Array | None:
    return array if array is not None and array.size <= SMALL else None


def _gradient(array: Array) -> Array | float:
    if array.size <= SMALL:
        return np.array(array)
    return _norm(array)
