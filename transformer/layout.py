"""Places for the blocks of a Transformer, as in the paper's figure 1.

The encoder stands on the left, the decoder on the right, both upwards. A residual connection leaves the main line below
its sub-layer and comes back at the side; an attention's Q, K and V are three heads of one arrow; what goes from stack
to stack is thick. Equal consecutive layers are one panel, with their number beside it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minigrad.drawing import Canvas, Pair, shape_text
from minigrad.drawing.palette import ARROW, PAPER, QUIET_TEXT, TEXT
from transformer.blocks import Block, Blocks, Kind, Link, Stack

TITLES: dict[Kind, tuple[str, ...]] = {
    "attention": ("Multi-Head", "Attention"),
    "masked": ("Masked Multi-Head", "Attention"),
    "feed_forward": ("Feed", "Forward"),
    "add_norm": ("Add & Norm",),
    "norm": ("Norm",),
    "linear": ("Linear",),
    "softmax": ("Softmax",),
    "loss": ("Cross-Entropy",),
}
FILLS: dict[Kind, str] = {
    "embedding": "#FBDFE3",
    "attention": "#FFE1BB",
    "masked": "#FFE1BB",
    "feed_forward": "#C3E8F6",
    "add_norm": "#F3F5BE",
    "norm": "#F3F5BE",
    "linear": "#DDDFF2",
    "softmax": "#CDE8D0",
    "loss": "#CDE8D0",
    "other": "#E9EDF1",
}
PANEL = Pair("#F5F6F8", "#75869A")
RESIDUAL = "#607D8B"
MEMORY = "#BF4A12"

WIDTH, ONE_LINE, TWO_LINES = 138.0, 28.0, 42.0
PLUS = 10.0  # the radius of a circle
HEADS = 40.0  # from the arrow of K to those of Q and V
INSIDE, OUTSIDE = 24.0, 46.0  # from a column's boxes to its panel's edges: towards the other column, and away from it
BETWEEN = 66.0
ABOVE = 24.0  # from the last box of a layer to its panel's upper edge
LIFT = 200.0  # how far the decoder may be lifted so that the encoder's output enters it from below


@dataclass(slots=True)
class Place:
    """A box on the canvas: its id, the middle of its width, its lower and upper edge, half its width."""

    name: str
    x: float
    bottom: float
    top: float
    reach: float

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return (self.bottom + self.top) / 2


class Layout:
    """The figure as it is being drawn: boxes from the bottom up, one column after the other, then the arrows.

    backward: arrows go the gradients' way, the wider the greater their norms. told: what stands beside an arrow, by
    default a shape, backward the norm.
    """

    def __init__(self, blocks: Blocks, backward: bool = False, told: Callable[[Link], str] | None = None) -> None:
        self.canvas = Canvas()
        self.blocks = blocks
        self.backward = backward
        self.told = told or (norm_told if backward else shape_told)
        self.places: dict[int, Place] = {}
        self.arrows: dict[str, Link] = {}  # by an arrow's id, the link that it draws
        self.panels: dict[Stack, list[tuple[float, float]]] = {"encoder": [], "decoder": []}
        self.lanes: list[tuple[Stack, float, float]] = []
        both = len(blocks.stacks()) == 2
        self.x: dict[Stack, float] = {"encoder": 0.0, "decoder": WIDTH + 2 * INSIDE + BETWEEN if both else 0.0}
        norms = [link.norm for link in blocks.links if link.norm > 0]
        self.greatest = max(norms, default=1.0)
        self.least = min(norms, default=1.0)

    def draw(self, inputs: dict[Stack, tuple[str, tuple[int, ...]]]) -> None:
        """Everything but the headings. inputs: what goes into each stack, in words, and its shape."""
        for stack in self.blocks.stacks():
            self._column(stack, inputs[stack], self._lift() if stack == "decoder" else {})
        for link in self.blocks.links:
            self._link(link)

    def headings(self, title: str, numbers: str, note: str) -> None:
        """The words above and below."""
        middle = sum(self.x[stack] for stack in self.blocks.stacks()) / len(self.blocks.stacks())
        top = max(place.top for place in self.places.values()) + 84
        self.canvas.words((middle, top + 22), title, 17, TEXT, bold=True)
        self.canvas.words((middle, top), numbers, 10.5, QUIET_TEXT)
        self.canvas.words((middle, -34), note, 9, QUIET_TEXT)

    # Boxes

    def _column(self, stack: Stack, words: tuple[str, tuple[int, ...]], lift: dict[int, float]) -> None:
        column = self.blocks.column(stack)
        panels: dict[int, list[Block]] = {}
        for block, bottom, top in self._heights(column, lift):
            if block.layer is not None:
                panels.setdefault(block.layer, []).append(block)
            self.places[block.number] = self._box(block, bottom, top)
        x = self.x[stack]
        for layer, inside in panels.items():
            bottom = (
                self.places[inside[0].number].bottom
                - self._gap_inside(inside[0], column)
                - lift.get(inside[0].number, 0)
            )
            self._panel(stack, layer, bottom, self.places[inside[-1].number].top + ABOVE)
        self.canvas.words((x, 0), f"{words[0]} ({shape_text(words[1])})", 11, TEXT)
        first, last = self.places[column[0].number], self.places[column[-1].number]
        if not self.backward:
            self.canvas.pointer([(x, 10), (x, first.bottom)], ARROW)
        if stack == self.blocks.stacks()[-1]:
            ends = [(x, last.top), (x, last.top + 24)]
            self.canvas.pointer(ends[::-1] if self.backward else ends, ARROW)
            if self.backward:
                self.canvas.words((x, last.top + 33), "d Loss = 1", 11, TEXT)
            else:
                self.canvas.words((x, last.top + 46), "Output", 11, TEXT)
                self.canvas.words((x, last.top + 33), f"Probabilities ({shape_text(column[-1].shape)})", 11, TEXT)

    def _heights(self, column: list[Block], lift: dict[int, float]) -> Iterator[tuple[Block, float, float]]:
        y, before = 10.0, None
        for block in column:
            y += self._gap(before, block, column) + lift.get(block.number, 0.0)
            height = (
                2 * PLUS
                if block.kind in ("position", "add")
                else TWO_LINES
                if len(self._titles(block)) > 1
                else ONE_LINE
            )
            yield block, y, y + height
            y, before = y + height, block

    def _gap(self, before: Block | None, block: Block, column: list[Block]) -> float:
        """From one box up to the next: room for what is between them."""
        if before is None:
            return 22.0
        if before.layer == block.layer:
            return self._gap_inside(block, column) if block.layer is not None else 30.0
        leaving = ABOVE if before.layer is not None else 0.0
        entering = self._gap_inside(block, column) if block.layer is not None else 0.0
        return leaving + 30.0 + entering

    def _gap_inside(self, block: Block, column: list[Block]) -> float:
        """Below a block of a layer: a plain arrow, a branch for a residual, three heads for Q, K and V."""
        position = column.index(block)
        before = column[position - 1].number
        heads = any(
            len(link.roles) > 1 for link in self.blocks.links if (link.source, link.target) == (before, block.number)
        )
        branch = any(link.source == before and self._skips(link) for link in self.blocks.links)
        first = column[position - 1].layer != block.layer
        return (44.0 if heads else 20.0) + (14.0 if branch else 0.0) + (4.0 if first and not branch else 0.0)

    def _box(self, block: Block, bottom: float, top: float) -> Place:
        x = self.x[block.stack]
        about = f"{block.path}: {block.operations} operations, gives {shape_text(block.shape)}"
        middle = (bottom + top) / 2
        if block.kind in ("position", "add"):
            name = self.canvas.circle((x, middle), PLUS, "+", about)
            if block.kind == "position":
                self._sine(block.stack, middle, name)
            return Place(name, x, bottom, top, PLUS)
        name = self.canvas.box(
            (x, middle),
            (WIDTH, top - bottom),
            self._titles(block),
            Pair(FILLS.get(block.kind, FILLS["other"]), TEXT),
            about,
        )
        return Place(name, x, bottom, top, WIDTH / 2)

    def _sine(self, stack: Stack, y: float, plus: str) -> None:
        """The positional encoding: a wave in a circle, and its name."""
        side = self._side(stack)
        x = self.x[stack] + side * 58
        name = self.canvas.circle(
            (x, y), PLUS + 1, "", "positional encoding: sines and cosines of the position", fill=""
        )
        wave = [(-7, 0), (-5, 8.5), (-2, 8.5), (0, 0), (2, -8.5), (5, -8.5), (7, 0)]
        self.canvas.curve([(x + dx, y + dy) for dx, dy in wave], TEXT, 1.2)
        self.canvas.arrow(name, plus, [(x - side * (PLUS + 1), y), (self.x[stack] + side * PLUS, y)])
        align = "right" if side < 0 else "left"
        self.canvas.words((x + side * (PLUS + 7), y + 7), "Positional", 11, TEXT, align)
        self.canvas.words((x + side * (PLUS + 7), y - 7), "Encoding", 11, TEXT, align)

    def _panel(self, stack: Stack, layer: int, bottom: float, top: float) -> None:
        x, side = self.x[stack], self._side(stack)
        inner, outer = x - side * (WIDTH / 2 + INSIDE), x + side * (WIDTH / 2 + OUTSIDE)
        self.canvas.panel(min(inner, outer), bottom, max(inner, outer), top, PANEL)
        self.panels[stack].append((bottom, top))
        align = "left" if side < 0 else "right"
        self.canvas.words((outer - side * 10, top - 12), stack.capitalize(), 10, QUIET_TEXT, align)
        count = next(r.count for r in self.blocks.repeats if (r.stack, r.first) == (stack, layer))
        if count > 1:
            self.canvas.words((outer + side * 22, (bottom + top) / 2), f"{count}×", 17, TEXT)

    def _lift(self) -> dict[int, float]:
        """What the gaps below the first block that the encoder feeds get more, so that it is fed from below."""
        column = self.blocks.column("decoder")
        fed = {link.target for link in self.blocks.links if self._crosses(link)}
        target = next((block for block in column if block.number in fed), None)
        if target is None or not self.panels["encoder"]:
            return {}
        heights = {block.number: (bottom + top) / 2 for block, bottom, top in self._heights(column, {})}
        encoder = self.places[self.blocks.column("encoder")[-1].number].top
        missing = max(encoder, self.panels["encoder"][-1][1]) + 16 - heights[target.number]
        below = [block for block in column if block.layer == target.layer and block.number <= target.number]
        if not 0 < missing <= LIFT:
            return {}
        shares = [0.5, *range(2, len(below) + 1)]  # most of it just below, where the way is free
        return {block.number: missing * share / sum(shares) for block, share in zip(below, shares, strict=True)}

    # Arrows

    def _link(self, link: Link) -> None:
        if self._crosses(link):
            self._cross(link)
        elif self._skips(link):
            self._skip(link)
        else:
            self._straight(link)

    def _straight(self, link: Link) -> None:
        """To the next box; Q, K and V as three heads."""
        source, target = self.places[link.source], self.places[link.target]
        x, about = source.x, self._about(link)
        self._arrow(link, [(x, source.top), (x, target.bottom)], about=about)
        spread = len(link.roles) > 1
        fork = target.bottom - 20
        for place, role in enumerate(link.roles):
            head = x + (place - (len(link.roles) - 1) / 2) * HEADS
            if spread and head != x:
                path = [(x, fork), (head, fork), (head, target.bottom)]
                self._arrow(link, path, about=about)
            self.canvas.words((head + 7, target.bottom - 9), role, 9, QUIET_TEXT, "left")
        layers = {self.blocks.blocks[link.source].layer, self.blocks.blocks[link.target].layer}
        if None in layers:
            low = source.top if self.blocks.blocks[link.source].layer is None else source.top + ABOVE
            side = self._side(self.blocks.blocks[link.source].stack)
            self.canvas.words((x - side * 8, low + 13), self.told(link), 9, QUIET_TEXT, "left" if side < 0 else "right")

    def _skip(self, link: Link) -> None:
        """A residual: from the main line above the source, out to the side, up, and into the target's side."""
        source, target = self.places[link.source], self.places[link.target]
        block = self.blocks.blocks[link.source]
        side = self._side(block.stack)
        start = source.top + 9
        panel = next((p for p in self.panels[block.stack] if p[0] > source.top and p[0] < target.bottom), None)
        if panel is not None:
            start = panel[0] + 12
        lane = sum(
            1 for stack, low, high in self.lanes if stack == block.stack and low < target.middle and start < high
        )
        self.lanes.append((block.stack, start, target.middle))
        out = source.x + side * (WIDTH / 2 + 22 + 8 * lane)
        path = [(source.x, start), (out, start), (out, target.middle), (target.x + side * target.reach, target.middle)]
        self._arrow(link, path, RESIDUAL, radius=12, about=f"residual {self._about(link)}")

    def _cross(self, link: Link) -> None:
        """From stack to stack: thick, up from the source, and over into the target's side."""
        source, target = self.places[link.source], self.places[link.target]
        edge = target.x - WIDTH / 2
        if target.middle > source.top + 12:
            path = [(source.x, source.top), (source.x, target.middle), (edge, target.middle)]
            words = (edge - INSIDE - BETWEEN / 2, target.middle)
        else:  # the target stands lower: round the panel's upper corner, and down between the columns
            over = max([source.top, *(top for _, top in self.panels["encoder"])]) + 14
            between = target.x - WIDTH / 2 - INSIDE - BETWEEN / 2
            path = [
                (source.x, source.top),
                (source.x, over),
                (between, over),
                (between, target.middle),
                (edge, target.middle),
            ]
            words = (source.x + WIDTH / 2, over)
        self._arrow(link, path, MEMORY, 2.4, 14, f"memory {self._about(link)}")
        self.canvas.words((words[0], words[1] + 10), ", ".join(link.roles), 10.5, MEMORY, bold=True)
        self.canvas.words((words[0], words[1] - 9), self.told(link), 9, MEMORY, ground=PAPER)

    def _arrow(
        self,
        link: Link,
        path: list[tuple[float, float]],
        colour: str = ARROW,
        thickness: float = 1.3,
        radius: float = 10.0,
        about: str = "",
    ) -> None:
        """An arrow along a link; backward the other way, as wide as its norm is great."""
        source, target = self.places[link.source].name, self.places[link.target].name
        if not self.backward:
            self.arrows[self.canvas.arrow(source, target, path, colour, thickness, radius, about)] = link
            return
        decades = max(math.log10(self.greatest / self.least), 1.0)
        share = math.log10(self.greatest / link.norm) / decades if link.norm > 0 else 1.0
        width = 4.0 - 3.2 * min(share, 1.0)
        self.arrows[self.canvas.arrow(target, source, path[::-1], colour, width, radius, about)] = link

    def _about(self, link: Link) -> str:
        one, two = (self.blocks.blocks[number].path for number in (link.source, link.target))
        roles = f" as {', '.join(link.roles)}" if link.roles else ""
        if self.backward:
            return f"{two} to {one}{roles}: gradient of {shape_text(link.shape)}, norm {link.norm:.3g}"
        return f"{one} to {two}{roles}: {shape_text(link.shape)}"

    def _crosses(self, link: Link) -> bool:
        return self.blocks.blocks[link.source].stack != self.blocks.blocks[link.target].stack

    def _skips(self, link: Link) -> bool:
        """Whether a link within a stack passes by some box."""
        one, two = (self.blocks.blocks[number] for number in (link.source, link.target))
        between = (block for block in self.blocks.column(one.stack) if one.number < block.number < two.number)
        return one.stack == two.stack and any(between)

    @staticmethod
    def _side(stack: Stack) -> int:
        """Which way the outside is."""
        return -1 if stack == "encoder" else 1

    def _titles(self, block: Block) -> tuple[str, ...]:
        """The lines in a block's box."""
        if block.kind == "embedding":
            return ("Output" if block.stack == "decoder" and len(self.blocks.stacks()) == 2 else "Input", "Embedding")
        return TITLES.get(block.kind, (block.name,))


def shape_told(link: Link) -> str:
    """The shape of what flows, as it stands beside an arrow."""
    return shape_text(link.shape)


def norm_told(link: Link) -> str:
    """The norm of what flows back."""
    return f"norm {link.norm:.3g}"
