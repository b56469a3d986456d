"""The backward picture: cotangents, contributions with their rules, sums where they meet; and big arrays in short."""

import math
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing.dot import THICK, THIN
from minigrad.drawing.graph import COLUMNS, ROWS, collect, thumbnail
from minigrad.drawing.numerals import size_text
from minigrad.drawing.palette import HEAT, QUIET_TEXT, heat_colour
from minigrad.errors import DrawingError


def arrows(picture: mg.drawing.Drawing) -> list[str]:
    """The lines of the DOT text that are arrows."""
    return [line.strip() for line in picture.source.splitlines() if " -> " in line]


@pytest.fixture
def leaves() -> tuple[mg.Tensor, mg.Tensor]:
    rng = np.random.default_rng(0)
    x = mg.Tensor(rng.standard_normal((4, 3)), requires_grad=True, name="x")
    return x, mg.Tensor(rng.standard_normal(3), requires_grad=True, name="b")


def test_arrows_go_from_the_output_to_the_leaves_with_norm_and_rule(leaves: tuple[mg.Tensor, mg.Tensor]) -> None:
    x, b = leaves
    loss = mg.sum(mg.tanh(x + b))
    picture = mg.draw(loss, direction="backward")
    tanh, add = (line for line in arrows(picture) if "norm" in line and ("out * out" in line or "dx = g<" in line))
    gradient = mg.gradients(loss, [x])[0].data
    assert f"norm {np.linalg.norm(gradient):.4g}" in tanh
    assert "dx = g * (1 - out * out)" in tanh
    assert "4×3" in add
    first = picture.description.splitlines()
    assert first[0] == "d x from d add."
    assert "d sum." in first


def test_what_was_broadcast_is_summed_over_its_axes(leaves: tuple[mg.Tensor, mg.Tensor]) -> None:
    x, b = leaves
    stretched = mg.Tensor(np.ones((4, 1)), requires_grad=True)
    graph = collect(mg.sum((x + b) * stretched), gradients=True)
    summed = {
        (vertex.operation, operand.shape): operand.contribution.summed
        for vertex in graph.vertices
        for operand in vertex.operands
        if operand.contribution
    }
    assert summed["add", (3,)] == (0,)
    assert summed["add", (4, 3)] == ()
    assert summed["multiply", (4, 1)] == (1,)
    assert summed["sum", (4, 3)] == ()  # a sum is no broadcast
    assert "summed over axis 0" in mg.draw(mg.sum(x + b), direction="backward").source
    assert (
        "summed over axes 0, 1" in mg.draw(mg.sum(x * mg.Tensor(2.0, requires_grad=True)), direction="backward").source
    )


def test_contributions_add_up_to_the_gradient_and_the_box_says_so() -> None:
    x = mg.Tensor(3.0, requires_grad=True, name="x")
    picture = mg.draw(x * x + mg.exp(x), direction="backward")
    into_x = [line for line in arrows(picture) if "-> n0" in line]
    assert len(into_x) == 3  # of x * x there are two
    assert "sum of 3 contributions" in picture.source
    assert "Σ" in picture.source
    norms = [float(line.split("norm ")[1].split("<")[0]) for line in into_x]
    assert sum(norms) == pytest.approx(6 + math.exp(3), rel=1e-3)
    assert f"{6 + math.exp(3):.4g}" in picture.source


def test_a_parameter_has_its_contribution_as_a_row() -> None:
    class Model(mg.nn.Module):
        def __init__(self) -> None:
            self.map = mg.nn.Linear(3, 2, np.random.default_rng(0))

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return mg.sum(self.map(x) ** 2)

    model = Model()
    loss = model(mg.Tensor(np.ones((5, 3)), requires_grad=True))
    picture = mg.draw(loss, direction="backward").source
    (gradient,) = mg.gradients(loss, [model.map.weight])
    assert "d weight" in picture
    assert f"norm {np.linalg.norm(gradient.data):.4g}" in picture
    assert "dW = x^T @ g" in picture  # the fused kernel's rule, in its box


def test_gradients_of_gradients_can_be_drawn() -> None:
    x = mg.Tensor(2.0, requires_grad=True, name="x")
    (slope,) = mg.gradients(x**3, [x], create_graph=True)
    picture = mg.draw(slope, direction="backward")
    assert "12" in picture.source  # 6 x
    assert "</svg>" in picture.svg()


def test_what_gets_no_gradient_is_left_out(leaves: tuple[mg.Tensor, mg.Tensor]) -> None:
    x, b = leaves
    graph = mg.draw([mg.sum(x), b * 2], direction="backward")
    assert "d b" not in graph.description
    with pytest.raises(DrawingError, match="needs one scalar"):
        mg.draw(x * 2, direction="backward")
    with pytest.raises(DrawingError, match="direction is 'forward' or 'backward', not 'up'"):
        mg.draw(mg.sum(x), direction="up")  # type: ignore[arg-type]


def test_an_arrow_is_the_wider_the_greater_its_gradient() -> None:
    x, y = (mg.Tensor(1.0, requires_grad=True, name=name) for name in "xy")
    lines = arrows(mg.draw(x * 1000.0 + y * 0.001, gradients=True))
    widths = [float(re.search(r"penwidth=([\d.]+)", line)[1]) for line in lines]
    assert sorted(widths) == [THIN, 2.2, 2.2, THICK]  # 0.001, 1, 1, 1000
    alike = arrows(mg.draw(x * 1.1 + y, gradients=True))
    assert all(float(re.search(r"penwidth=([\d.]+)", line)[1]) > 0.9 * THICK for line in alike)
    zero = arrows(mg.draw(x * 0.0 + y, gradients=True))
    assert any(f"penwidth={THIN}" in line for line in zero)
    assert "penwidth" not in "".join(arrows(mg.draw(x * y)))


def test_a_thumbnail_is_the_first_matrix_in_blocks() -> None:
    assert thumbnail(np.array([1.0, -2.0])) == ((0.5, -1.0),)
    assert thumbnail(np.zeros((2, 2))) == ((0.0, 0.0), (0.0, 0.0))
    stack = np.zeros((3, 12, 24))
    stack[0, :2, :2] = 4.0
    stack[1] = 100.0  # not of the first matrix
    small = thumbnail(stack)
    assert (len(small), len(small[0])) == (ROWS, COLUMNS)
    assert small[0] == (1.0,) + (0.0,) * (COLUMNS - 1)
    assert math.isnan(thumbnail(np.array([[np.nan, 1.0]]))[0][0])


def test_colours_and_sizes() -> None:
    assert (heat_colour(-1), heat_colour(0), heat_colour(1)) == (HEAT[0], HEAT[4], HEAT[8])
    assert heat_colour(float("nan")) == QUIET_TEXT
    assert [size_text(count) for count in (999, 1234, 5_670_000, 2_000_000_000)] == [
        "999 B",
        "1.23 kB",
        "5.67 MB",
        "2 GB",
    ]


def test_a_big_value_is_mean_spread_and_a_heat_map(leaves: tuple[mg.Tensor, mg.Tensor]) -> None:
    big = mg.Tensor(np.arange(600.0).reshape(20, 30), requires_grad=True, name="big")
    source = mg.draw(mg.sum(mg.exp(big / 600)), gradients=True).source
    assert "299.5 ± 173.2" in source
    assert HEAT[8] in source
    assert "keeps 4.8 kB" in source
