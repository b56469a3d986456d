"""Hooks observe a node's gradient, and fail loudly where they would be ignored."""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg


def leaf(values):
    return mg.Tensor(values, requires_grad=True, dtype=np.float64)


def test_a_hook_sees_the_whole_gradient_once_a_pass():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    seen = []
    with y.register_hook(seen.append) as handle, x.register_hook(seen.append):
        (y * y + y).sum().backward()
        assert handle.calls == 1
    np.testing.assert_array_equal(seen[0].data, [7.0, 13.0])
    np.testing.assert_array_equal(seen[1].data, [21.0, 39.0])
    np.testing.assert_array_equal(x.grad.data, seen[1].data)
    assert not seen[0].requires_grad
    with pytest.raises(ValueError, match="read-only"):
        seen[0].data[0] = 0.0


def test_a_hook_on_a_node_and_hooks_in_the_order_of_registration():
    x = leaf(1.0)
    seen = []
    first = x._node.register_hook(lambda g: seen.append("first"))
    second = x.register_hook(lambda g: seen.append("second"))
    (x * 2.0).backward()
    first.remove()
    (x * 2.0).backward()
    second.remove()
    second.remove()
    (x * 2.0).backward()
    assert seen == ["first", "second", "second"]


def test_gradients_calls_hooks_and_walk_does_not():
    x = leaf(2.0)
    y = x * x
    seen = []
    handle = y.register_hook(seen.append)
    list(mg.walk(y * 3.0))
    assert not seen
    mg.gradients(y * 3.0, [x])
    assert [g.item() for g in seen] == [3.0]
    handle.remove()


def test_under_create_graph_the_gradient_is_on_the_tape():
    x = leaf(2.0)
    seen = []
    with x.register_hook(seen.append):
        mg.gradients(x * x * x, [x], create_graph=True)
    (second,) = mg.gradients(seen[0], [x])
    assert second.item() == 12.0


def test_a_hook_that_returns_something_is_an_error():
    x = leaf(1.0)

    def double(gradient):
        return gradient * 2.0

    x.register_hook(double)
    with pytest.raises(mg.GraphError, match=r"double on Node\(leaf.*returned a Tensor, which would be ignored"):
        (x * 2.0).backward()
    assert x.grad is None


def test_a_hook_that_fails_is_named():
    x = leaf(1.0)

    def divide(gradient):
        raise ZeroDivisionError

    x.register_hook(divide)
    with pytest.raises(ZeroDivisionError) as caught:
        (x * 2.0).backward()
    assert "divide on Node(leaf" in caught.value.__notes__[0]


def test_a_hook_where_none_could_be_called_is_an_error():
    with pytest.raises(mg.GraphError, match="requires no gradient"):
        mg.Tensor(1.0).register_hook(print)
    with pytest.raises(mg.GraphError, match="requires no gradient"), mg.no_grad():
        (leaf(1.0) * 2.0).register_hook(print)
    with pytest.raises(TypeError, match="a hook is a function of a gradient, not a int"):
        leaf(1.0).register_hook(3)
    x = leaf(1.0)
    y = x * 2.0
    y.backward()
    with pytest.raises(mg.GraphError, match="released by a backward pass"):
        y.register_hook(print)


def test_a_hook_that_nothing_reached_is_an_error_when_it_is_removed():
    x, other = leaf(1.0), leaf(1.0)
    handle = other.register_hook(print)
    (x * 2.0).backward()
    with pytest.raises(mg.GraphError, match="was never called"):
        handle.remove()
    handle.remove()
    assert other._node.hooks == ()
    with pytest.raises(mg.GraphError, match="was never called"), other.register_hook(print):
        (x * 2.0).backward()


def test_removing_hides_no_other_error():
    x = leaf(1.0)
    with pytest.raises(KeyError), x.register_hook(print):
        raise KeyError
    handle = x.register_hook(print)

    def work():
        try:
            raise KeyError
        finally:
            handle.remove()

    with pytest.raises(KeyError):
        work()
    assert x._node.hooks == ()


def test_a_leaf_with_a_hook_does_not_silently_stop_requiring_a_gradient():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: None)
    with pytest.raises(mg.GraphError, match="remove it first"):
        x.requires_grad = False
    (x * 2.0).backward()
    handle.remove()
    x.requires_grad = False


def test_a_hook_may_remove_itself():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: handle.remove())
    (x * 2.0).backward()
    (x * 2.0).backward()
    assert handle.calls == 1


def test_a_hook_keeps_no_graph_alive_once_removed():
    gc.disable()
    try:
        y = leaf([1.0]) * 2.0
        handle = y.register_hook(lambda g: None)
        y.backward()
        handle.remove()
        node = weakref.ref(y._node)
        del y, handle
        assert node() is None
    finally:
        gc.enable()
