"""What is drawn as one box: modules, and equal layers."""

import numpy as np

import minigrad as mg
from tests.minigrad.drawing.pictures import all_words, edges, node_ids, words
from tests.minigrad.drawing.samples import Block, Stack


def test_modules_in_lists_have_their_full_dotted_path() -> None:
    output = Stack(3)(np.ones((2, 8), np.float32))
    shown = all_words(mg.draw(output, repeats=False))
    assert {"layers.0", "layers.1", "layers.2", "head"} <= set(shown)


def test_equal_layers_are_drawn_once_with_their_number() -> None:
    x = mg.Tensor(np.ones((2, 8), np.float32), requires_grad=True, name="x")
    output = Stack(6)(x)
    folded = mg.draw(output)
    assert "layers.0–5  ×6" in [text.replace("\u00a0", " ") for text in all_words(folded)]
    assert all_words(folded).count("relu") == 1
    whole = mg.draw(output, repeats=False)
    assert all_words(whole).count("relu") == 6
    assert len(edges(folded)) == 5


def test_a_run_of_equal_layers_beside_another_one_is_folded_alone() -> None:
    output = Stack(6)(np.ones((2, 8), np.float32))  # a constant: the first layer's input is no arrow
    shown = [text.replace("\u00a0", " ") for text in all_words(mg.draw(output))]
    assert "layers.1–5  ×5" in shown
    assert shown.count("relu") == 2


def test_layers_that_differ_are_not_folded() -> None:
    model = Stack(4)
    model.layers[1].linear.bias = None
    assert all_words(mg.draw(model(np.ones((2, 8), np.float32)))).count("relu") == 3  # 0, 1, and 2 for 3


def test_depth_makes_a_module_one_box_with_its_size() -> None:
    x = mg.Tensor(np.ones((2, 8), np.float32), requires_grad=True, name="x")
    shown = words(mg.draw(Stack(6)(x), depth=0))
    assert sorted(shown) == ["n0", "n1", "n2"]
    assert [text.replace("\u00a0", " ") for text in shown["n1"]] == [
        "layers.0–5  ×6", "3 operations", "parameters", "72",
    ]  # fmt: skip


def test_a_module_that_is_left_and_entered_again_is_two_boxes() -> None:
    class Around(mg.nn.Module):
        def forward(self, x: mg.Tensor, inner: mg.nn.Module) -> mg.Tensor:
            return x + inner(mg.tanh(x))

    class Model(mg.nn.Module):
        def __init__(self) -> None:
            self.around, self.inner = Around(), Block(4, np.random.default_rng(0))

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return self.around(x, self.inner)

    x = mg.Tensor(np.ones((2, 4), np.float32), requires_grad=True)
    drawing = mg.draw(Model()(x), depth=0)
    assert sorted(texts[0] for texts in words(drawing).values()) == ["around", "around", "inner", "input"]
    order = [int(name[1:]) for name in node_ids(drawing)]
    assert all(order.index(int(a[1:])) < order.index(int(b[1:])) for a, b, _ in edges(drawing))


def test_a_module_used_twice_is_drawn_twice() -> None:
    class Twice(mg.nn.Module):
        def __init__(self) -> None:
            self.block = Block(4, np.random.default_rng(0))

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return self.block(self.block(x))

    shown = all_words(mg.draw(Twice()(np.ones((2, 4), np.float32))))
    assert shown.count("relu") == 2
    assert "block, call 2" in shown
