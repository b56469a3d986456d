"""The door by which an operation gets onto the tape, used from outside as the engine uses it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.fused import Fused
from minigrad.operation import TABLE, Operation
from minigrad.primitive import Primitive, Rule
from tests.minigrad.case import seeds
from tests.minigrad.strategies import broadcastable, leaf, numbers


@pytest.fixture(autouse=True)
def table_as_it_was():
    before = dict(TABLE)
    yield
    TABLE.clear()
    TABLE.update(before)


def test_an_operation_of_ones_own_has_all_that_the_built_in_ones_have():
    cube = Primitive("cube", lambda x: x * x * x, "x ** 3", Rule(lambda g, out, x: g * 3 * x * x, "x"))
    mg.check_grads(cube, [numbers((2, 3), 0)], order=3)
    x = mg.Tensor([2.0], requires_grad=True)
    y = cube(x)
    assert repr(y) == "Tensor([8.], made_by='cube')"
    assert repr(y._node) == "Node(cube (1,) float32)"
    assert TABLE["cube"] is cube
    assert repr(cube) == "<primitive cube>"


def test_a_fused_operation_of_ones_own_runs_its_kernel_or_its_definition():
    calls = []

    def forward(x):
        calls.append("forward")
        return x * x, x

    def backward(g, out, residual, x):
        calls.append("backward")
        return (2 * g * residual,)

    square = Fused("my_square", lambda x: x * x, forward, backward, "x ** 2", "x")
    x = leaf(numbers((3,), 0))
    (first,) = mg.gradients(square(x), [x], np.ones(3))
    assert calls == ["forward", "backward"]
    with mg.unfused():
        y = square(x)
    assert y._node.primitive.name == "multiply"
    (again,) = mg.gradients(y, [x], np.ones(3))
    np.testing.assert_allclose(first.data, again.data)
    assert calls == ["forward", "backward"]
    mg.check_grads(square, [x], order=3)


def test_an_operand_with_a_rule_of_none_gets_no_gradient_and_does_not_stop_the_others():
    scale = Primitive("scale", np.multiply, "x * c", Rule(lambda g, out, x, c: g * c, "c"), None)
    x, c = leaf(numbers((3,), 0)), leaf(numbers((3,), 1))
    once = c * 2.0
    dx, dc = mg.gradients(scale(x, once), [x, c], np.ones(3))
    np.testing.assert_array_equal(dx.data, once.data)
    np.testing.assert_array_equal(dc.data, 0)
    assert [step.node for step in mg.walk(scale(x, once), np.ones(3))][-1] is x._node
    (condition,) = mg.gradients(mg.where(once, x, 0.0), [c], np.ones(3))
    assert not condition.data.any()


def product_of_the_others(g, out, *parts, position):
    return math.prod((part for i, part in enumerate(parts) if i != position), start=g)


def variadic(name, rule, reads):
    """The product of all operands, with this rule; not in the table."""
    row = Primitive(name, lambda *parts: math.prod(parts), "x * y * ...", Rule(rule, reads), variadic=True)
    del TABLE[name]
    return row


@given(st.integers(1, 4).flatmap(lambda count: broadcastable(count, max_dims=3)), st.data(), seeds)
def test_a_variadic_rule_that_reads_has_the_constants_behind_the_last_tracked_operand_too(shapes, data, seed):
    operands = [numbers(shape, seed + i) for i, shape in enumerate(shapes)] + data.draw(st.sampled_from(([], [1.5])))
    tracked = data.draw(st.sets(st.integers(0, len(shapes) - 1), min_size=1).map(sorted))
    product = variadic("product", product_of_the_others, "parts")

    def of_tracked(*live):
        given = dict(zip(tracked, live, strict=True))
        return product(*(given.get(i, operand) for i, operand in enumerate(operands)))

    mg.check_grads(of_tracked, [operands[i] for i in tracked], order=2, entries=3, seed=seed)


def test_a_variadic_row_keeps_all_operands_for_calls_with_more_after_one_with_fewer():
    product = variadic("product", product_of_the_others, "parts")
    x = leaf(numbers((3,), 0))
    for count in (0, 2, 1):
        constants = [numbers((3,), i + 1) for i in range(count)]
        (gradient,) = mg.gradients(product(x, *constants), [x], np.ones(3))
        np.testing.assert_allclose(gradient.data, math.prod(constants, start=np.ones(3)))


def test_a_variadic_rule_may_read_the_output_and_what_it_does_not_read_is_not_kept():
    product = variadic("product", lambda g, out, *parts, position: g * out / parts[position], "out parts")
    x, y = leaf(numbers((3, 7), 0, 0.5)), leaf(numbers((7,), 1, 0.5))
    mg.check_grads(product, [x, y], order=2)
    of_output = variadic("of_output", lambda g, out, *parts, position: g * out, "out")
    assert of_output.kept(0b01, 3) == {-1}
    assert product.kept(0b01, 3) == {-1, 0, 1, 2}
    assert variadic("of_none", lambda g, out, *parts, position: g, "").kept(0b01, 3) == set()


def test_a_definition_that_depends_on_nothing_has_gradient_zero():
    constant = Fused(
        "constant", lambda x: mg.Tensor([1.0]), lambda x: (np.ones(1), None), lambda g, out, r, x: (None,), "1", ""
    )
    x = leaf(numbers((3,), 0))
    for create_graph in (False, True):
        (gradient,) = mg.gradients(constant(x), [x], np.ones(1), create_graph=create_graph)
        assert not gradient.data.any()


def test_a_rule_may_give_a_plain_array_or_a_number_of_the_right_shape():
    for rule in (lambda g, out, x: np.zeros(3), lambda g, out, x: np.zeros(3, np.float32)):
        name = f"zero{len(TABLE)}"
        operation = Primitive(name, np.square, "", Rule(rule))
        x = leaf(numbers((3,), 0))
        for create_graph in (False, True):
            (gradient,) = mg.gradients(operation(x) + operation(x), [x], np.ones(3), create_graph=create_graph)
            assert (gradient.dtype, gradient.shape) == (np.float64, (3,))
            assert not gradient.data.any()
    total = Primitive("total", np.sum, "", Rule(lambda g, out, x: 1.0))
    x = leaf(np.array(2.0))
    assert mg.gradients(total(x), [x])[0].item() == 1


def test_an_output_that_is_no_floating_array_is_not_on_the_tape():
    whole = TABLE["astype"](leaf(np.array([1.5])), dtype=np.dtype(int))
    assert not whole.requires_grad
    sign = Primitive("my_sign", lambda x: (x > 0).astype(int), "", Rule(lambda g, out, x: g))
    assert not sign(leaf(numbers((3,), 0))).requires_grad


def test_an_operation_is_one_of_the_two_kinds():
    bare = Operation("bare", "", "", True)
    for call in (
        lambda: bare.reads_output,
        lambda: bare.kept(1, 1),
        lambda: bare.cotangents(None, None, None, ()),
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_nodes_constants_and_sizes_describe_themselves():
    x = mg.Tensor(np.ones((2, 3)), requires_grad=True, name="x")
    node = (x * mg.Tensor(np.ones(3), name="c"))._node
    assert (node.ndim, node.size, node.shape, node.dtype) == (2, 6, (2, 3), np.float64)
    assert repr(node.inputs[0]) == "Node(leaf x (2, 3) float64)"
    assert repr(node.inputs[1]) == "Constant(c (3,) float64)"
    assert node.inputs[1].ndim == 1
