"""Contract 9: a tensor dies by reference count when the last that needs it is dropped; backward lets go of arrays."""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.operation import TABLE
from minigrad.tape import SMALL, topological_order
from tests.minigrad.strategies import numbers

BIG = 1000


@pytest.fixture(autouse=True)
def without_gc():
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def x():
    return mg.Tensor(np.linspace(0.1, 1, BIG), requires_grad=True)


def test_an_interior_tensor_dies_at_once_with_the_last_that_needs_it(x):
    """Row 47."""
    y = mg.exp(x)
    array, tensor, node = weakref.ref(y.data), weakref.ref(y), weakref.ref(y._node)
    z = y * 2.0
    del y
    assert tensor() is None  # nobody holds a Tensor
    assert array() is not None  # exp's rule reads its output
    loss = z.sum()
    del z
    loss.backward()
    assert array() is None  # released
    assert node() is not None  # the skeleton stays
    del loss
    assert node() is None


def test_an_output_that_no_rule_reads_dies_with_its_tensor(x):
    y = x + 1.0
    array = weakref.ref(y.data)
    z = y + 2.0
    del y
    assert array() is None
    z.sum().backward()


def test_an_operand_that_no_rule_reads_is_not_kept(x):
    constant = mg.Tensor(np.ones(BIG))
    array = weakref.ref(constant.data)
    y = x + constant
    del constant
    assert array() is None
    y.sum().backward()


@pytest.mark.parametrize(
    ("call", "arrays"),
    [
        (lambda x: x + x, 0), (lambda x: x - 2.0, 0), (lambda x: -x, 0), (lambda x: x * 2.0, 0), (lambda x: x * x, 1),
        (lambda x: mg.exp(x), 1), (lambda x: mg.log(x), 1), (lambda x: mg.tanh(x), 1), (lambda x: mg.relu(x), 1),
        (lambda x: x / 2.0, 0), (lambda x: 2.0 / x, 2), (lambda x: x**2, 1), (lambda x: x.sum(), 0),
        (lambda x: x.mean(), 0), (lambda x: x.reshape(10, 100), 0), (lambda x: x[::2], 0), (lambda x: x.max(), 1),
        (lambda x: mg.concatenate([x, x]), 0), (lambda x: mg.broadcast_to(x, (2, BIG)), 0), (lambda x: mg.sin(x), 1),
        (lambda x: mg.softmax(x), 2), (lambda x: mg.maximum(x, 0.5), 1), (lambda x: x.astype(np.float32), 0),
    ],
)  # fmt: skip
def test_what_a_row_reads_is_what_is_kept(call, arrays, x):
    """In arrays of x's size. Where only one operand has a gradient, only its rule counts."""
    extra = 8 if call(x).size == 1 and arrays else 0  # the maximum itself
    assert call(x)._node.saved_bytes == arrays * x.data.nbytes + extra


def test_only_the_rules_of_operands_with_a_gradient_count(x):
    constant = mg.Tensor(np.ones(BIG))
    assert (x * constant)._node.saved_bytes == constant.data.nbytes
    assert (x / constant)._node.saved_bytes == constant.data.nbytes
    both = mg.Tensor(np.ones(BIG), requires_grad=True)
    assert (x * both)._node.saved_bytes == 2 * both.data.nbytes


def test_no_grad_keeps_nothing(x):
    with mg.no_grad():
        y = mg.exp(x)
    array = weakref.ref(y.data)
    z = y * 2.0
    del y
    assert array() is None
    assert not z.requires_grad


def test_backward_releases_arrays_and_never_the_skeleton(x):
    y = mg.tanh(x * x)
    loss = (y * y).sum()
    nodes = topological_order([loss._node])
    skeleton = [(node.primitive, node.params, node.inputs, node.shape, node.path, node.number) for node in nodes]
    assert sum(node.saved_bytes for node in nodes) >= 3 * x.data.nbytes
    loss.backward()
    for node, before in zip(nodes, skeleton, strict=True):
        assert (node.primitive, node.params, node.inputs, node.shape, node.path, node.number) == before
        assert node.released == (node.primitive is not None)
        assert node.saved_bytes == 0
        assert node.data is None or node.primitive is None
    assert nodes[0].data is x.data


def test_a_second_backward_through_released_arrays_is_an_error_that_says_what_to_do(x):
    y = x * x
    first, second = y.sum(), (y * 2.0).sum()
    first.backward()
    for call in (lambda: mg.gradients(second, [x]), lambda: list(mg.walk(second)), second.backward):
        with pytest.raises(
            mg.GraphError, match=r"multiply: its saved arrays were released .* use retain_graph=True there"
        ):
            call()


def test_retain_graph_and_create_graph_release_nothing(x):
    loss = mg.exp(x).sum()
    loss.backward(retain_graph=True)
    loss.backward(create_graph=True)
    x.grad = None
    loss.backward()
    with pytest.raises(mg.GraphError, match="released"):
        loss.backward()


