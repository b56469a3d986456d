"""Contracts 2 and 5: one walk, a stream without side effects; what it does once for all rules."""

import numpy as np
import pytest
from hypothesis import given

import minigrad as mg
from minigrad.tape import Node
from tests.minigrad.operations import CASES, seeds
from tests.minigrad.strategies import leaf, numbers


@pytest.fixture
def x():
    return mg.Tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=np.float64, name="x")


# The stream


def network(seed=0):
    """A loss with shared values, broadcasting, a fused operation and an operand without gradient."""
    x, w, b = (leaf(numbers(shape, seed + i)) for i, shape in enumerate(((4, 3), (3, 5), (5,))))
    hidden = mg.tanh(x @ w + b)
    mixed = mg.softmax(hidden) * hidden + mg.Tensor(numbers((5,), seed + 9))
    return (mixed * mixed).sum() + (w * w).sum() * 0.1, [x, w, b]


def test_contributions_add_up_to_cotangents():
    loss, _ = network()
    owed: dict[Node, np.ndarray] = {loss._node: np.ones(())}
    for step in mg.walk(loss):
        np.testing.assert_allclose(step.cotangent, owed.pop(step.node), rtol=1e-14)
        assert step.cotangent.shape == step.node.shape
        assert len(step.contributions) == len(step.node.inputs)
        for operand, contribution in zip(step.node.inputs, step.contributions, strict=True):
            if contribution is not None:
                assert contribution.shape == operand.shape
                assert contribution.dtype == operand.dtype
                owed[operand] = owed.get(operand, 0) + contribution
    assert not owed


def test_the_walk_goes_outputs_first_and_sees_each_node_once():
    loss, _ = network()
    numbers_ = [step.node.number for step in mg.walk(loss)]
    assert numbers_ == sorted(set(numbers_), reverse=True)


def test_the_walk_writes_no_gradient_and_frees_nothing():
    loss, leaves = network()
    first = [(step.node, step.cotangent.copy()) for step in mg.walk(loss)]
    assert all(leaf.grad is None for leaf in leaves)
    assert not any(node.released for node, _ in first)
    for (node, cotangent), step in zip(first, mg.walk(loss), strict=True):
        assert step.node is node
        np.testing.assert_array_equal(step.cotangent, cotangent)


def test_what_the_walk_yields_is_read_only_and_stays_as_it_was():
    loss, _ = network()
    steps = list(mg.walk(loss))
    copies = [step.cotangent.copy() for step in mg.walk(loss)]
    for step, copy in zip(steps, copies, strict=True):
        np.testing.assert_array_equal(step.cotangent, copy)
        arrays = [step.cotangent, *(c for c in step.contributions if c is not None)]
        assert not any(array.flags.writeable for array in arrays)


def test_the_walk_can_be_left_and_a_second_one_run_inside_it():
    loss, leaves = network()
    outer = mg.walk(loss)
    next(outer)
    inner = mg.gradients(loss, leaves)
    rest = {step.node: step.cotangent for step in outer}
    for tensor, gradient in zip(leaves, inner, strict=True):
        np.testing.assert_array_equal(rest[tensor._node], gradient.data)
    abandoned = mg.walk(loss)
    next(abandoned)
    abandoned.close()
    loss.backward()


def test_the_walk_holds_no_context_across_a_yield():
    loss, _ = network()
    before = np.geterr()
    for _ in mg.walk(loss):
        assert np.geterr() == before
    assert np.geterr() == before


def test_the_walk_refuses_before_its_first_step():
    with pytest.raises(mg.GraphError):
        mg.walk(mg.Tensor(1.0))
    with pytest.raises(mg.GraphError, match="needs a cotangent"):
        mg.walk(mg.Tensor([1.0, 2.0], requires_grad=True))


@given(CASES["attention"], seeds)
def test_the_walk_under_unfused_gives_the_same_gradients(case, seed):
    leaves = [leaf(operand) for operand in case.operands()]
    g = numbers(case.call(*leaves).shape, seed)
    fused = mg.gradients(case.call(*leaves), leaves, g)
    with mg.unfused():
        output = case.call(*leaves)
        found = {step.node: step.cotangent for step in mg.walk(output, g)}
    for tensor, gradient in zip(leaves, fused, strict=True):
        np.testing.assert_allclose(found[tensor._node], gradient.data, rtol=1e-11, atol=1e-13)


# What the walk does once for all rules


@given(CASES["multiply"], seeds)
def test_cotangents_are_summed_over_what_broadcasting_added_or_stretched(case, seed):
    x, y = (leaf(operand) for operand in case.operands())
    output = x * y
    g = numbers(output.shape, seed)
    for tensor, other in ((x, y), (y, x)):
        full = g * np.broadcast_to(other.data, output.shape)
        lead = tuple(range(output.ndim - tensor.ndim))
        expected = full.sum(axis=lead)
        stretched = tuple(i for i, size in enumerate(tensor.shape) if size == 1)
        expected = expected.sum(axis=stretched, keepdims=True)
        np.testing.assert_allclose(mg.gradients(output, [tensor], g)[0].data, expected, rtol=1e-12, atol=1e-13)


def test_a_value_used_many_times_gets_the_sum_of_all_its_contributions(x):
    y = x + x + x * x - mg.sin(x) + x
    (gradient,) = mg.gradients(y, [x], np.ones(3))
    np.testing.assert_allclose(gradient.data, 3 + 2 * x.data - np.cos(x.data))


def test_accumulation_adds_into_no_array_that_it_does_not_own(x):
    """add hands the same cotangent to both operands: summing into it in place would change the other's."""
    a, b = x * 1.0, x * 1.0
    total = a + b
    again = total + a
    seen = {step.node: (step.cotangent, step.cotangent.copy()) for step in mg.walk(again, np.array([1.0, 2.0, 3.0]))}
    for cotangent, copy in seen.values():
        np.testing.assert_array_equal(cotangent, copy)
    np.testing.assert_array_equal(seen[b._node][0], [1, 2, 3])
    np.testing.assert_array_equal(seen[a._node][0], [2, 4, 6])
