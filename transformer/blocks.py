"""A model's recorded operations as the blocks of the paper's figure 1, and the links between them.

Nothing is assumed of how blocks are joined: a block is what one module did without interruption, a link is where an
operation of one block took the output of another's. So residual connections, Q, K and V, and the encoder's way into
the decoder are found, and a pre-norm model gives other blocks and links than the paper's.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import minigrad as mg
from minigrad.drawing import Graph, Pieces, Vertex

Kind = Literal[
    "embedding", "position", "attention", "masked", "feed_forward", "add_norm", "norm", "add", "linear", "softmax",
    "loss", "other",
]  # fmt: skip
Stack = Literal["encoder", "decoder"]
Unit = tuple[str, ...]
STACKS: tuple[Stack, ...] = ("encoder", "decoder")

ROLES = {"query": "Q", "key": "K", "value": "V"}


@dataclass(frozen=True, slots=True)
class Block:
    """One box of the figure.

    number: the place of its first operation in the graph, which orders blocks. name: its module's last name.
    layer: which of the stack's layers it is in, None outside. shape: of its output. operations: how many it has.
    """

    number: int
    kind: Kind
    name: str
    path: str
    stack: Stack
    layer: int | None
    shape: tuple[int, ...]
    operations: int


@dataclass(frozen=True, slots=True)
class Link:
    """From the block numbered `source` to `target`; roles: "QKV" or part of it, where an attention takes it.

    norm: of all that the target adds to the source's gradient, added up, where a loss was given.
    """

    source: int
    target: int
    roles: str
    shape: tuple[int, ...]
    norm: float = field(default=0.0, compare=False)


@dataclass(slots=True)
class Repeat:
    """Consecutive layers of equal structure: the first's number, and how many."""

    stack: Stack
    first: int
    count: int


@dataclass(slots=True)
class Blocks:
    """The blocks of a model in order, their links, and its layers, equal consecutive ones together."""

    blocks: dict[int, Block]
    links: list[Link]
    repeats: list[Repeat] = field(default_factory=list)

    def stacks(self) -> list[Stack]:
        """The stacks that there are, encoder first."""
        return [stack for stack in STACKS if self.column(stack)]

    def column(self, stack: Stack) -> list[Block]:
        """The blocks of one stack and of what stands below and above it, in order."""
        return [block for block in self.blocks.values() if block.stack == stack]


def find_blocks(graph: Graph, loss: mg.Tensor | None = None) -> Blocks:
    """The blocks of the graph of softmax(logits), or of a loss, every layer on its own.

    loss: the scalar whose graph it is, where links should know the norms of what flows back along them.
    What stands below and above the stacks is the encoder's only where there is no decoder.
    """
    owner = _pieces(graph)
    members: dict[int, list[int]] = {}
    for index, number in owner.items():
        members.setdefault(number, []).append(index)
    ends: Stack = "decoder" if any(unit(vertex)[0] == "decoder" for vertex in graph.vertices) else "encoder"
    blocks = {number: _block(graph, number, inside, ends) for number, inside in sorted(members.items())}
    found: dict[tuple[int, int], Link] = {}
    for index, number in owner.items():
        vertex = graph.vertices[index]
        for operand in vertex.operands:
            source = owner.get(operand.source) if operand.source is not None else None
            if source is None or source == number:
                continue
            known = found.setdefault((source, number), Link(source, number, "", operand.shape))
            role = _role(vertex.path, blocks[number])
            roles = known.roles if role in known.roles else "".join(sorted(known.roles + role, key="QKV".index))
            found[source, number] = replace(known, roles=roles)
    norms = {} if loss is None else _norms(graph, owner, loss)
    return Blocks(blocks, [replace(link, norm=norms.get(pair, 0.0)) for pair, link in found.items()])


def _norms(graph: Graph, owner: dict[int, int], loss: mg.Tensor) -> dict[tuple[int, int], float]:
    """For two blocks the norm of what the second adds to the gradient of the first: Q's, K's and V's parts added up."""
    block_of = {graph.vertices[index].number: number for index, number in owner.items()}
    parts: dict[tuple[int, int], dict[mg.Node, npt.NDArray[Any]]] = {}
    for step in mg.walk(loss):
        target = block_of.get(step.node.number)
        for operand, part in zip(step.node.inputs, step.contributions, strict=False):
            source = block_of.get(operand.number) if isinstance(operand, mg.Node) else None
            if part is None or target is None or source in (None, target):
                continue
            assert isinstance(operand, mg.Node)
            assert source is not None
            sums = parts.setdefault((source, target), {})
            sums[operand] = sums[operand] + part if operand in sums else part
    return {
        pair: math.hypot(*(float(np.linalg.norm(np.asarray(total, np.float64).ravel())) for total in sums.values()))
        for pair, sums in parts.items()
    }