def test_gradients_and_walk_release_nothing(x):
    loss = mg.exp(x).sum()
    mg.gradients(loss, [x])
    list(mg.walk(loss))
    loss.backward()


def test_backward_lets_go_of_saved_arrays_as_it_goes(x):
    """When the walk comes to the first operation, what the later ones had saved is gone."""
    alive = []

    def rule(g, out, x):
        alive.extend(array() is not None for array in arrays)
        return g

    watch = mg.Primitive("watch", np.positive, "", mg.Rule(rule))
    del TABLE["watch"]
    outputs = [watch(x)]
    for _ in range(5):
        outputs.append(mg.exp(outputs[-1] * 0.1))
    arrays = [weakref.ref(y.data) for y in outputs[1:]]
    loss = outputs[-1].sum()
    del outputs
    mg.gradients(loss, [x])
    loss.backward()
    assert alive == [True] * 5 + [False] * 5


def test_a_small_view_of_a_big_array_does_not_keep_it_alive(x):
    """Small arrays are kept for drawings; a view would keep all that it is a view of."""
    y = mg.Tensor(np.ones(BIG)) + x
    array = weakref.ref(y.data)
    one = y[:3] + 0.0
    loss = y[0] + one.sum()
    constant = mg.Tensor(np.ones(BIG))
    big = weakref.ref(constant.data)
    loss = loss + constant[:2].sum() + (constant[:2] + x[:2]).sum()
    del y, constant, one
    assert array() is None
    assert big() is None
    loss.backward()


def test_small_values_are_kept_for_drawings_and_big_ones_are_not(x):
    assert (x[:SMALL] + 1.0)._node.data is not None
    assert (x[: SMALL + 1] + 1.0)._node.data is None
    assert (x[:2] + np.ones(2))._node.inputs[1].value is not None
    assert (x + np.ones(BIG))._node.inputs[1].value is None
    assert (x + np.ones(BIG))._node.inputs[1].shape == (BIG,)


def test_a_training_step_leaves_nothing_behind():
    layer = mg.nn.Linear(30, 40, np.random.default_rng(0))
    norm = mg.nn.LayerNorm(40)
    optimizer = mg.optim.Adam([*layer.parameters(), *norm.parameters()], 0.01)
    rng = np.random.default_rng(1)
    refs = []
    for i in range(3):
        x = mg.Tensor(numbers((8, 30), i).astype(np.float32))
        hidden = mg.nn.dropout(mg.relu(norm(layer(x))), 0.1, rng)
        loss = mg.cross_entropy(hidden, np.arange(8))
        loss.backward()
        optimizer.step()
        refs.append(
            (weakref.ref(loss._node), weakref.ref(hidden), weakref.ref(hidden.data), weakref.ref(layer.weight.grad))
        )
        optimizer.zero_grad()
        del hidden, loss
        assert [ref() for ref in refs[-1]] == [None] * 4


def test_gradients_with_create_graph_die_with_the_last_reference(x):
    y = mg.tanh(x).sum()
    (first,) = mg.gradients(y, [x], create_graph=True)
    (second,) = mg.gradients(first.sum(), [x], create_graph=True)
    refs = [weakref.ref(t._node) for t in (y, first, second)]
    del y, first, second
    assert [ref() for ref in refs] == [None] * 3


def test_a_leafs_gradient_dies_when_it_is_set_to_none(x):
    (x * 2.0).sum().backward()
    array = weakref.ref(x.grad.data)
    x.grad = None
    assert array() is None


ROWS = np.random.default_rng(0).integers(0, BIG, 2 * BIG)

WAYS = {
    "index": lambda x: x[ROWS],
    "a pair of indices": lambda x: mg.reshape(x, (10, BIG // 10))[ROWS % 10, ROWS % 100],
    "mask": lambda x: x[ROWS[:BIG] % 2 == 0],
    "dropout": lambda x: mg.nn.dropout(x, 0.5, np.random.default_rng(1)),
}


def arrays_among_the_parameters(node):
    for value in node.params.values():
        yield from (entry for entry in (value if isinstance(value, tuple) else (value,)) if hasattr(entry, "shape"))


@pytest.mark.parametrize("name", WAYS)
def test_arrays_among_the_parameters_are_counted_and_released(name, x):
    y = WAYS[name](x)
    node = y._node
    arrays = list(arrays_among_the_parameters(node))
    shapes = [array.shape for array in arrays]
    held = [weakref.ref(array) for array in arrays]
    assert arrays
    assert node.saved_bytes >= sum(array.nbytes for array in arrays)
    del arrays
    y.sum().backward()
    assert node.saved_bytes == 0
    assert all(array() is None for array in held)
    kept = list(arrays_among_the_parameters(node))
    assert [entry.shape for entry in kept] == shapes  # what a drawing shows
    assert not any(isinstance(entry, np.ndarray) for entry in kept)
