"""`python -m demos graph`: three pictures: an expression, one multi-head attention, the paper's figure 1."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from demos.options import positive_real, whole_number
from demos.pictures.pieces import Piece, begin, write

if TYPE_CHECKING:
    from minigrad import Tensor
    from minigrad.drawing import Drawing

SUMMARY = "draw an expression, one multi-head attention, and the paper's figure 1"
VOCABULARY = 37_000  # the paper's English-German one, shared by source and target (section 5.1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--out", type=Path, default=Path("drawings"), metavar="DIR", help="the folder to write to (default drawings)"
    )
    parser.add_argument(
        "--seed",
        type=whole_number,
        default=0,
        metavar="N",
        help="of the numbers in expression.svg (default 0); the other two show shapes, the same for every seed",
    )
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=20.0,
        metavar="S",
        help="for the layout of one picture (default 20)",
    )


def run(options: argparse.Namespace) -> int:
    """Draw, write, and say what was written."""
    pieces = [
        Piece("expression.svg", "a neuron, with every value and gradient", expression),
        Piece("attention.svg", "one multi-head attention, down to its operations", attention),
        Piece("figure1.svg", "figure 1 of the paper, from a real forward pass of its base model", paper),
    ]
    begin(options.out, [piece.file for piece in pieces], "graph")
    write(pieces, options.out, options.seed, options.max_seconds, "graph")
    print(f"\nOpen them in a browser. To draw your own:\n{EXAMPLE}")
    return 0


EXAMPLE = """\
  import minigrad as mg
  x = mg.Tensor(3.0, requires_grad=True, name="x")
  mg.draw(x * x + mg.exp(x), gradients=True).save("mine.svg")

Next: python -m demos train copy"""


def expression(seed: int) -> "Drawing":
    """A neuron, every value with its gradient."""
    import minigrad as mg

    return mg.draw(neuron(seed), gradients=True, title="A neuron: o = tanh(x1·w1 + x2·w2 + b)")


def neuron(seed: int) -> "Tensor":
    """A neuron of two inputs: ten values. No input is 0, or the gradient of its weight would be too."""
    import numpy as np

    import minigrad as mg

    rng = np.random.default_rng(seed)
    x1, w1, x2, w2, b = (
        mg.Tensor(int(rng.choice((-1, 1)) * rng.integers(1, 11)) / 10, requires_grad=True, name=name)
        for name in ("x1", "w1", "x2", "w2", "b")
    )
    one, two = x1 * w1, x2 * w2
    total = one + two
    n = total + b
    o = mg.tanh(n)
    for tensor, name in ((one, "x1·w1"), (two, "x2·w2"), (total, "sum"), (n, "n"), (o, "o")):
        tensor.name = name
    return o


def attention(seed: int) -> "Drawing":
    """Masked multi-head self-attention, its fused operations taken apart."""
    import numpy as np

    import minigrad as mg
    from transformer import MultiHeadAttention
    from transformer.masks import causal_mask

    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(64, 4, rng)
    x = mg.Tensor(rng.standard_normal((8, 12, 64)), requires_grad=True, dtype="float32", name="x")
    with mg.unfused():
        z = module(x, x, causal_mask(12))
    return mg.draw(z, title="Masked multi-head attention: d_model 64, 4 heads")


def paper(seed: int) -> "Drawing":
    """Figure 1, of the paper's base model."""
    from transformer import Transformer, TransformerConfig, figure1

    config = TransformerConfig(source_vocab=VOCABULARY, target_vocab=VOCABULARY, tied="all")
    return figure1(Transformer(config, rng=seed))
