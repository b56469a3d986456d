"""Contracts 5 and 14: gradients() and backward() are readers of the walk; what they write, and what they refuse."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import backprop
from minigrad.operation import TABLE


@pytest.fixture
def x():
    return mg.Tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=np.float64, name="x")


# gradients()


def test_gradients_writes_none_and_takes_leaves_and_interior_tensors(x):
    y = x * 2.0
    z = (y * y).sum()
    dx, dy, again = mg.gradients(z, [x, y, x])
    np.testing.assert_array_equal(dx.data, 8 * x.data)
    np.testing.assert_array_equal(dy.data, 2 * y.data)
    assert again is not dx
    assert x.grad is None


def test_gradients_of_the_output_itself_is_the_cotangent(x):
    (gradient,) = mg.gradients(x, [x], [0.5, 0.25, 2.0])
    np.testing.assert_array_equal(gradient.data, [0.5, 0.25, 2.0])


def test_gradients_of_a_tensor_that_plays_no_part_are_zero(x):
    other = mg.Tensor(np.ones((2, 2), np.float32), requires_grad=True)
    (gradient,) = mg.gradients(x.sum(), [other])
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient.data, np.zeros((2, 2)))


def test_gradients_of_a_tensor_without_history_is_an_error_that_counts_it(x):
    with pytest.raises(mg.GraphError, match=r"tensor 1 of shape \(2,\) does not require a gradient"):
        mg.gradients(x.sum(), [x, mg.Tensor([1.0, 2.0])])


def test_gradients_with_create_graph_are_on_the_tape_also_under_no_grad(x):
    y = (x * x * x + x * x).sum()
    with mg.no_grad():
        (first,) = mg.gradients(y, [x], create_graph=True)
    assert first.requires_grad
    np.testing.assert_allclose(mg.gradients(first.sum(), [x])[0].data, 6 * x.data + 2)


def test_a_cotangent_may_have_a_gradient_itself(x):
    v = mg.Tensor([0.5, 1.0, 2.0], requires_grad=True, dtype=np.float64)
    (first,) = mg.gradients(mg.sin(x), [x], v, create_graph=True)
    np.testing.assert_allclose(mg.gradients(first.sum(), [v])[0].data, np.cos(x.data))


def test_a_gradient_that_is_its_cotangent_is_not_the_same_tensor(x):
    v = mg.Tensor([0.5, 1.0, 2.0], requires_grad=True, dtype=np.float64)
    (gradient,) = mg.gradients(x + 1.0, [x], v, create_graph=True)
    assert gradient is not v
    np.testing.assert_array_equal(mg.gradients(gradient.sum(), [v])[0].data, 1)
    v.data = np.zeros(3)
    np.testing.assert_array_equal(gradient.data, [0.5, 1.0, 2.0])


# backward()


def test_backward_accumulates_on_leaves_alone(x):
    y = x * 2.0
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.data, 8 * x.data)
    assert isinstance(x.grad, mg.Tensor)
    assert not x.grad.requires_grad
    (x * 1.0).sum().backward()
    np.testing.assert_array_equal(x.grad.data, 8 * x.data + 1)


def test_backward_twice_with_the_graph_kept_doubles(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.data, 4 * x.data)


def test_a_leaf_can_be_the_output(x):
    x.backward([1.0, 2.0, 3.0])
    x.backward([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.grad.data, [2, 4, 6])


def test_backward_under_no_grad_works(x):
    y = (x * x).sum()
    with mg.no_grad():
        y.backward()
    np.testing.assert_array_equal(x.grad.data, 2 * x.data)


def test_backward_from_zeros_gives_zeros(x):
    """Row 55."""
    (x * x).backward(np.zeros(3))
    np.testing.assert_array_equal(x.grad.data, 0)


def test_backward_with_create_graph_gives_gradients_on_the_tape_and_keeps_the_graph(x):
    y = (x * x * x).sum()
    y.backward(create_graph=True)
    np.testing.assert_allclose(mg.gradients(x.grad.sum(), [x])[0].data, 6 * x.data)
    y.backward()
    np.testing.assert_allclose(x.grad.data, 6 * x.data**2)
    assert not x.grad.requires_grad


def test_gradients_written_with_create_graph_are_separate_tensors():
    a, b = (mg.Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (a + b).backward([1.0, 1.0], create_graph=True)
    assert a.grad is not b.grad
    a.grad.data = np.zeros(2)
    np.testing.assert_array_equal(b.grad.data, 1)


def test_grad_does_not_alias_the_cotangent_the_data_or_another_grad(x):
    y = mg.Tensor(np.ones(3), requires_grad=True)
    g = mg.Tensor(np.array([1.0, 2.0, 3.0]))
    (x + y).backward(g)
    arrays = [x.grad.data, y.grad.data, g.data, x.data, y.data]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_the_gradient_of_an_interior_tensor_is_kept_where_asked_for_and_else_an_error(x):
    """Row 53."""
    y, z = x * 2.0, x * 3.0
    y.retain_grad()
    (y * z).sum().backward()
    np.testing.assert_array_equal(y.grad.data, z.data)
    with pytest.raises(mg.GraphError, match=r"call t.retain_grad\(\) before backward\(\), or use mg.gradients"):
        z.grad
    with pytest.raises(mg.GraphError, match="does not require a gradient"):
        mg.Tensor(1.0).retain_grad()
    assert mg.Tensor(1.0).grad is None


def test_nothing_is_written_where_the_walk_fails(x):
    """The second leaf was changed after its use: neither has half a gradient."""
    y = mg.Tensor(np.ones(3), requires_grad=True)
    loss = (mg.exp(x) + mg.sin(y) * y).sum()
    y.data = np.zeros(3)
    with pytest.raises(mg.GraphError, match="was changed"):
        loss.backward()
    assert x.grad is None
    assert y.grad is None


@pytest.mark.parametrize(
    ("gradient", "error", "words"),
    [
        (np.ones(2), mg.ShapeError, r"the cotangent's shape \(2,\) must be the output's, \(3,\)"),
        (1.0, mg.ShapeError, r"shape \(\) must be"),
        (np.ones((1, 3)), mg.ShapeError, r"shape \(1, 3\)"),
        (np.ones(3) * 1j, mg.DtypeError, "a cotangent is real, not complex128"),
        (None, mg.GraphError, r"did you mean output.sum\(\).backward\(\)"),
    ],
)
def test_a_cotangent_that_does_not_fit_is_refused(gradient, error, words, x):
    with pytest.raises(error, match=words):
        (x * x).backward(gradient)
    with pytest.raises(error, match=words):
        mg.gradients(x * x, [x], gradient)


def test_a_cotangent_takes_the_dtype_of_the_output():
    x = mg.Tensor(np.ones(2, np.float32), requires_grad=True)
    for gradient in (np.ones(2), [1, 2], np.array([True, False]), mg.Tensor(np.ones(2))):
        x.grad = None
        (x * 2.0).backward(gradient)
        assert x.grad.dtype == np.float32


def test_backward_of_a_tensor_without_history_is_an_error_that_says_why():
    with pytest.raises(mg.GraphError, match="made under no_grad, or from plain arrays"):
        mg.Tensor(1.0).backward()
    x = mg.Tensor(1.0, requires_grad=True)
    with mg.no_grad():
        y = x * x
    with pytest.raises(mg.GraphError, match="no recorded operation"):
        y.backward()


def test_the_graph_of_a_model_is_released_by_backward(x):
    class Block(mg.nn.Module):
        def forward(self, x):
            return mg.exp(x)

    class Model(mg.nn.Module):
        def __init__(self):
            self.block = Block()

        def forward(self, x):
            return self.block(x)

    loss = Model()(x).sum()
    loss.backward()
    with pytest.raises(mg.GraphError) as raised:
        mg.gradients(loss, [x])
    assert str(raised.value).startswith("sum: its saved arrays were released")


def test_forward_warns_as_numpy_does_and_backward_is_silent():
    x = mg.Tensor([0.0, 1.0], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        y = mg.log(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.sum().backward(create_graph=True)
        list(mg.walk(y.sum()))
        mg.gradients(y.sum(), [x])
    np.testing.assert_array_equal(x.grad.data, [np.inf, 1])


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_shares_no_memory_with_what_somebody_holds(x, create_graph):
    """A seed, what a hook saw, what a rule handed out twice: each gradient is an array of its own."""
    y = mg.Tensor(np.ones(3), requires_grad=True)
    seed = mg.Tensor(np.ones(3))
    dx, dy = mg.gradients(x + y, [x, y], seed, create_graph)
    assert not any(np.shares_memory(a.data, b.data) for a, b in ((dx, dy), (dx, seed), (dy, seed)))
    seen = []
    x.register_hook(seen.append)
    (x * 3.0).backward(np.ones(3), create_graph=create_graph)
    assert not np.shares_memory(x.grad.data, seen[0].data)


def test_a_gradient_that_nobody_else_holds_is_not_copied(monkeypatch):
    """Of a big parameter the copy would cost as much as the optimiser's reading it."""
    monkeypatch.setattr(backprop, "UNSHARED", backprop._references_to_a_new_array())
    made = []
    whole = mg.Primitive("whole", lambda w: w * 1.0, "w", mg.Rule(lambda g, out, w: made.append(g * 2.0) or made.pop()))
    try:
        w = mg.Tensor(np.ones((3, 4)), requires_grad=True)
        addresses = []
        rule = whole.functions[0]
        whole.functions = (lambda *given: (found := rule(*given), addresses.append(found.ctypes.data))[0],)
        mg.sum(whole(w)).backward()
        assert w.grad.data.ctypes.data == addresses[0]
    finally:
        del TABLE["whole"]


def test_while_a_tracer_runs_at_import_every_gradient_is_copied():
    code = """
import sys
sys.settrace(lambda frame, event, arg: (frame.f_locals, None)[1])
import numpy as np, minigrad as mg
from minigrad import backprop
sys.settrace(None)
assert backprop.UNSHARED == 0
x, y = (mg.Tensor(np.ones(3), requires_grad=True) for _ in range(2))
a, b = mg.gradients((x + y) * 2.0, [x, y], np.ones(3))
assert not np.shares_memory(a.data, b.data)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
