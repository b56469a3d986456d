"""The paper's figure 1 of a trace as a page's map: whose box each box is, layer by layer, and what an arrow carries.

Equal layers are drawn once, so a box stands for as many real ones as there are layers, and so does an arrow.
"""

from dataclasses import dataclass

import numpy as np

import minigrad as mg
from minigrad.drawing import Drawing, collect
from transformer.activations import Seen
from transformer.blocks import Block, Blocks, Kind, Link, find_blocks, fold
from transformer.layout import Layout, shape_told
from transformer.paper_figure import Direction, what_goes_in
from transformer.study.trace import Trace

TOP = "softmax"
"""How the box on top is called in both directions: softmax forward, softmax and cross-entropy backward."""


@dataclass(frozen=True)
class Flow:
    """What flows along one arrow in one layer: from and to which box, and its norm, of values or of cotangents."""

    source: str
    target: str
    roles: str
    norm: float


@dataclass(frozen=True)
class FigureMap:
    """One direction's picture.

    svg: its text. boxes, arrows: by an element's id in it, and by the layer ("" outside the stacks), what it stands
    for: a box's path, an arrow's flow. order: the paths of all boxes as they run. kinds: theirs, by path.
    """

    svg: str
    boxes: dict[str, dict[str, str]]
    arrows: dict[str, dict[str, Flow]]
    order: tuple[str, ...]
    kinds: dict[str, Kind]


def figure_map(trace: Trace, direction: Direction) -> FigureMap:
    """The map of one direction."""
    last = mg.softmax(trace.seen["logits"], axis=-1) if direction == "forward" else trace.loss
    whole = find_blocks(collect(last), trace.loss if direction == "backward" else None)
    drawn = fold(whole)
    layout = Layout(drawn, direction == "backward", told=shape_told)
    layout.draw(what_goes_in(drawn, [trace.source.shape, trace.target_in.shape]))
    title = f"Figure 1 of the paper, {direction}"
    drawing = Drawing(layout.canvas.source(), title, title, layout.canvas.texts, placed=True)
    boxes = {place.name: _stands_for(drawn, drawn.blocks[number]) for number, place in layout.places.items()}
    flows = _Flows(whole, drawn, trace.seen, direction)
    arrows = {name: flows.along(link) for name, link in layout.arrows.items()}
    kinds = {name_of(block): block.kind for _, block in sorted(whole.blocks.items())}
    order = tuple(kinds if direction == "forward" else reversed(kinds))
    return FigureMap(drawing.svg(), boxes, arrows, order, kinds)


def name_of(block: Block) -> str:
    """A box's path; of the box on top, whatever it is, TOP."""
    return TOP if block.kind in ("softmax", "loss") else block.path


def output_of(path: str) -> str:
    """The name of the activation that a box gives."""
    return "logits" if path == "output" else f"{path}.out"


def _layers(drawn: Blocks, block: Block) -> dict[str, Block]:
    """The layers that a drawn box stands for; "" where it is in none."""
    if block.layer is None:
        return {"": block}
    repeat = next(r for r in drawn.repeats if r.stack == block.stack and r.first == block.layer)
    return {str(layer): block for layer in range(repeat.first, repeat.first + repeat.count)}


def _stands_for(drawn: Blocks, block: Block) -> dict[str, str]:
    return {layer: _in_layer(name_of(block), block, layer) for layer in _layers(drawn, block)}


def _in_layer(path: str, block: Block, layer: str) -> str:
    return path.replace(f".layers.{block.layer}.", f".layers.{layer}.", 1)


class _Flows:
    """Finds, for an arrow of the figure, the real links that it stands for."""

    def __init__(self, whole: Blocks, drawn: Blocks, seen: Seen, direction: Direction) -> None:
        self.drawn = drawn
        self.seen = seen
        self.direction = direction
        self.blocks = whole.blocks
        self.into: dict[str, list[Link]] = {}
        for link in whole.links:
            self.into.setdefault(whole.blocks[link.target].path, []).append(link)

    def along(self, link: Link) -> dict[str, Flow]:
        """By the target's layer."""
        target = self.drawn.blocks[link.target]
        return {layer: self._flow(self._real(link, layer)) for layer in _layers(self.drawn, target)}

    def _real(self, link: Link, layer: str) -> Link:
        """The link into the target's twin in that layer which comes from the same side: inside, below, other stack."""
        source, target = self.drawn.blocks[link.source], self.drawn.blocks[link.target]
        candidates = self.into[_in_layer(target.path, target, layer)]
        inside = source.stack == target.stack and source.layer == target.layer is not None
        if inside:
            wanted = _in_layer(source.path, source, layer)
            return next(c for c in candidates if self.blocks[c.source].path == wanted)

        def from_there(candidate: Link) -> bool:
            block = self.blocks[candidate.source]
            return block.stack == source.stack and (target.layer is None or str(block.layer) != layer)

        def other_stack(candidate: Link) -> bool:
            return self.blocks[candidate.source].stack == source.stack

        return next(c for c in candidates if (from_there if source.stack == target.stack else other_stack)(c))

    def _flow(self, link: Link) -> Flow:
        source, target = self.blocks[link.source], self.blocks[link.target]
        value = self.seen[output_of(source.path)].data
        norm = float(np.linalg.norm(value)) if self.direction == "forward" else link.norm
        return Flow(name_of(source), name_of(target), link.roles, norm)
