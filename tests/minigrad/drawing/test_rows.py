"""What a box says: values, gradients and what is not there, parameters, masks, constants."""

import numpy as np

import minigrad as mg
from tests.minigrad.drawing.pictures import all_words, edges, words
from tests.minigrad.drawing.samples import neuron


def test_before_backward_gradients_are_not_computed() -> None:
    y = neuron()
    shown = words(mg.draw(y))
    assert shown["n0"] == ["x", "value", "2", "gradient", "not computed"]
    y.backward()
    shown = words(mg.draw(y))
    assert shown["n0"][3] == "gradient"
    assert "not computed" not in shown["n0"]
    assert "released: use retain_graph=True" in shown["n2"]
    assert "released: use retain_graph=True" not in shown["n4"]  # the drawn tensor holds its own value


def test_what_the_walk_does_not_reach_is_not_computed() -> None:
    x = mg.Tensor(2.0, requires_grad=True, name="x")
    other = mg.exp(mg.Tensor([1.0, 2.0], requires_grad=True, name="other"))
    texts = words(mg.draw([mg.sin(x), other], gradients=True))
    assert {name for name, text in texts.items() if "not computed" in text} == {"n1", "n2"}


def test_gradients_are_shown_on_every_box() -> None:
    shown = words(mg.draw(neuron(), gradients=True))
    assert all("gradient" in texts for texts in shown.values())
    assert shown["n4"][-2:] == ["gradient", "1"]


def test_parameters_masks_and_constants_are_rows_not_boxes() -> None:
    layer = mg.nn.Linear(4, 4, np.random.default_rng(0))

    class Model(mg.nn.Module):
        def __init__(self) -> None:
            self.project = layer

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            y = self.project(x) * 0.5
            return mg.attention(y, y, y, np.tri(3, dtype=bool))

    x = mg.Tensor(np.ones((2, 3, 4), np.float32), requires_grad=True, name="x")
    drawing = mg.draw(mg.sum(Model()(x)), gradients=True)
    shown = words(drawing)
    assert len(shown) == 5
    assert shown["n1"][:4] == ["project", "linear", "weight", "4×4"]
    assert shown["n1"][4].startswith("gradient norm")
    assert {"mask", "3×3"} <= set(shown["n3"])
    assert {"y", "0.5"} <= set(shown["n2"])
    assert {"2×3×4"} <= set(all_words(drawing))
    assert [port for _, head, port in edges(drawing) if head == "n3"] == ["p0:n", "p1:n", "p2:n"]


def test_small_matrices_are_numbers_and_big_ones_mean_and_spread() -> None:
    x = mg.Tensor([[1.0, 2.5], [-3.0, 4.0]], requires_grad=True, name="x")
    shown = words(mg.draw(mg.sum(x)))
    assert shown["n0"][:7] == ["x", "2×2 float32", "value", "1", "2.5", "-3", "4"]
    big = mg.Tensor(np.ones((5, 5), np.float32), requires_grad=True, name="big")
    assert words(mg.draw(mg.sum(big)))["n0"] == ["big", "5×5 float32", "value", "1 ± 0", "gradient", "not computed"]
