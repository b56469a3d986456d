"""The conventions where a derivative is not defined, and the values at the edges of the numbers."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.operation import TABLE
from tests.minigrad.strategies import leaf


def grad(f, *values, gradient=None, create_graph=False):
    leaves = [leaf(np.asarray(value, np.float64)) for value in values]
    with np.errstate(all="ignore"):
        output = f(*leaves)
    g = np.ones(output.shape) if gradient is None else gradient
    found = [one.data for one in mg.gradients(output, leaves, g, create_graph)]
    return found[0] if len(found) == 1 else found


CONVENTIONS = {
    "abs": (lambda x: mg.abs(x), [0.0, -0.0, -2.0, 2.0, -np.inf, np.inf], [0, 0, -1, 1, -1, 1]),
    "relu": (lambda x: mg.relu(x), [0.0, -0.0, -2.0, 2.0, -np.inf, np.inf], [0, 0, 0, 1, 0, 1]),
    "sqrt": (lambda x: mg.sqrt(x), [0.0, 4.0, np.inf], [np.inf, 0.25, 0]),
    "log": (lambda x: mg.log(x), [0.0, 2.0, np.inf], [np.inf, 0.5, 0]),
    "exp": (lambda x: mg.exp(x), [-np.inf, 0.0, 1000.0], [0, 1, np.inf]),
    "tanh": (lambda x: mg.tanh(x), [-np.inf, 0.0, 1000.0], [0, 1, 0]),
    "maximum with a number": (lambda x: mg.maximum(x, 1.0), [0.0, 1.0, 2.0], [0, 0.5, 1]),
    "minimum with a number": (lambda x: mg.minimum(x, 1.0), [0.0, 1.0, 2.0], [1, 0.5, 0]),
    "maximum with infinity": (lambda x: mg.maximum(x, -np.inf), [0.0, -np.inf], [1, 0.5]),
    "maximum of x with itself": (lambda x: mg.maximum(x, x), [1.0, -1.0], [1, 1]),
    "max": (lambda x: mg.max(x), [3.0, 1.0, 3.0, 3.0], [1 / 3, 0, 1 / 3, 1 / 3]),
    "max of -inf alone": (lambda x: mg.max(x), [-np.inf, -np.inf], [0.5, 0.5]),
    "max with inf": (lambda x: mg.max(x), [np.inf, 0.0], [1, 0]),
    "min": (lambda x: mg.min(x), [1.0, 3.0, 1.0, 2.0], [0.5, 0, 0.5, 0]),
    "max of what takes part": (lambda x: mg.max(x, where=[True, False, True]), [1.0, 9.0, 1.0], [0.5, 0, 0.5]),
    "max of -inf that takes part": (lambda x: mg.max(x, where=[True, False]), [-np.inf, 9.0], [1, 0]),
    "max of nothing that takes part": (lambda x: mg.max(x, where=[False, False]), [1.0, 2.0], [0, 0]),
    "min of nothing that takes part": (lambda x: mg.min(x, where=[False, False]), [1.0, np.nan], [0, 0]),
    "sum of what takes part": (lambda x: mg.sum(x, where=[True, False]), [1.0, np.nan], [1, 0]),
    "mean of what takes part": (lambda x: mg.mean(x, where=[True, False, True]), [1.0, np.inf, 2.0], [0.5, 0, 0.5]),
    "clip": (lambda x: mg.clip(x, -1.0, 2.0), [-2.0, -1.0, 0.0, 2.0, 3.0, np.inf], [0, 1, 1, 1, 0, 0]),
    "clip from below": (lambda x: mg.clip(x, 0.0), [-1.0, 0.0, 9.0], [0, 1, 1]),
    "clip from above": (lambda x: mg.clip(x, None, 0.0), [-1.0, 0.0, 9.0], [1, 1, 0]),
    "clip without bounds": (lambda x: mg.clip(x), [-np.inf, 0.0, np.inf], [1, 1, 1]),
    "the lower bound of clip": (lambda low: mg.clip(1.0, low, 2.0), [0.0, 1.0, 1.5, 2.0, 3.0], [0, 0, 1, 1, 0]),
    "the upper bound of clip": (lambda high: mg.clip(1.0, 0.0, high), [2.0, 1.0, 0.5, -1.0], [0, 0, 1, 1]),
    "sigmoid": (lambda x: mg.sigmoid(x), [-np.inf, -800.0, 0.0, 800.0, np.inf], [0, 0, 0.25, 0, 0]),
    "softplus": (lambda x: mg.softplus(x), [-np.inf, -800.0, 0.0, 800.0, np.inf], [0, 0, 0.5, 1, 1]),
    "silu": (lambda x: mg.silu(x), [-800.0, 0.0, 800.0], [0, 0.5, 1]),
    "gelu": (lambda x: mg.gelu(x), [-800.0, 0.0, 800.0], [0, 0.5, 1]),
    "gelu by tanh": (lambda x: mg.gelu(x, approximate="tanh"), [-800.0, 0.0, 800.0], [0, 0.5, 1]),
    "erf": (lambda x: mg.erf(x), [-np.inf, 0.0, np.inf], [0, 2 / np.sqrt(np.pi), 0]),
    "logaddexp": (lambda x: mg.logaddexp(x, 0.0), [-np.inf, -800.0, 0.0, 800.0, np.inf], [0, 0, 0.5, 1, 1]),
    "logaddexp of infinities": (
        lambda x: mg.logaddexp(x, np.array([np.inf, -np.inf, np.inf])),
        [np.inf, -np.inf, -np.inf],
        [0.5, 0.5, 0],
    ),
    "norm": (lambda x: mg.norm(x, axis=1), [[3.0, 4.0], [0.0, 0.0]], [[0.6, 0.8], [0, 0]]),
    "norm 1": (lambda x: mg.norm(x, 1), [-3.0, 0.0, 4.0], [-1, 0, 1]),
    "norm inf": (lambda x: mg.norm(x, np.inf), [-4.0, 0.0, 4.0], [-0.5, 0, 0.5]),
    "norm -inf": (lambda x: mg.norm(x, -np.inf), [-4.0, 3.0], [0, 1]),
    "norm 3": (lambda x: mg.norm(x, 3), [-1.0, 0.0], [-1, 0]),
    "norm .5": (lambda x: mg.norm(x, 0.5, axis=-1), [[4.0, 0.0], [0.0, 0.0]], [[1, 0], [0, 0]]),
    "var": (lambda x: mg.var(x), [1.0, 1.0, 4.0], [-2 / 3, -2 / 3, 4 / 3]),
    "std of equal numbers": (lambda x: mg.std(x, axis=0), [2.0, 2.0, 2.0], [0, 0, 0]),
    "prod with a zero": (lambda x: mg.prod(x), [2.0, 0.0, 3.0], [0, 6, 0]),
    "cumprod with a zero": (lambda x: mg.cumprod(x), [2.0, 0.0, 3.0], [1, 2 + 6, 0]),
    "sort": (lambda x: mg.sort(x) * np.array([1.0, 2.0, 3.0]), [2.0, 1.0, 1.0], [3, 1, 2]),
    "sort with NaN": (lambda x: mg.sort(x) * np.array([1.0, 2.0, 3.0]), [np.nan, 1.0, -np.inf], [3, 2, 1]),
    "divide": (lambda x: x / mg.Tensor([2.0, np.inf, -np.inf]), [1.0, 1.0, 1.0], [0.5, 0, 0]),
    "divide by 0": (lambda x: 1.0 / x, [0.0, 2.0], [-np.inf, -0.25]),
    "power_constant 2": (lambda x: x**2, [0.0, -3.0], [0, -6]),
    "power_constant 3": (lambda x: x**3, [0.0, -2.0], [0, 12]),
    "power_constant 1": (lambda x: x**1, [0.0, -3.0], [1, 1]),
    "power_constant 0": (lambda x: x**0, [0.0, -3.0, np.inf], [0, 0, 0]),
    "power_constant -1": (lambda x: x**-1, [0.0, -2.0], [-np.inf, -0.25]),
    "power_constant .5": (lambda x: x**0.5, [0.0, 4.0], [np.inf, 0.25]),
    "power_constant 1.5": (lambda x: x**1.5, [0.0, 4.0], [0, 3]),
    "power of an array": (lambda x: x ** np.array([0.0, 1.0, 2.0, 0.5]), [0.0, 0.0, 0.0, 0.0], [0, 1, 0, np.inf]),
    "power in y at x = 0": (lambda y: 0.0**y, [0.0, 1.0, 2.0], [0, 0, 0]),
    "power in y": (lambda y: 2.0**y, [0.0, 1.0], [np.log(2), 2 * np.log(2)]),
    "power in y of a negative base": (lambda y: (-2.0) ** y, [2.0], [np.nan]),
}


@pytest.mark.parametrize("create_graph", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", CONVENTIONS)
def test_convention(name, create_graph):
    f, values, expected = CONVENTIONS[name]
    np.testing.assert_allclose(grad(f, values, create_graph=create_graph), expected, rtol=1e-14)


def test_each_row_with_a_kink_says_so():
    for name in (
        "abs",
        "relu",
        "maximum",
        "minimum",
        "max",
        "sqrt",
        "log",
        "power",
        "power_constant",
        "softmax",
        "logsumexp",
        "min",
        "clip",
        "norm",
        "logaddexp",
    ):
        assert TABLE[name].kinks


def test_a_tie_over_several_axes_shares_among_all():
    np.testing.assert_allclose(grad(lambda x: x.max(axis=(0, 2)), np.ones((2, 3, 4))), np.full((2, 3, 4), 1 / 8))
    g = grad(
        lambda x: x.max(axis=-1, keepdims=True), [[1.0, 1.0, 0.0], [5.0, 2.0, 1.0]], gradient=np.array([[2.0], [3.0]])
    )
    np.testing.assert_array_equal(g, [[1, 1, 0], [3, 0, 0]])


def test_ties_of_minus_zero_and_zero_share():
    np.testing.assert_array_equal(grad(lambda x: x.max(), [0.0, -0.0]), [0.5, 0.5])


def test_where_gives_no_gradient_to_what_is_not_taken_whatever_it_holds():
    x = leaf(np.array([np.nan, 1.0, np.inf]))
    y = mg.where([False, True, False], x * 2.0, 0.0)
    np.testing.assert_array_equal(y.data, [0, 2, 0])
    np.testing.assert_array_equal(mg.gradients(y, [x], np.ones(3))[0].data, [0, 2, 0])


def test_where_with_a_float_condition_asks_whether_it_is_zero_and_gives_it_no_gradient():
    c = leaf(np.array([0.0, 2.0]))
    x = leaf(np.array([5.0, 5.0]))
    y = mg.where(c, x * c, x)
    dc, dx = mg.gradients(y, [c, x], np.ones(2))
    np.testing.assert_array_equal(y.data, [5, 10])
    np.testing.assert_array_equal(dc.data, [0, 5])
    np.testing.assert_array_equal(dx.data, [1, 2])


def test_a_negative_base_with_a_constant_exponent_does_not_warn():
    """Row 22: nobody asks for a logarithm."""
    x = leaf(np.array(-2.0))
    for exponent in (3, 3.0, np.float64(3), np.array(3.0), mg.Tensor(3.0)):
        y = x**exponent
        assert y.item() == -8
        assert mg.gradients(y, [x])[0].item() == 12


def test_powers_of_both_kinds_agree():
    for exponent in (-2, -1, 0, 1, 2, 3, 0.5, 2.5):
        for value in (0.5, 2.0):
            constant = grad(lambda x, e=exponent: x**e, value)
            array = grad(lambda x, e=exponent: x ** np.array(float(e)), value)
            np.testing.assert_allclose(constant, array, rtol=1e-13)


@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1e-310, 1e308, -1e308])
def test_linear_operations_pass_any_number_on_as_it_is(value):
    g = np.array([value])
    for f in (
        lambda x: x + 0.0,
        lambda x: x.reshape(1, 1),
        lambda x: x.sum(),
        lambda x: x.T,
        lambda x: mg.concatenate([x]),
    ):
        leaf_ = leaf(np.ones(1))
        output = f(leaf_)
        np.testing.assert_array_equal(mg.gradients(output, [leaf_], g.reshape(output.shape))[0].data, g)


ZEROS = ([2.0, 0.0, 3.0, 4.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 5.0])


@pytest.mark.parametrize("values", ZEROS)
@pytest.mark.parametrize("function", [mg.prod, mg.cumprod], ids=["prod", "cumprod"])
def test_products_with_zeros_are_right_to_second_order(function, values):
    mg.check_grads(function, [np.array(values)], order=2)


def test_the_hessian_of_a_product_with_two_zeros():
    """d2/dx1 dx3 of 2 * x1 * 3 * x3 is 6, though all first derivatives are 0."""
    x = leaf(np.array([2.0, 0.0, 3.0, 0.0]))
    (first,) = mg.gradients(mg.prod(x), [x], create_graph=True)
    np.testing.assert_array_equal(mg.gradients(first[1], [x])[0].data, [0, 0, 0, 6])


def test_what_clip_takes_from_one_operand_it_gives_to_another():
    x, low, high = np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(sum(grad(mg.clip, x, low, high)), np.ones_like(x))


@pytest.mark.parametrize("unfused", [False, True])
def test_logsumexp_of_inf_is_inf(unfused):
    x = mg.Tensor([np.inf, 0.0, -np.inf], requires_grad=True)
    with mg.unfused() if unfused else mg.enable_grad():
        assert mg.logsumexp(x).item() == np.inf
        assert mg.logsumexp(x[1:]).item() == 0
