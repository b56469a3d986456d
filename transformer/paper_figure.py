"""The paper's figure 1, drawn from a forward pass that really ran, or from the backward pass after it.

What is drawn is what was recorded: `transformer.blocks` finds boxes and what links them, `transformer.layout` gives
them places.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import minigrad as mg
from minigrad.drawing import Drawing, Links, Scene, collect
from transformer.activations import capture
from transformer.blocks import Blocks, Stack, find_blocks, fold
from transformer.config import TransformerConfig
from transformer.layout import Layout
from transformer.model import Transformer
from transformer.one_stack import DecoderOnly, EncoderOnly
from transformer.vocabulary import UNK

Model = Transformer | EncoderOnly | DecoderOnly
Ids = npt.NDArray[np.int64]
Direction = Literal["forward", "backward"]

BATCH, SOURCE_LENGTH, TARGET_LENGTH = 8, 12, 11
KINDS = {Transformer: "Transformer", EncoderOnly: "Transformer, encoder only", DecoderOnly: "Transformer, decoder only"}
WORDS: dict[Stack, str] = {"encoder": "Inputs", "decoder": "Outputs (shifted right)"}


def figure1(model: Model, *inputs: Any, direction: Direction = "forward", target: Any = None) -> Drawing:
    """The paper's figure 1 of `model`, from one forward pass.

    inputs: token ids as the model takes them: source (B, T_s) and target_in (B, T_t), or ids (B, T) of a model of one
        stack; by default a batch of 8, of lengths 12 and 11, of ordinary words.
    direction: "backward" draws the way of the gradients of the cross-entropy with `target` (B, T), by default the
        last input: arrows turned round, the wider the greater the norm of what flows.
    Saved as .html, each box leads to the graph of its own operations.
    Raises DrawingError for a model that records nothing, because none of its parameters requires a gradient, and for
    another direction.
    """
    if direction not in ("forward", "backward"):
        raise mg.DrawingError(f"direction is 'forward' or 'backward', not {direction!r}")
    given = [np.asarray(ids) for ids in inputs] or ordinary(model)
    with mg.enable_grad(), capture(model):  # in parts, so that each box and arrow of the figure is on the tape
        logits = model(*given)
        wanted = given[-1] if target is None else target
        last = mg.softmax(logits, axis=-1) if direction == "forward" else mg.cross_entropy(logits, wanted)
    if not last.requires_grad:
        raise mg.DrawingError("this model records no operations: none of its parameters requires a gradient")
    graph = collect(last, gradients=direction == "backward")
    blocks = fold(find_blocks(graph, last if direction == "backward" else None))
    operations = sum(1 for vertex in graph.vertices if vertex.operation)
    config = model.config
    numbers = (
        f"d_model = {config.d_model}, h = {config.heads}, N = {config.layers}, {model.parameter_count:,} parameters"
    )
    figure = Layout(blocks, direction == "backward")
    figure.draw(what_goes_in(blocks, [np.shape(ids) for ids in given]))
    one = "one forward pass" if direction == "forward" else "one backward pass, wide arrows for great gradients,"
    figure.headings(KINDS[type(model)], numbers, f"drawn from {one} of {operations:,} operations")
    links = partial(own_graphs, figure, Scene.of(graph, title=KINDS[type(model)]))
    title, texts = f"{KINDS[type(model)]}: {numbers}", figure.canvas.texts
    return Drawing(figure.canvas.source(), title, description(blocks), texts, placed=True, links=links)


def ordinary(model: Model) -> list[Ids]:
    """Inputs of ordinary words, never padding: source and target, or the one input of a model of one stack."""
    if isinstance(model.config, TransformerConfig):
        return [ids(model.config.source_vocab, SOURCE_LENGTH), ids(model.config.target_vocab, TARGET_LENGTH)]
    return [ids(model.config.vocab, SOURCE_LENGTH)]


def ids(vocabulary: int, length: int) -> Ids:
    """Some ordinary words of a vocabulary: (BATCH, length)."""
    first = min(UNK + 1, vocabulary - 1)
    return first + np.arange(BATCH * length).reshape(BATCH, length) % max(vocabulary - first, 1)


def what_goes_in(blocks: Blocks, shapes: Sequence[tuple[int, ...]]) -> dict[Stack, tuple[str, tuple[int, ...]]]:
    """The words below each stack, and the shape of its input."""
    stacks = blocks.stacks()
    words = [WORDS[stack] if len(stacks) == 2 else "Inputs" for stack in stacks]
    return dict(zip(stacks, zip(words, shapes, strict=True), strict=True))


def own_graphs(figure: Layout, scene: Scene) -> Links:
    """Where each box leads: to the picture in which its module is open."""
    views = scene.views()
    blocks = figure.blocks.blocks
    opens = {place.name: blocks[n].path for n, place in figure.places.items() if blocks[n].path in views}
    about = {
        place.name: {
            "title": blocks[n].name,
            "path": blocks[n].path.rpartition(".")[0],
            "operations": [f"{blocks[n].operations} operations"],
            "shape": "×".join(map(str, blocks[n].shape)) or "scalar",
        }
        for n, place in figure.places.items()
    }
    return Links(views, opens, {}, about)


def description(blocks: Blocks) -> str:
    """The figure in words."""
    lines = []
    for block in blocks.blocks.values():
        sources = [blocks.blocks[link.source].path for link in blocks.links if link.target == block.number]
        lines.append(f"{block.path}" + (f" from {', '.join(sources)}" if sources else ""))
    repeated = [f"The {r.stack}'s layer {r.first} stands for {r.count}." for r in blocks.repeats if r.count > 1]
    return "\n".join([*lines, *repeated])
