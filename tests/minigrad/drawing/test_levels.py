"""Modules are opened and folded by name, and the pictures of a page lead to each other."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing.scene import OVERVIEW
from minigrad.errors import DrawingError


class Block(mg.nn.Module):
    """A linear map and tanh, in a module of its own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.map = mg.nn.Linear(3, 3, rng)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        return mg.tanh(self.map(x)) * 2.0


class Tower(mg.nn.Module):
    """Four equal blocks in a list, and a last one of its own."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.blocks = [Block(rng) for _ in range(4)]
        self.last = Block(rng)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.last(x)


@pytest.fixture
def output() -> mg.Tensor:
    with mg.unfused():
        return Tower()(mg.Tensor(np.ones((2, 3)), requires_grad=True, name="x"))


def words(picture: mg.drawing.Drawing) -> str:
    return picture.description


def test_depth_0_is_a_box_for_each_outermost_module(output: mg.Tensor) -> None:
    assert words(mg.draw(output, depth=0)).splitlines() == ["x.", "blocks.0–3  ×4 from x.", "last from blocks.0–3  ×4."]


def test_a_module_is_expanded_and_the_others_are_not(output: mg.Tensor) -> None:
    lines = words(mg.draw(output, depth=0, expand="last")).splitlines()
    assert lines[1] == "blocks.0–3  ×4 from x."
    assert [line.split()[:2] for line in lines[2:]] == [["last", "map"], ["last", "tanh"], ["last", "multiply"]]
    assert "last map linear from" in words(mg.draw(output, depth=0, expand=["last.map"]))
    assert "last map linear matmul from" in words(mg.draw(output, depth=0, expand=["last.map.linear"]))


def test_a_layer_that_is_named_stands_by_itself(output: mg.Tensor) -> None:
    lines = words(mg.draw(output, depth=0, expand="blocks.2")).splitlines()
    assert lines[1] == "blocks.0–1  ×2 from x."
    assert lines[2].startswith("blocks.2 map")
    assert any(line.startswith("blocks.3 ") for line in lines)
    first = mg.draw(output, depth=0, expand="blocks.0")
    assert words(first).splitlines()[1].startswith("blocks.0 map")
    assert "blocks.0–3" in first.source


def test_a_module_is_collapsed_and_the_others_are_not(output: mg.Tensor) -> None:
    lines = words(mg.draw(output, collapse=["last"])).splitlines()
    assert lines[-1].startswith("last from")
    assert "blocks.0 map linear matmul from x." in lines


@pytest.mark.parametrize("argument", ["expand", "collapse"])
def test_a_module_that_is_not_there_is_refused_with_the_nearest(output: mg.Tensor, argument: str) -> None:
    with pytest.raises(DrawingError, match=f"{argument}: there is no module 'blocks.9' .*nearest: blocks.") as caught:
        mg.draw(output, **{argument: "blocks.9"})
    assert "\n" not in str(caught.value)
    with pytest.raises(DrawingError, match="this graph has no modules"):
        mg.draw(mg.Tensor(1.0, requires_grad=True) * 2, **{argument: "a"})


def test_every_picture_of_a_page_leads_to_pictures_that_there_are(output: mg.Tensor) -> None:
    first = mg.draw(output)
    views = first.links().views
    assert list(views) == [
        OVERVIEW, "blocks.0", "blocks.0.map", "blocks.0.map.linear", "last", "last.map", "last.map.linear",
    ]  # fmt: skip
    for name, make in views.items():
        picture = make()
        links = picture.links()
        assert {*links.opens.values(), *links.closes.values()} <= views.keys()
        assert all(f'id="{place}"' in picture.source for place in (*links.opens, *links.closes, *links.details))
        if name != OVERVIEW:  # the module is open: a cluster, or what is in it has it in its path
            paths = [entry.get("path", "") for entry in links.details.values()]
            assert name not in links.opens.values()
            assert any(f"{path}.".startswith(f"{name}.") for path in paths)
    assert set(views[OVERVIEW]().links().opens.values()) == {"blocks.0", "last"}


def test_details_are_what_there_is(output: mg.Tensor) -> None:
    x = mg.Tensor(3.0, requires_grad=True, name="x")
    picture = mg.draw(mg.exp(x), gradients=True)
    leaf, last = picture.links().details.values()
    assert leaf == {"title": "x", "shape": "scalar float32", "value": [["3"]], "gradient": [["20.09"]]}
    assert last["operation"] == "exp"
    assert last["formula"] == "exp(x)"
    assert last["gradient"] == [["1"]]
    big = mg.Tensor(np.arange(100.0), requires_grad=True, name="big")
    assert mg.draw(mg.sum(big)).links().details["n0"]["value"] == "mean 49.5, spread 28.87"
    loss = mg.sum(mg.exp(big / 100))
    loss.backward()
    assert mg.draw(loss).links().details["n2"]["value"] == "released: use retain_graph=True"
    module = mg.draw(output, depth=0).links().details["n2"]
    assert module["operations"] == ["add ×1", "matmul ×1", "multiply ×1", "tanh ×1"]
    assert module["path"] == "last"
    assert module["saved"].endswith(" bytes")


def test_parameters_of_a_fused_operation_are_rows_though_a_module_around_them_used_them() -> None:
    class Outer(mg.nn.Module):
        def __init__(self) -> None:
            self.inner = mg.nn.Linear(3, 4, np.random.default_rng(0))

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return mg.linear(x, self.inner.weight, self.inner.bias)

    class Outermost(mg.nn.Module):
        def __init__(self) -> None:
            self.outer = Outer()

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return mg.tanh(self.outer(x))

    picture = mg.draw(Outermost()(mg.Tensor(np.ones((2, 3)))))
    assert len(picture.links().details) == 2
    assert "inner.weight" not in words(picture)
    assert "inner.weight" in picture.source


def test_the_source_line_is_told_where_it_was_remembered() -> None:
    x = mg.Tensor(2.0, requires_grad=True)
    with mg.detect_anomaly():
        y = mg.exp(x)
    assert "test_levels.py:" in mg.draw(y).links().details["n1"]["source"]
