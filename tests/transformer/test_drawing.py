"""The six-layer model as it is drawn by default: small enough to read, and no text on another."""

import re

import numpy as np
import pytest

import minigrad as mg
from tests.minigrad.drawing.pictures import parsed
from tests.transformer.test_paper_figure import overlap, texts
from transformer import Transformer, TransformerConfig

PAGE = 1200  # pixels
POINT = 4 / 3  # pixels of a point


@pytest.fixture(scope="module")
def loss_of():
    """The loss of the paper's model, its widths narrowed, which changes nothing in its graph."""
    config = TransformerConfig(source_vocab=1000, target_vocab=1000, d_model=64, d_ff=128, dropout=0.0)
    model, rng = Transformer(config), np.random.default_rng(0)
    ids = rng.integers(4, 1000, (3, 8, 12))

    def make():
        return mg.cross_entropy(model(ids[0], ids[1]), ids[2])

    return make


@pytest.mark.parametrize("how", ["default", "unfused", "gradients", "backward"])
def test_every_text_can_be_read_and_none_is_on_another(loss_of, how):
    if how == "unfused":
        with mg.unfused():
            picture = mg.draw(loss_of())
    else:
        picture = mg.draw(
            loss_of(), gradients=how == "gradients", direction="backward" if how == "backward" else "forward"
        )
    root = parsed(picture)
    wide = float(root.get("viewBox", "").split()[2]) * POINT
    sizes = [float(text.get("font-size", "nan")) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    if how in ("default", "unfused"):
        assert min(sizes) * POINT * min(1, PAGE / wide) >= 8
    placed = texts(root)
    assert len(placed) > 100
    for place, (text, box) in enumerate(placed):
        assert not [other for other, where in placed[place + 1 :] if overlap(box, where)], text


def test_equal_layers_are_drawn_once_and_no_parameter_is_a_box(loss_of):
    picture = mg.draw(loss_of())
    assert picture.source.count("0–5") == 2
    assert len(picture.links().details) == 16  # 2 embeddings, 2 positions, 4 + 6 of the layers, output, loss


@pytest.mark.parametrize("how", [dict(), dict(gradients=True), dict(direction="backward")], ids=str)
@pytest.mark.parametrize("depth", [None, 0])
def test_layers_that_are_not_drawn_draw_no_arrows(how, depth):
    """Three equal layers make the picture of one: as many arrows, and as many contributions in each sum."""

    def counted(layers):
        sizes = TransformerConfig(
            source_vocab=20, target_vocab=20, d_model=8, heads=2, layers=layers, d_ff=8, dropout=0.0
        )
        source, target_in, target_out = np.random.default_rng(0).integers(4, 20, (3, 2, 5))
        model = Transformer(sizes)
        picture = mg.draw(mg.cross_entropy(model(source, target_in), target_out), depth=depth, **how).source
        return picture.count(" -> "), re.findall(r"sum of (\d+) contributions", picture)

    if depth is None:
        assert counted(3) == counted(1)
    if "direction" not in how:  # backward, contributions between two boxes stay apart
        arrows = counted(3)[0]
        assert arrows == counted(1)[0] == (22 if depth is None else 7)
