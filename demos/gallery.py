"""`python -m demos gallery`: every kind of picture there is, in one folder, with a page that shows them all."""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from demos import graph
from demos.keeping import keep
from demos.options import positive_real, whole_number
from demos.pictures.pieces import Piece, begin, write
from demos.problems import told_plainly

if TYPE_CHECKING:
    from minigrad.drawing import Drawing

SUMMARY = "draw every kind of picture: forward and backward, values, models, pages"
INDEX = "index.html"
CHAIN = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--out", type=Path, default=Path("gallery"), metavar="DIR", help="the folder to write to (default gallery)"
    )
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of all numbers (default 0)")
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=20.0,
        metavar="S",
        help="for the layout of one picture (default 20)",
    )


def run(options: argparse.Namespace) -> int:
    """Draw, write, and say what was written."""
    pieces = list(collection())
    begin(options.out, [*(piece.file for piece in pieces), INDEX], "gallery")
    write(pieces, options.out, options.seed, options.max_seconds, "gallery")
    with told_plainly(OSError):
        keep(options.out / INDEX, index(pieces).encode(), "gallery")
    print(f"\nall of them, for your browser: {options.out / INDEX}")
    return 0


def collection() -> Iterator[Piece]:
    """Every kind of picture."""
    yield Piece("expression.svg", "a neuron, with every value and gradient", graph.expression)
    yield Piece(
        "expression-backward.svg", "its backward pass: each arrow a contribution, with its rule", neuron_backward
    )
    yield Piece("values.svg", "big values: mean and spread, heat maps, bytes kept for backward", values)
    yield Piece("attention.svg", "one multi-head attention, down to its operations", graph.attention)
    yield Piece("attention-backward.svg", "backward through attention, softmax as one kernel", attention_backward)
    yield Piece("model.svg", "the paper's six layers, equal ones drawn once", partial(model, unfused=False))
    yield Piece("model.html", "a page of the same: open and fold every module", partial(model, unfused=True))
    yield Piece("figure1.svg", "figure 1 of the paper, from a real forward pass", partial(figure, direction="forward"))
    yield Piece(
        "figure1-backward.svg", "and backward: arrows as wide as their gradients", partial(figure, direction="backward")
    )
    yield Piece(
        "figure1.html", "figure 1 as a page: each box leads to its own operations", partial(figure, direction="forward")
    )
    yield Piece("bert.svg", "an encoder-only model, BERT's choices", bert)
    yield Piece("llama.svg", "a decoder-only model, Llama's choices, backward", llama)
    yield Piece("chain.svg", f"a chain of {CHAIN:,} operations, folded", chain)


def neuron_backward(seed: int) -> "Drawing":
    """The neuron's cotangents."""
    import minigrad as mg

    return mg.draw(graph.neuron(seed), direction="backward", title="A neuron, backward")


def values(seed: int) -> "Drawing":
    """A small classifier: matrices as heat maps, small ones as numbers."""
    import numpy as np

    import minigrad as mg

    rng = np.random.default_rng(seed)
    x = mg.Tensor(rng.standard_normal((6, 12)), requires_grad=True, name="x")
    w = mg.Tensor(rng.standard_normal((12, 5)), requires_grad=True, name="w")
    b = mg.Tensor(rng.standard_normal(5), requires_grad=True, name="b")
    loss = mg.cross_entropy(mg.tanh(x @ w + b), rng.integers(0, 5, 6))
    return mg.draw(loss, gradients=True, flow="down", title="Values, gradients, and what is kept for backward")


def attention_backward(seed: int) -> "Drawing":
    """Self-attention of one small layer, backward."""
    import numpy as np

    import minigrad as mg
    from transformer import MultiHeadAttention
    from transformer.masks import causal_mask

    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(16, 4, rng)
    x = mg.Tensor(rng.standard_normal((2, 6, 16)), requires_grad=True, dtype="float32", name="x")
    q, k, v = (mg.split_heads(part(x), 4) for part in (module.query, module.key, module.value))
    pattern = mg.softmax(q @ mg.swapaxes(k, -1, -2) * 0.5, axis=-1, where=causal_mask(6))
    z = mg.merge_heads(pattern @ v)
    return mg.draw(mg.sum(module.output(z) ** 2), direction="backward", title="Backward through attention")


def model(seed: int, unfused: bool) -> "Drawing":
    """The loss of a six-layer model, narrow; unfused: in textbook steps."""
    from contextlib import nullcontext

    import numpy as np

    import minigrad as mg
    from transformer import Transformer, TransformerConfig

    sizes = TransformerConfig(source_vocab=50, target_vocab=50, d_model=32, heads=4, layers=6, d_ff=64, dropout=0.0)
    transformer = Transformer(sizes, rng=seed)
    source, target_in, target_out = np.random.default_rng(seed).integers(4, 50, (3, 2, 7))
    with mg.unfused() if unfused else nullcontext():
        loss = mg.cross_entropy(transformer(source, target_in), target_out)
    return mg.draw(loss, title="A Transformer of six layers")


def figure(seed: int, direction: Literal["forward", "backward"]) -> "Drawing":
    """Figure 1, of a narrow model of six layers."""
    from transformer import Transformer, TransformerConfig, figure1

    sizes = TransformerConfig(source_vocab=100, target_vocab=100, d_model=64, heads=8, d_ff=128, dropout=0.0)
    return figure1(Transformer(sizes, rng=seed), direction=direction)


def bert(seed: int) -> "Drawing":
    """An encoder-only model."""
    from transformer import EncoderOnly, figure1, presets

    return figure1(EncoderOnly(presets.bert(100, layers=4, d_model=32, heads=4, d_ff=64), rng=seed))


def llama(seed: int) -> "Drawing":
    """A decoder-only model, backward."""
    from transformer import DecoderOnly, figure1, presets

    small = presets.llama(100, layers=4, d_model=32, heads=4, kv_heads=2, d_ff=64)
    return figure1(DecoderOnly(small, rng=seed), direction="backward")


def chain(seed: int) -> "Drawing":
    """A very long chain."""
    import minigrad as mg

    x = mg.Tensor(float(seed), requires_grad=True, name="x")
    y = x
    for _ in range(CHAIN // 2):
        y = mg.tanh(y + 1.0)
    return mg.draw(y, title=f"{CHAIN:,} operations in a row")


def index(pieces: list[Piece]) -> str:
    """A page that shows every picture and leads to it."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = (Path(__file__).parent / "pictures" / "gallery.html.jinja").read_text("utf-8")
    return environment.from_string(template).render(pieces=pieces)
