"""detect_anomaly names the first value that is not finite: operation, path, line, index, cause, remedy."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings

import minigrad as mg
from minigrad.operation import TABLE
from minigrad.state import current
from tests.minigrad.case import seeds
from tests.minigrad.operations import CASES
from tests.minigrad.strategies import cotangent, layouts
from tests.minigrad.strategies import leaf as tensor


def leaf(values, name="x", dtype=np.float32):
    return mg.Tensor(values, requires_grad=True, name=name, dtype=dtype)


def found(function):
    with mg.detect_anomaly(), pytest.raises(mg.AnomalyError) as caught:
        function()
    return caught.value


def test_row_27_where_chooses_after_the_square_root():
    """The gradient is NaN, and the report names sqrt, the line, the index, the cause and the remedy."""
    x = leaf([4.0, 0.0])
    with mg.detect_anomaly():
        y = mg.where(x.data < 1, x, mg.sqrt(x))  # the line that is named
        with pytest.raises(mg.AnomalyError) as caught:
            y.sum().backward()
    error = caught.value
    assert (error.operation, error.path, error.index, error.direction) == ("sqrt", "", (1,), "backward")
    assert str(error).startswith(
        "sqrt: (2,): backward: the gradient of x is nan at index (1,): sqrt'(0) is inf and the"
    )
    assert "0 * inf is nan" in str(error)
    assert "sqrt(where(x > 0, x, 1))" in str(error)
    assert error.source is not None
    line = "y = mg.where(x.data < 1, x, mg.sqrt(x))  # the line that is named"
    assert str(error).endswith(f"test_anomaly.py:{error.source[1]}: {line}")
    assert isinstance(error, FloatingPointError | mg.MinigradError)
    assert x.grad is None


FORWARD = {
    "log of 0": ("log", (1,), "the logarithm of 0", lambda: mg.log(leaf([1.0, 0.0]))),
    "log of a negative": ("log", (0,), "the logarithm of a negative number, -2", lambda: mg.log(leaf([-2.0, 1.0]))),
    "sqrt of a negative": ("sqrt", (0,), "the square root of a negative number, -4", lambda: mg.sqrt(leaf([-4.0]))),
    "exp overflows": ("exp", (1,), "exp(1000) is larger than float32's", lambda: mg.exp(leaf([1.0, 1000.0]))),
    "0 / 0": ("divide", (1, 0), "0 / 0", lambda: leaf([[1.0], [0.0]]) / np.array([0.0, 1.0])),
    "1 / 0": ("divide", (0,), "1 / 0", lambda: leaf([1.0]) / 0.0),
    "0 times inf": ("multiply", (0,), "0 times inf", lambda: leaf([0.0, 1.0]) * np.array([np.inf, 1.0])),
    "inf - inf": ("subtract", (), "inf - inf", lambda: (leaf(1.0) + np.inf) - np.inf),
    "inf + -inf": ("add", (), "inf + -inf", lambda: (leaf(1.0) + np.inf) + -np.inf),
    "inf / inf": ("divide", (), "inf / inf", lambda: (leaf(1.0) + np.inf) / np.inf),
    "0 to a negative power": ("power_constant", (0,), "0 to a negative power", lambda: leaf([0.0]) ** -1),
    "a root of a negative": ("power_constant", (0,), "a negative number, -1", lambda: leaf([-1.0]) ** 0.5),
    "sin of inf": ("sin", (), "sin(inf) is not defined", lambda: mg.sin(leaf(1.0) + np.inf)),
    "a product overflows": ("multiply", (), "multiply(1e+30, 1e+30) is larger", lambda: leaf(1e30) * leaf(1e30)),
    "a sum overflows": ("sum", (), "what sum adds up is larger than float32's", lambda: leaf([3e38, 3e38]).sum()),
    "a matrix product with inf": ("matmul", (0, 0), "0 times inf", lambda: leaf([[0.0]]) @ np.array([[np.inf]])),
    "a constant holds nan": ("add", (1,), "y is nan at index (1,) already", lambda: mg.add(leaf(1.0), [0.0, np.nan])),
    "a leaf holds inf": ("multiply", (0,), "x (w) is inf at index (0,) already", lambda: leaf([np.inf], "w") * 2.0),
    "nothing is recorded": ("log", (0,), "the logarithm of 0", mg.no_grad()(lambda: mg.log(leaf([0.0])))),
    "plain numbers": ("log", (), "the logarithm of 0", lambda: mg.log(0.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORWARD)
def test_forward(name):
    operation, index, cause, function = FORWARD[name]
    error = found(function)
    assert (error.operation, error.index, error.direction) == (operation, index, "forward")
    assert cause in str(error)
    assert str(error).splitlines()[0].endswith(")"), "no remedy"
    assert error.source[0] == __file__


BACKWARD = {
    "log'": ("log", "log'(0) is inf and the cotangent there is 0", lambda x: mg.where(x.data > 0, mg.log(x), 0.0)),
    "sqrt'": ("sqrt", "sqrt'(0) is inf (", lambda x: mg.sqrt(x)),
    "sqrt' of an interior value": ("sqrt", "sqrt'(0) is inf (", lambda x: mg.sqrt(x * 1.0)),
    "power'": ("power_constant", "power_constant'(0) is inf", lambda x: x**0.5),
    "divide by y": ("divide", "the derivative of divide by y at (1, 0) is -inf (", lambda x: 1.0 / x),
}  # fmt: skip


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name):
    operation, cause, function = BACKWARD[name]
    x = leaf([1.0, 0.0])
    with np.errstate(all="ignore"):
        y = function(x)
    error = found(y.sum().backward)
    assert (error.operation, error.direction) == (operation, "backward")
    assert cause in str(error)
    assert x.grad is None


def test_a_product_with_the_cotangent_that_overflows():
    y = leaf([1e-20]) * 1e30
    error = found(lambda: y.backward([1e30]))
    assert "the derivative of multiply by x at (1e-20, 1e+30) = 1e+30 times the cotangent 1e+30 is larger" in str(error)


def test_a_kernel_whose_derivative_is_not_finite():
    x = leaf(np.full((1, 2), 1e-20))
    y = mg.layer_norm(x * np.float32([[1.0, 2.0]]), eps=1e-38)
    error = found(lambda: y.backward([[1e30, 2e30]]))
    assert "the derivative of layer_norm is not finite there (run it within mg.unfused()" in str(error)


def test_a_sum_of_contributions_that_overflows():
    x = leaf(1.0)
    error = found(lambda: mg.concatenate([mg.reshape(x * 1.0, (1,))] * 2).backward(np.float32([3e38, 3e38])))
    assert "the sum of the contributions to it overflows" in str(error)


def test_a_cotangent_that_is_given_not_finite():
    x = leaf([1.0, 2.0])
    error = found(lambda: (x * 2.0).backward([1.0, np.inf]))
    assert "the cotangent is inf at index (1,)" in str(error)


def test_a_sum_over_broadcast_axes_that_overflows():
    x = leaf(1.0)
    error = found(lambda: (x + np.zeros(2, np.float32)).backward(np.float32([3e38, 3e38])))
    assert "the gradient of x is inf: the sum over broadcast axes is larger than" in str(error)


def test_a_kernel_is_run_as_its_definition_to_find_the_step_inside():
    x = leaf([[1e30]])
    error = found(lambda: mg.linear(x, leaf([[1e30]])))
    assert (error.operation, error.path) == ("matmul", "linear")
    assert error.source[0] == __file__


def test_the_module_path_is_named():
    class Root(mg.nn.Module):
        def forward(self, x):
            return mg.log(x)

    class Outer(mg.nn.Module):
        def __init__(self):
            self.inner = Root()

        def forward(self, x):
            return self.inner(x)

    error = found(lambda: Outer()(leaf([0.0])))
    assert error.path == "inner"
    assert str(error).startswith("log in inner: (1,): forward: its output is -inf at index (0,): the logarithm of 0 (")
    assert str(error).endswith("return mg.log(x)")


def test_infinities_of_a_mask_are_meant():
    x = leaf([[1.0, 2.0, 3.0]])
    mask = np.array([[True, True, False]])
    with mg.detect_anomaly():
        mg.softmax(mg.where(mask, x, -np.inf)).sum().backward()
        with mg.unfused():
            (mg.softmax(x + np.where(mask, 0.0, -np.inf))[0, :2]).sum().backward()
    assert np.isfinite(x.grad.data).all()


def test_what_is_chosen_away_is_no_anomaly():
    with mg.detect_anomaly():
        mg.where(np.array([True, False]), leaf([1.0, np.nan]), 0.0).sum().backward()


def test_with_create_graph_the_second_derivative_is_watched_too():
    x = leaf([0.0])
    with mg.detect_anomaly():
        (first,) = mg.gradients((x**1.5).sum(), [x], create_graph=True)
        with pytest.raises(mg.AnomalyError) as caught:
            first.sum().backward()
    assert caught.value.operation == "power_constant"
    assert "mg.gradients((x**1.5).sum()" in str(caught.value)


def test_fused_operations_and_create_graph_give_no_false_alarm():
    x = leaf(np.random.default_rng(0).normal(size=(2, 3)))
    with mg.detect_anomaly():
        for function in (mg.softmax, mg.layer_norm, mg.log_softmax):
            (first,) = mg.gradients((function(x) ** 2).sum(), [x], create_graph=True)
            (first**2).sum().backward()
        list(mg.walk(mg.softmax(x)[0, 0]))


def test_off_it_is_off_and_the_state_comes_back():
    with mg.detect_anomaly():
        with mg.detect_anomaly():
            assert current().watch is not None
        assert current().watch is not None
    assert current().watch is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = mg.log(leaf([0.0]))
    assert np.isneginf(y.data).all()
    assert not hasattr(y._node, "source")
    with pytest.raises(mg.AnomalyError), mg.detect_anomaly():
        mg.log(leaf([0.0]))
    assert current().watch is None


def test_as_a_decorator_also_of_a_generator():
    @mg.detect_anomaly()
    def steps(x):
        yield mg.exp(x)
        yield mg.log(x)

    stream = steps(leaf([0.0]))
    next(stream)
    assert current().watch is None
    with pytest.raises(mg.AnomalyError, match=r"^log: "):
        next(stream)


def test_values_and_gradients_are_the_same_with_it():
    x = leaf(np.random.default_rng(1).normal(size=(3, 4)), dtype=np.float64)

    def loss():
        return mg.layer_norm(mg.softmax(x) @ x.T).sum() + (x[0] * 3.0).sum()

    (plain,) = mg.gradients(loss(), [x])
    with mg.detect_anomaly():
        (watched,) = mg.gradients(loss(), [x])
    np.testing.assert_array_equal(plain.data, watched.data)


def test_a_graph_made_outside_is_reported_without_a_line():
    y = mg.sqrt(leaf([0.0]))
    error = found(y.backward)
    assert error.source is None
    assert "\n" not in str(error)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_row_gives_a_false_alarm_and_the_gradients_stay_the_same(name):
    @settings(max_examples=15)
    @given(CASES[name], layouts, seeds)
    def check(case, layout, seed):
        leaves = [tensor(operand) for operand in case.operands(case.bases)]

        def gradients(create_graph=False):
            output = case.call(*leaves)
            if not np.isfinite(output.data).all():
                return []
            return mg.gradients(output, leaves, cotangent(output.shape, output.dtype, layout, seed), create_graph)

        plain = gradients()
        if not all(np.isfinite(gradient.data).all() for gradient in plain):
            return
        with mg.detect_anomaly():
            for watched in (gradients(), gradients(create_graph=True)):
                for ours, theirs in zip(watched, plain, strict=True):
                    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-9, atol=1e-12)

    check()