def fold(whole: Blocks) -> Blocks:
    """The same with consecutive layers that are built alike drawn once, as its first layer."""
    repeats: list[Repeat] = []
    stands: dict[int, int] = {}  # block -> the block drawn for it
    for stack in STACKS:
        layers = _layers(whole.column(stack))
        for _, group in groupby(layers, key=lambda layer: _structure(whole, layers[layer])):
            alike = list(group)
            repeats.append(Repeat(stack, alike[0], len(alike)))
            for layer in alike:
                stands |= {
                    block.number: first.number for block, first in zip(layers[layer], layers[alike[0]], strict=True)
                }
    drawn_as = {(r.stack, layer): r.first for r in repeats for layer in range(r.first, r.first + r.count)}
    blocks = {number: block for number, block in whole.blocks.items() if stands.get(number, number) == number}
    links: dict[Link, None] = {}
    for link in whole.links:
        one, two = whole.blocks[link.source], whole.blocks[link.target]
        if one.stack == two.stack and None not in (one.layer, two.layer) and one.layer != two.layer:
            assert one.layer is not None
            assert two.layer is not None
            if drawn_as[one.stack, one.layer] == drawn_as[two.stack, two.layer]:
                continue  # from one layer to its equal: that is what "×N" says
        source, target = (stands.get(number, number) for number in (link.source, link.target))
        links[replace(link, source=source, target=target)] = None
    return Blocks(blocks, list(links), repeats)


def _pieces(graph: Graph) -> dict[int, int]:
    """For each operation the number of its block: operations of one module that are joined without leaving it."""
    pieces = Pieces(len(graph.vertices))
    operations = [index for index, vertex in enumerate(graph.vertices) if vertex.operation]
    for index in operations:
        for source in (operand.source for operand in graph.vertices[index].operands):
            if source is None or not graph.vertices[source].operation:
                continue
            if unit(graph.vertices[source]) == unit(graph.vertices[index]):
                pieces.join(source, index)
    return {index: pieces.head(index) for index in operations}


def unit(vertex: Vertex) -> Unit:
    """The module that is one box of the figure: ("encoder", "layers", "0", "self_attention"), ("output",), ..."""
    parts = tuple(vertex.path.split(".")) if vertex.path else (vertex.operation,)
    if parts[0] in ("encoder", "decoder"):
        return parts[:4] if parts[1:2] == ("layers",) else parts[:2]
    return parts[:1]


def _block(graph: Graph, number: int, members: list[int], ends: Stack) -> Block:
    vertices = [graph.vertices[index] for index in members]
    where = unit(vertices[0])
    layer = int(where[2]) if len(where) > 2 else None
    stack: Stack = "encoder" if where[0] in ("encoder", "source_embedding", "source_positions") else ends
    kind = _kind(where, vertices)
    return Block(number, kind, where[-1], ".".join(where), stack, layer, vertices[-1].shape, len(members))


def _kind(where: Unit, vertices: list[Vertex]) -> Kind:
    name = where[-1].partition("#")[0]
    if name.endswith("attention"):
        return "masked" if any(_hides_by_place(vertex) for vertex in vertices) else "attention"
    if name.endswith("norm"):
        return _norm_kind(".".join(where), vertices)
    for ending, kind in _NAMED.items():
        if name.endswith(ending):
            return kind
    return "other"


_NAMED: dict[str, Kind] = {
    "embedding": "embedding",
    "positions": "position",
    "feed_forward": "feed_forward",
    "output": "linear",
    "softmax": "softmax",
    "cross_entropy": "loss",
}


def _norm_kind(path: str, vertices: list[Vertex]) -> Kind:
    """What a norm module did in one piece: normalised, added the residual, or both."""
    own = {vertex.operation for vertex in vertices if vertex.path == path}
    below = {vertex.path.removeprefix(f"{path}.").partition(".")[0] for vertex in vertices if vertex.path != path}
    adds, normalises = "add" in own, bool(own - {"add", "dropout"} or below - {"dropout"})
    if adds:
        return "add_norm" if normalises else "add"
    return "norm"


def _hides_by_place(vertex: Vertex) -> bool:
    """Whether an attention's mask differs from one query to the next, as a causal mask does and padding's does not."""
    shapes = [tuple(getattr(vertex.params.get(name), "shape", ())) for name in ("mask", "where")]
    shapes += [operand.shape for operand in vertex.operands if operand.dtype == "bool"]
    return any(len(shape) > 1 and min(shape[-2:]) > 1 for shape in shapes)


def _role(path: str, block: Block) -> str:
    if block.kind not in ("attention", "masked"):
        return ""
    below = path.removeprefix(block.path).split(".")
    return ROLES.get(below[1], "") if len(below) > 1 else ""


def _layers(column: list[Block]) -> dict[int, list[Block]]:
    layers: dict[int, list[Block]] = {}
    for block in column:
        if block.layer is not None:
            layers.setdefault(block.layer, []).append(block)
    return layers


def _structure(whole: Blocks, layer: list[Block]) -> object:
    """How a layer is built: its blocks, and where each gets its inputs; equal for layers that would be drawn alike."""
    place = {block.number: position for position, block in enumerate(layer)}

    def origin(number: int) -> int | str:
        return place.get(number, "below" if whole.blocks[number].stack == layer[0].stack else "other stack")

    taken = {
        (origin(link.source), place[link.target], link.roles, link.shape)
        for link in whole.links
        if link.target in place
    }
    return [(block.kind, block.name, block.shape, block.operations) for block in layer], taken
