"""Small inputs on which engines were publicly reported wrong, and the right value: one row of the list, one test."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg


def leaf(data, dtype=np.float64):
    return mg.Tensor(data, requires_grad=True, dtype=dtype)


def grad(f, *inputs, gradient=None):
    """The gradients of f at leaves with these values; one is returned bare."""
    leaves = [x if isinstance(x, mg.Tensor) else leaf(x) for x in inputs]
    found = [g.data for g in mg.gradients(f(*leaves), leaves, gradient)]
    return found[0] if len(found) == 1 else found


def fan(x):
    x = mg.concatenate([mg.maximum(x, 0.0), x], axis=1)
    return mg.concatenate([mg.maximum(x, 0.0), x], axis=1)


def dense(x):
    first = mg.concatenate([mg.maximum(x, 0.0), x], axis=1)
    return mg.concatenate([mg.maximum(first, 0.0), x], axis=1)


CASES = {
    "1: a broadcast operand's gradient has its own shape": (
        lambda: grad(lambda a, b: (a * b).sum(), [1.0], [[2.0, 3.0]])[0], [5.0]
    ),
    "3: broadcast_to is summed": (lambda: grad(lambda x: mg.broadcast_to(x, (4, 3)).sum(), np.ones(3)), [4, 4, 4]),
    "4: where of a 0-d operand is summed": (
        lambda: grad(lambda s: mg.where([True, False, True], s, 0.0).sum(), 1.5), 2.0
    ),
    "8: an element of a broadcast": (lambda: grad(lambda x: mg.broadcast_to(x, (100,))[0], [3.0]), [1.0]),
    "9: a value that fans out twice": (lambda: grad(lambda x: fan(x).sum(), [[1.0]]), [[4.0]]),
    "9: the same with the first x joined each time": (lambda: grad(lambda x: dense(x).sum(), [[1.0]]), [[3.0]]),
    "10: a tie of maximum gives each half": (lambda: grad(lambda a, b: mg.maximum(a, b), 1.0, 1.0), [0.5, 0.5]),
    "10: maximum of x with itself": (lambda: grad(lambda x: mg.maximum(x, x), 1.0), 1.0),
    "11: ties of max share": (lambda: grad(lambda x: x.max(), np.ones(4)), [0.25] * 4),
    "12: ties of 70,000 float16 ones": (
        lambda: grad(lambda x: x.max(), leaf(np.ones(70_000), np.float16))[:3].astype(np.float64), np.full(3, 1.43e-5),
    ),
    "14: a repeated index adds up": (lambda: grad(lambda x: x[[0, 0]].sum(), [1.0, 2.0]), [2, 0]),
    "15: a repeated row adds up, 8,193 times, by int16": (
        lambda: grad(lambda x: x[np.zeros(8193, np.int16)].sum(), leaf(np.ones((3, 2)), np.float32)),
        [[8193, 8193], [0, 0], [0, 0]],
    ),
    "15: index -1 is the last row": (
        lambda: grad(lambda x: x[np.array([-1], np.int16)].sum(), np.ones((3, 2))), [[0, 0], [0, 0], [1, 1]]
    ),
    "17: a diamond of sums": (lambda: grad(lambda a: (lambda b: b + b)(a + a), 1.0), 4.0),
    "19: the same product twice": (lambda: grad(lambda x, w: x @ w + x @ w, [[1.0]], [[1.0]])[0], [[2.0]]),
    "20: prod with a zero": (lambda: grad(mg.prod, [2.0, 0.0, 3.0, 4.0]), [0, 24, 0, 0]),
    "20: prod with two zeros": (lambda: grad(mg.prod, [2.0, 0.0, 3.0, 0.0]), [0, 0, 0, 0]),
    "20: cumprod with a zero": (lambda: grad(lambda x: mg.cumprod(x)[-1], [2.0, 0.0, 3.0, 4.0]), [0, 24, 0, 0]),
    "22: d/dy 0**y": (lambda: grad(lambda x, y: x**y, 0.0, 2.0)[1], 0.0),
    "22: a negative base with a constant exponent": (lambda: grad(lambda x: x**3, -2.0), 12.0),
    "22: a negative base with a constant array of exponents": (lambda: grad(lambda x: x ** np.array(3.0), -2.0), 12.0),
    "23: x**2 at 0": (lambda: grad(lambda x: x**2, 0.0), 0.0),
    "23: x**1 at 0": (lambda: grad(lambda x: x**1, 0.0), 1.0),
    "23: x**.5 at 0": (lambda: grad(lambda x: x**0.5, 0.0), np.inf),
    "23: x**0 at 0": (lambda: grad(lambda x: x**0, 0.0), 0.0),
    "27: where hides the branch that is not taken": (
        lambda: grad(lambda x: mg.where(x < 1, x, mg.sqrt(mg.where(x < 1, 1.0, x))), 0.0), 1.0
    ),
    "33b: float32 times a NumPy scalar": (
        lambda: grad(lambda x: x * np.float64(2), leaf(1.0, np.float32)), np.float32(2)
    ),
    "33b: float32 times np.sqrt(64)": (lambda: grad(lambda x: x * np.sqrt(64), leaf(1.0, np.float32)), np.float32(8)),
    "33b: float32 divided by 3": (lambda: grad(lambda x: x / 3, leaf(1.0, np.float32)), np.float32(1 / 3)),
    "33b: float32 times a 0-d float64 array": (
        lambda: grad(lambda x: x * np.array(2.0), leaf(1.0, np.float32)), np.float32(2)
    ),
    "48: einsum sums over one operand": (
        lambda: grad(lambda x: mg.einsum("abcd->bd", x).sum(), np.zeros((2, 3, 4, 5))), np.ones((2, 3, 4, 5))
    ),
    "48: einsum of a diagonal": (lambda: grad(lambda x: mg.einsum("ii->i", x).sum(), np.zeros((3, 3))), np.eye(3)),
    "48: einsum of the same tensor twice": (
        lambda: grad(lambda x: mg.einsum("ij,ij->i", x, x).sum(), [[1.0, -2.0], [0.5, 4.0]]), [[2, -4], [1, 8]]
    ),
    "55: backward from zeros": (lambda: grad(lambda x: x * x, [1.0, 2.0], gradient=np.zeros(2)), [0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_row(name):
    compute, expected = CASES[name]
    found = compute()
    np.testing.assert_allclose(found, expected, rtol=2e-3 if "float16" in name else 1e-15)
    assert np.shape(found) == np.shape(expected)
    if isinstance(expected, np.floating):
        assert found.dtype == expected.dtype


def test_row_9_is_what_finite_differences_say():
    """x = [[1.]]; twice x = concatenate(maximum(x, 0), x): four copies of the 1, each with slope 1."""
    mg.check_grads(lambda x: fan(x).sum(), [np.array([[1.0]])], complex_step=False)


def test_row_18_zeroing_the_leaf_between_two_backward_passes():
    x = leaf(3.0)
    m = x * x
    y = m * x
    y.backward(retain_graph=True)
    x.grad = None
    y.backward()
    assert x.grad.item() == 27


def test_row_23_a_negative_exponent_at_0():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        y = (x := leaf(0.0)) ** -1
    assert mg.gradients(y, [x])[0].item() == -np.inf


@pytest.mark.parametrize(("exponent", "second"), [(2, 2.0), (3, 0.0), (1, 0.0), (0, 0.0)])
def test_row_24_second_derivatives_of_powers_at_0(exponent, second):
    for power in (exponent, np.array(float(exponent)), leaf(float(exponent))):
        x = leaf(0.0)
        (first,) = mg.gradients(x**power, [x], create_graph=True)
        if first.requires_grad:
            assert mg.gradients(first, [x])[0].item() == second
        else:
            assert second == 0


def test_row_27_without_the_remedy_is_not_a_number_and_not_a_wrong_one():
    """where hands the root a cotangent of 0, and 0 times the root's infinite slope is NaN, as in every engine."""
    assert np.isnan(grad(lambda x: mg.where(x < 1, x, mg.sqrt(x)), 0.0))


