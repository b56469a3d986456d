import gc
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import drawing
from minigrad.drawing import collect


def test_vertices_come_before_their_users_and_operands_keep_their_order() -> None:
    x = mg.Tensor([1.0, 2.0], requires_grad=True, name="x")
    graph = collect(mg.sum((3.0 - x) / x))
    assert [vertex.operation for vertex in graph.vertices] == ["", "subtract", "divide", "sum"]
    assert [(operand.source, operand.value) for operand in graph.vertices[1].operands] == [(None, 3.0), (0, None)]
    assert [operand.source for operand in graph.vertices[2].operands] == [1, 0]
    assert graph.outputs == [3]


def test_temporary_tensors_never_become_one_vertex() -> None:
    x = mg.Tensor(1.0, requires_grad=True)
    total = x
    for step in range(300):
        total = total + mg.sin(x * float(step))  # each product and sine is dropped at once
    gc.collect()
    graph = collect(total)
    assert len(graph.vertices) == 1 + 3 * 300
    factors = [v.operands[1].value for v in graph.vertices if v.operation == "multiply"]
    assert factors == [float(step) for step in range(300)]


def test_a_tensor_without_history_is_a_vertex_of_its_own() -> None:
    graph = collect([mg.Tensor(2.0, name="alone"), mg.Tensor(1.0, requires_grad=True)])
    assert sorted((vertex.name, vertex.tracked) for vertex in graph.vertices if vertex.name) == [("alone", False)]
    assert len(graph.vertices) == 2
    assert len(graph.outputs) == 2


def test_gradients_are_those_of_the_walk_and_nothing_is_written() -> None:
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    y = mg.Tensor(np.arange(20.0), requires_grad=True)
    loss = mg.sum(x * x) + mg.sum(y * 2.0)
    graph = collect(loss, gradients=True)
    leaves = [vertex for vertex in graph.vertices if not vertex.operation]
    np.testing.assert_array_equal(leaves[0].gradient, [2.0, 4.0])
    assert leaves[1].gradient == pytest.approx(np.sqrt(80))  # a big one: its norm
    assert x.grad is None
    loss.backward()  # nothing was released


def test_only_one_scalar_can_be_differentiated() -> None:
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(mg.DrawingError, match=r"shape \(2,\).*t\.sum\(\)"):
        collect(x * x, gradients=True)
    with pytest.raises(mg.DrawingError, match="one scalar"):
        collect([mg.sum(x), mg.sum(x * x)], gradients=True)
    with pytest.raises(mg.DrawingError, match="one scalar"):
        collect(mg.Tensor(1.0), gradients=True)
    collect([x * x, mg.sum(x)], gradients=True)


def test_a_released_graph_can_be_drawn_but_not_differentiated() -> None:
    x = mg.Tensor(2.0, requires_grad=True)
    y = mg.exp(x) * x
    y.backward()
    assert collect(y).vertices[1].released
    with pytest.raises(mg.GraphError):
        collect(y, gradients=True)


@pytest.mark.parametrize(
    ("stranger", "named"),
    [
        ([], "nothing"),
        ([1.0], "float"),
        ([mg.Tensor(1.0), 2, "x"], "int, str"),
        (np.ones(3), "ndarray"),
        (np.ones(()), "ndarray"),
        (5, "int"),
        (None, "NoneType"),
        ("ab", "str"),
        ({}, "dict"),
    ],
)
def test_what_is_no_tensor_is_refused(stranger: object, named: str) -> None:
    with pytest.raises(mg.DrawingError, match=f"a list of Tensors, not {named}$"):
        collect(stranger)  # type: ignore[arg-type]
    with pytest.raises(mg.DrawingError, match=f"not {named}$"):
        mg.draw(stranger)  # type: ignore[arg-type]


def test_params_are_what_was_asked_for() -> None:
    x = mg.Tensor(np.ones((2, 3)), requires_grad=True)
    for reduce in (mg.sum, mg.mean, mg.max, mg.logsumexp):
        shown = {name for name, value in collect(reduce(x, axis=1)).vertices[1].params.items() if value is not None}
        assert shown == {"axis"}


def test_no_other_file_of_the_room_knows_the_tape() -> None:
    room = Path(drawing.__file__).parent
    assert [path.name for path in sorted(room.glob("*.py")) if "minigrad.tape" in path.read_text(encoding="utf-8")] == [
        "graph.py"
    ]
