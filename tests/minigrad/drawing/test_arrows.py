"""Arrows go to the right operands; all that was asked for is drawn, and in the direction asked for."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing import Drawing
from tests.minigrad.drawing.pictures import edges, node_ids, parsed, words
from tests.minigrad.drawing.samples import neuron


def test_x_times_x_has_two_edges_in_the_order_of_its_operands() -> None:
    x = mg.Tensor(3.0, requires_grad=True, name="x")
    assert edges(mg.draw(x * x)) == [("n0", "n1", "p0:w"), ("n0", "n1", "p1:w")]
    y = mg.Tensor(2.0, requires_grad=True, name="y")
    assert edges(mg.draw(y - x))[0] == ("n1", "n2", "p0:w")  # x is the older leaf, but the second operand


def test_all_tensors_of_a_list_are_drawn_isolated_ones_too() -> None:
    drawing = mg.draw([neuron(), mg.Tensor([1, 2], name="ids"), mg.Tensor(1.0, requires_grad=True, name="free")])
    assert len(node_ids(drawing)) == 7
    assert {"ids", "free"} <= {texts[0] for texts in words(drawing).values()}
    assert any("2 int64" in texts for texts in words(drawing).values())


@pytest.mark.parametrize(("flow", "axis"), [("right", 0), ("down", 1), ("up", 1)])
def test_flow_is_where_the_output_is(flow: str, axis: int) -> None:
    drawing: Drawing = mg.draw(neuron(), flow=flow)  # type: ignore[arg-type]
    places = {}
    for group in parsed(drawing).iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") == "node":
            text = next(group.iter("{http://www.w3.org/2000/svg}text"))
            places[group.get("id")] = (float(text.get("x", "0")), float(text.get("y", "0")))
    chain = [places[f"n{i}"][axis] for i in (0, 2, 3, 4)]
    steps = [two - one for one, two in itertools.pairwise(chain)]
    assert all(step < 0 for step in steps) if flow == "up" else all(step > 0 for step in steps)


def test_another_flow_is_refused() -> None:
    with pytest.raises(mg.DrawingError, match="'right', 'down', 'up' or None, not 'left'"):
        mg.draw(neuron(), flow="left")  # type: ignore[arg-type]


def test_an_arrow_says_its_dtype_where_it_is_not_the_usual_one() -> None:
    x = mg.Tensor(np.ones((2, 3), np.float32), requires_grad=True, name="x")
    mixed = mg.tanh(mg.exp(mg.sin(x))).astype("float64") * 2.0
    assert "2×3 float64" in mg.draw(mixed).source
    assert "float32<" not in mg.draw(mg.exp(mg.sin(x))).source.split("->", 1)[1]
