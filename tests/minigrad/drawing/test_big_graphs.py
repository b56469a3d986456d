"""Long, wide and deep graphs are drawn folded, and nothing recurses."""

import numpy as np

import minigrad as mg
from tests.minigrad.drawing.pictures import all_words, node_ids


def test_a_chain_of_20_000_operations_is_folded() -> None:
    x = mg.Tensor(1.0, requires_grad=True, name="x")
    b = mg.Tensor(1e-4, requires_grad=True, name="b")
    y = x
    for _ in range(10_000):
        y = mg.sin(y + b)
    drawing = mg.draw(y)
    svg = drawing.svg()
    assert len(node_ids(drawing)) < 12
    assert "19,996 operations in a row" in svg
    assert "add ×9,998, sin ×9,998" in svg


def test_a_wide_graph_of_thousands_keeps_what_is_near_its_end() -> None:
    rng = np.random.default_rng(0)
    made = [mg.Tensor(1.0, requires_grad=True, name=f"x{i}") for i in range(5)]
    for _ in range(3000):
        one, two = rng.integers(0, len(made), 2)
        made.append(made[int(one)] * made[int(two)])
    drawing = mg.draw(made[-40:])
    assert len(node_ids(drawing)) <= 150
    assert any("earlier steps" in text for text in all_words(drawing))


def test_deep_modules_do_not_recurse() -> None:
    class Nest(mg.nn.Module):
        def __init__(self, inner: mg.nn.Module | None) -> None:
            self.inner = inner

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return mg.sin(x)

    x = mg.Tensor(1.0, requires_grad=True)
    nodes = []
    for depth in range(300):  # as a module nested so deep would record it; calling one nested so deep would recurse
        y = mg.sin(x)
        assert y._node is not None
        y._node.path = ".".join(f"m{level}" for level in range(depth))
        nodes.append(y)
    assert "cluster_c100" in mg.draw(nodes, depth=400).source


def test_z_plus_z_18_times_has_19_boxes() -> None:
    z = mg.Tensor(1.0, requires_grad=True)
    for _ in range(18):
        z = z + z
    drawing = mg.draw(z)
    assert len(node_ids(drawing)) == 19
