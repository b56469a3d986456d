"""The paper's figure 1, drawn from a forward pass that really ran.

What is drawn is what was recorded: `transformer.blocks` finds boxes and what links them, `transformer.layout` gives
them places.
"""

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.drawing import Drawing, collect
from transformer.activations import capture
from transformer.blocks import Blocks, find_blocks, fold
from transformer.layout import Layout
from transformer.model import Transformer
from transformer.vocabulary import UNK

BATCH, SOURCE_LENGTH, TARGET_LENGTH = 8, 12, 11


def figure1(model: Transformer, source: Any = None, target_in: Any = None) -> Drawing:
    """The paper's figure 1 of `model`, from one forward pass.

    source (B, T_s), target_in (B, T_t): token ids; by default a batch of 8, of lengths 12 and 11, of ordinary words.
    Raises DrawingError for a model that records nothing, because none of its parameters requires a gradient.
    """
    config = model.config
    source = ids(config.source_vocab, SOURCE_LENGTH) if source is None else source
    target_in = ids(config.target_vocab, TARGET_LENGTH) if target_in is None else target_in
    with mg.enable_grad(), capture(model):  # in parts, so that each box and arrow of the figure is on the tape
        probabilities = mg.softmax(model(source, target_in), axis=-1)
    if not probabilities.requires_grad:
        raise mg.DrawingError("this model records no operations: none of its parameters requires a gradient")
    graph = collect(probabilities)
    blocks = fold(find_blocks(graph))
    operations = sum(1 for vertex in graph.vertices if vertex.operation)
    numbers = (
        f"d_model = {config.d_model}, h = {config.heads}, N = {config.layers}, {model.parameter_count:,} parameters"
    )
    figure = Layout(blocks)
    figure.draw(np.shape(source), np.shape(target_in))
    figure.headings("Transformer", numbers, f"drawn from one forward pass of {operations:,} operations")
    return Drawing(
        figure.canvas.source(), f"Transformer: {numbers}", description(blocks), figure.canvas.texts, placed=True
    )  # fmt: skip


def ids(vocabulary: int, length: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Some ordinary words of a vocabulary, never padding: (BATCH, length)."""
    first = min(UNK + 1, vocabulary - 1)
    return first + np.arange(BATCH * length).reshape(BATCH, length) % max(vocabulary - first, 1)


def description(blocks: Blocks) -> str:
    """The figure in words."""
    lines = []
    for block in blocks.blocks.values():
        sources = [blocks.blocks[link.source].path for link in blocks.links if link.target == block.number]
        lines.append(f"{block.path}" + (f" from {', '.join(sources)}" if sources else ""))
    repeated = [f"The {r.stack}'s layer {r.first} stands for {r.count}." for r in blocks.repeats if r.count > 1]
    return "\n".join([*lines, *repeated])
