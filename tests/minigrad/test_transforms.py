"""grad, vjp, jvp, jacobian, hessian, hvp: closed forms, one another, nesting, threads, errors. Trees: test_trees.py."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.strategies import numbers

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)


def network(w, x):
    """A smooth function of a matrix and a vector, that uses both more than once."""
    hidden = mg.tanh(x @ w) * mg.sin(w.sum(axis=0))
    return mg.softmax(hidden) * mg.exp(x.sum() * 0.1) + hidden * hidden


def quartic(x):
    return x**4


def test_grad_to_any_order_of_a_power():
    x = np.array(1.5)
    for derivative, expected in ((1, 4 * 1.5**3), (2, 12 * 1.5**2), (3, 24 * 1.5), (4, 24), (5, 0), (6, 0)):
        f = quartic
        for _ in range(derivative):
            f = mg.grad(f)
        assert f(x).item() == expected
        assert f(x).dtype == np.float64
        assert not f(x).requires_grad


def test_scalars_written_as_in_a_first_lesson():
    def f(a, b):
        c = a + b
        d = a * b + b**3
        c += c + 1
        c += 1 + c + (-a)
        d += d * 2 + (b + a).relu()
        d += 3 * d + (b - a).relu()
        e = c - d
        g = e**2 / 2.0
        g += 10.0 / e**2
        return g

    with mg.default_dtype("float64"):
        value, (da, db) = mg.value_and_grad(f, (0, 1))(-4.0, 2.0)
    np.testing.assert_allclose([value.item(), da.item(), db.item()], [24.7041, 138.8338, 645.5773], atol=5e-5)


@given(sizes, seeds)
def test_gradient_and_hessian_of_a_quadratic(n, seed):
    a, b, x = numbers((n, n), seed), numbers((n,), seed + 1), numbers((n,), seed + 2)

    def quadratic(x):
        return x @ a @ x + b @ x

    np.testing.assert_allclose(mg.grad(quadratic)(x).data, (a + a.T) @ x + b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mg.hessian(quadratic)(x).data, a + a.T, rtol=1e-12, atol=1e-12)


@given(sizes, sizes, seeds)
def test_forward_and_reverse_agree_with_the_whole_jacobian(n, m, seed):
    w, x = numbers((n, m), seed), numbers((n,), seed + 1)
    v = (numbers((n, m), seed + 2), numbers((n,), seed + 3))
    u = numbers((m,), seed + 4)
    jw, jx = mg.jacobian(network, (0, 1))(w, x)
    assert (jw.shape, jx.shape) == ((m, n, m), (m, n))
    value, moved = mg.jvp(network, (w, x), v)
    expected = np.einsum("aij,ij->a", jw.data, v[0]) + jx.data @ v[1]
    np.testing.assert_allclose(moved.data, expected, rtol=1e-12, atol=1e-12)
    same, pullback = mg.vjp(network, w, x)
    np.testing.assert_array_equal(value.data, same.data)
    gw, gx = pullback(u)
    np.testing.assert_allclose(gw.data, np.einsum("a,aij->ij", u, jw.data), rtol=1e-12, atol=1e-12)
    left = (moved.data * u).sum()
    right = (gw.data * v[0]).sum() + (gx.data * v[1]).sum()
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@given(sizes, seeds)
def test_hvp_is_the_hessian_times_the_vector(n, seed):
    x, v = numbers((n,), seed), numbers((n,), seed + 1)

    def f(x):
        return mg.logsumexp(x * x) + mg.sin(x).sum() * x.sum()

    h = mg.hessian(f)(x).data
    np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-12)
    (hv,) = mg.hvp(f, (x,), (v,))
    np.testing.assert_allclose(hv.data, h @ v, rtol=1e-11, atol=1e-12)
    _, forward = mg.jvp(mg.grad(f), (x,), (v,))
    np.testing.assert_allclose(forward.data, hv.data, rtol=1e-11, atol=1e-12)


def test_the_hessian_by_two_arguments_has_four_blocks():
    h = mg.hessian(lambda x, y: (x * x * y).sum(), (0, 1))(np.array([2.0, 3.0]), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(h[0][0].data, np.diag([10.0, 14.0]))
    np.testing.assert_array_equal(h[0][1].data, np.diag([4.0, 6.0]))
    np.testing.assert_array_equal(h[1][0].data, np.diag([4.0, 6.0]))
    np.testing.assert_array_equal(h[1][1].data, np.zeros((2, 2)))


def test_gradients_pass_the_checker_at_every_order():
    w, x = numbers((3, 2), 0), numbers((3,), 1)
    mg.check_grads(mg.grad(lambda w, x: network(w, x).sum()), [w, x], order=2)
    mg.check_grads(lambda x, v: mg.jvp(lambda y: network(mg.Tensor(w), y), (x,), (v,))[1], [x, numbers((3,), 2)])
    mg.check_grads(lambda x, v: mg.hvp(lambda y: network(mg.Tensor(w), y).sum(), (x,), (v,))[0], [x, numbers((3,), 2)])
    mg.check_grads(lambda x, u: mg.vjp(lambda y: network(mg.Tensor(w), y), x)[1](u)[0], [x, numbers((2,), 2)])
    mg.check_grads(mg.jacobian(lambda x: network(mg.Tensor(w), x)), [x])


# Nesting


def test_a_derivative_inside_a_function_of_the_same_variable():
    """d/dx (x * d/dy (x * y) at 1) = d/dx x**2: the inner derivative does not take the outer variable for its own."""
    outer = mg.grad(lambda x: x * mg.grad(lambda y: x * y)(1.0))
    assert outer(2.0).item() == 4.0
    assert mg.grad(lambda x: x * mg.grad(lambda y: x + y)(1.0))(2.0).item() == 1.0


def test_a_tensor_on_a_tape_keeps_its_history():
    x = mg.Tensor(2.0, requires_grad=True)
    g = mg.grad(lambda y: y**3)(x * x)  # 3 x**4
    g.backward()
    assert x.grad.item() == 12 * 2.0**3
    x.grad = None
    value, pullback = mg.vjp(lambda y: y * y, x)
    (value + pullback(1.0)[0]).backward()  # x**2 + 2 x
    assert x.grad.item() == 2 * 2.0 + 2


def test_an_argument_that_is_not_derived_by_and_a_closed_over_one_keep_theirs():
    w = mg.Tensor(3.0, requires_grad=True)
    for derivative in (mg.grad(lambda x, w: w * w * x)(1.0, w), mg.grad(lambda x: w * w * x)(1.0)):
        w.grad = None
        derivative.backward()
        assert w.grad.item() == 6.0


def test_a_cotangent_and_a_tangent_with_a_history_keep_it():
    u = mg.Tensor(2.0, requires_grad=True)
    _, pullback = mg.vjp(lambda x: x * x, 3.0)
    (gradient,) = pullback(u)
    gradient.backward()
    assert u.grad.item() == 6.0
    u.grad = None
    mg.jvp(lambda x: x * x, (3.0,), (u,))[1].backward()
    assert u.grad.item() == 6.0


def test_under_no_grad_the_derivative_is_plain():
    w = mg.Tensor(3.0, requires_grad=True)
    with mg.no_grad():
        value, gradient = mg.value_and_grad(lambda x: w * x * x)(2.0)
        assert mg.hessian(lambda x: w * x * x)(2.0).item() == 6.0
        assert mg.jvp(lambda x: w * x * x, (2.0,), (1.0,))[1].item() == 12.0
    assert gradient.item() == 12.0
    assert not value.requires_grad
    assert not gradient.requires_grad
    assert w.grad is None


def test_nothing_is_written_to_the_tensors_handed_in():
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    mg.grad(lambda y: (y * y).sum())(x)
    mg.hessian(lambda y: (y * y).sum())(x)
    assert x.grad is None


def test_the_same_tensor_as_two_arguments_has_two_derivatives():
    x = mg.Tensor(3.0, requires_grad=True)
    dx, dy = mg.grad(lambda x, y: x * x * y, (0, 1))(x, x)
    assert (dx.item(), dy.item()) == (18.0, 9.0)


def test_an_input_that_the_output_does_not_depend_on_has_gradient_zero():
    dx, dy = mg.grad(lambda x, y: (x * 2.0).sum(), (0, 1))(np.ones(2), np.ones((3, 1), np.float32))
    np.testing.assert_array_equal(dy.data, np.zeros((3, 1)))
    assert (dx.dtype, dy.dtype) == (np.float64, np.float32)
    assert mg.grad(lambda x: mg.Tensor(1.0))(2.0).item() == 0
    assert mg.jvp(lambda x: mg.Tensor(1.0), (2.0,), (1.0,))[1].item() == 0
    np.testing.assert_array_equal(mg.jacobian(lambda x: np.ones(2))(np.ones(3)).data, np.zeros((2, 3)))


def test_the_identity_has_derivative_one():
    assert mg.grad(lambda x: x)(5.0).item() == 1.0
    assert mg.grad(mg.grad(lambda x: x))(5.0).item() == 0.0
    np.testing.assert_array_equal(mg.jacobian(lambda x: x)(np.ones(2)).data, np.eye(2))


def test_empty_arrays():
    assert mg.grad(lambda x: x.sum())(np.ones((0, 3))).shape == (0, 3)
    assert mg.jacobian(lambda x: x * 2.0)(np.ones((0, 3))).shape == (0, 3, 0, 3)
    assert mg.jvp(lambda x: x * 2.0, (np.ones((0, 3)),), (np.ones((0, 3)),))[1].shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept_through_mixed_functions(dtype):
    x = np.array([1.0, 2.0], dtype)

    def mixed(x):
        return (x.astype(np.float64) * np.array([1.0, 3.0])).sum()

    assert mg.grad(mixed)(x).dtype == dtype
    assert mg.hessian(lambda x: mixed(x * x))(x).dtype == dtype
    assert mg.jvp(lambda x: x * x, (x,), (np.ones(2),))[1].dtype == dtype
    np.testing.assert_array_equal(mg.hessian(lambda x: mixed(x * x))(x).data, np.diag([2.0, 6.0]))


def test_several_outputs_of_several_dtypes_are_pulled_back_together():
    x = mg.Tensor([1.0, 2.0])
    value, pullback = mg.vjp(lambda x: {"a": x * 2.0, "b": (x.astype(np.float64).sum(), np.ones(1))}, x)
    assert value["b"][0].dtype == np.float64
    (g,) = pullback({"b": (3.0, np.ones(1)), "a": np.array([1.0, 10.0])})
    np.testing.assert_array_equal(g.data, [5, 23])
    assert g.dtype == np.float32


def test_argnums_from_the_end_and_in_any_order_and_keywords_pass_through():
    dz, dx = mg.grad(lambda x, y, z, *, scale: x * y * y * z * scale, (-1, 0))(2.0, 3.0, 5.0, scale=10.0)
    assert (dz.item(), dx.item()) == (180.0, 450.0)


def test_eight_threads_of_nested_gradients():
    """Row 46: 8 threads, 300 nested gradients each, every value right."""

    def work(k):
        return [mg.grad(mg.grad(mg.grad(quartic)))(np.array(k + i / 100)).item() for i in range(300)]

    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(work, range(8))):
            np.testing.assert_allclose(found, [24 * (k + i / 100) for i in range(300)], rtol=1e-14)


def test_a_function_that_raises_leaves_no_state_behind():
    def fails(x):
        raise KeyError("mine")

    for context in (nullcontext(), mg.no_grad()):
        with context:
            recorded = (mg.Tensor(1.0, requires_grad=True) * 2.0).requires_grad
            with pytest.raises(KeyError):
                mg.grad(fails)(1.0)
            assert (mg.Tensor(1.0, requires_grad=True) * 2.0).requires_grad == recorded


def test_fused_operations_nest():
    x = numbers((2, 4), 3)
    with mg.unfused():
        expected = mg.hessian(lambda x: (mg.layer_norm(x) * mg.softmax(x)).sum())(x).data
    found = mg.hessian(lambda x: (mg.layer_norm(x) * mg.softmax(x)).sum())(x).data
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_hooks_inside_are_called():
    seen = []

    def f(x):
        y = x * x
        y.register_hook(lambda gradient: seen.append(gradient.item()))
        return y * 3.0

    mg.grad(f)(2.0)
    assert seen == [3.0]


def test_what_was_recorded_dies_with_the_last_that_needs_it():
    """By reference count, with the collector off."""
    seen = []

    def f(x):
        y = mg.tanh(x * 2.0)
        seen.append(weakref.ref(y._node))
        return y * y

    gc.disable()
    try:
        mg.grad(mg.grad(f))(0.5)
        mg.hvp(f, (0.5,), (1.0,))
        mg.jvp(f, (0.5,), (1.0,))
        assert [ref() for ref in seen] == [None] * 3
        value, pullback = mg.vjp(f, 0.5)
        assert seen[-1]() is not None
        del pullback
        assert seen[-1]() is None
        assert not value.requires_grad
    finally:
        gc.enable()