def test_row_29_softmax_with_a_row_fully_masked():
    mask = np.array([[True, True], [False, False]])
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = mg.softmax(x, where=mask)
    np.testing.assert_array_equal(y.data[1], 0)
    g = np.array([[0.3, -0.7], [1.1, 0.4]])
    (gradient,) = mg.gradients(y, [x], g)
    np.testing.assert_array_equal(gradient.data[1], 0)
    row = leaf([1.0, 2.0])
    np.testing.assert_allclose(gradient.data[0], mg.gradients(mg.softmax(row), [row], g[0])[0].data, rtol=1e-14)


def test_row_34_an_integer_has_no_gradient_and_argmax_no_path():
    with pytest.raises(TypeError):
        mg.Tensor([1, 2], requires_grad=True)
    x = leaf([1.0, 2.0])
    for found in (np.argmax(x), np.argmax(x * 2.0, axis=0), np.argmin(-x)):
        assert not isinstance(found, mg.Tensor)
        assert found == 1


def test_row_39_doubling_18_times_is_19_values():
    z = leaf(1.0)
    for _ in range(18):
        z = z + z
    assert len(list(mg.walk(z))) == 19


def test_row_45_no_grad_nested_decorated_and_left_by_an_exception():
    @mg.no_grad()
    def numbers():
        yield (leaf(1.0) * 2.0).requires_grad

    with pytest.raises(KeyError), mg.no_grad(), mg.no_grad():
        raise KeyError
    assert list(numbers()) == [False]
    assert (leaf(1.0) * 2.0).requires_grad


def test_row_53_the_gradient_of_an_interior_tensor():
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    (y * 3.0).backward()
    assert y.grad.item() == 3
    z = x * x
    (z * 3.0).backward()
    with pytest.raises(mg.GraphError, match="retain_grad"):
        z.grad


def test_row_54_pickle_deepcopy_format():
    x = leaf(1.25)
    assert pickle.loads(pickle.dumps(x)).item() == copy.deepcopy(x).item() == 1.25
    assert f"{x:.2f}" == "1.25"
