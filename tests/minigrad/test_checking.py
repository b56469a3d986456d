"""check_grads: what it takes, what it says, and that it does not cry wolf. What it must reject: test_wrong_rules.py."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DtypeError, GradientCheckError, GraphError
from minigrad.primitive import TABLE, Primitive, Rule


@pytest.fixture
def wrong_at_one_place():
    """x**2 with a derivative that is wrong at flat position 4 only."""
    bad = np.zeros((2, 3))
    bad[1, 1] = 0.5
    yield Primitive(
        "nearly_square", lambda x, y: x * x + y, "", Rule(lambda g, out, x, y: g * (2 * x + bad), "x"), None
    )
    del TABLE["nearly_square"]


def test_the_message_names_operation_input_index_expected_and_got(wrong_at_one_place):
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(GradientCheckError) as raised:
        mg.check_grads(lambda y, x: wrong_at_one_place(x, 2.0) * 1.0, [np.array([1, 2]), x], complex_step=False)
    words = str(raised.value)
    assert words.startswith("multiply: input 1 at (1, 1): expected ")
    assert "(central difference), got " in words


def test_one_wrong_entry_of_many_is_found_and_named(wrong_at_one_place):
    with pytest.raises(
        GradientCheckError, match=r"nearly_square: input 0 at \(1, 1\): expected .* \(central difference\)"
    ):
        mg.check_grads(lambda x: wrong_at_one_place(x, 1.0), [np.arange(6.0).reshape(2, 3)])


@pytest.mark.parametrize(("error", "accepted"), [(1e-5, False), (1e-8, True)])
def test_central_differences_see_an_error_of_one_in_a_hundred_thousand(error, accepted):
    """Where there is a kink, they are all there is."""
    row = Primitive("off", np.exp, "", Rule(lambda g, out, x: g * out * (1 + error), "out"), analytic=False)
    del TABLE["off"]
    if accepted:
        mg.check_grads(row, [np.array([0.3, -0.7])])
    else:
        with pytest.raises(GradientCheckError, match="central difference"):
            mg.check_grads(row, [np.array([0.3, -0.7])])


def test_two_zeros_are_not_judged_by_their_ratio():
    """Row 56: the gradient of an attention's key bias is exactly 0 in theory, and a rounding in practice."""
    rng = np.random.default_rng(0)
    query, key, value = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))

    def with_bias(bias):
        return mg.attention(query, key + bias, value)

    bias = mg.Tensor(rng.standard_normal(4), requires_grad=True)
    (gradient,) = mg.gradients(with_bias(bias), [bias], rng.standard_normal((3, 2)))
    np.testing.assert_allclose(gradient.data, 0, atol=1e-14)
    mg.check_grads(with_bias, [bias])


def test_a_function_that_does_not_depend_on_an_input_has_gradient_zero_there():
    mg.check_grads(lambda x, y: x * 2.0, [np.ones(3), np.ones(2)])


def test_arguments_may_be_arrays_tensors_numbers_and_integers():
    mg.check_grads(lambda x, y, rows: (x * y)[rows], [mg.Tensor([0.3, 0.4]), 2.5, np.array([0, 0, 1])])


def test_float32_arguments_are_checked_in_float64():
    seen = []
    mg.check_grads(lambda x: seen.append(x.dtype) or mg.exp(x), [np.ones(2, np.float32)], complex_step=False)
    assert set(seen) == {np.dtype(np.float64)}


def test_a_tensor_with_a_gradient_may_be_closed_over():
    weight = mg.Tensor(np.ones((3, 2)), requires_grad=True)
    mg.check_grads(lambda x: mg.linear(x, weight), [np.ones((4, 3))], order=2)
    assert weight.grad is None


def test_a_size_0_argument_has_nothing_to_compare():
    mg.check_grads(lambda x, y: (x * y).sum(), [np.ones((0, 3)), np.ones(3)])


def test_entries_limits_the_evaluations():
    calls = []
    mg.check_grads(lambda x: calls.append(0) or mg.sin(x), [np.ones(1000)], entries=3)
    assert len(calls) == 1 + 3 * 3


def test_a_gradient_that_is_not_a_number_is_rejected():
    with pytest.raises(GradientCheckError, match="got inf"), np.errstate(all="ignore"):
        mg.check_grads(mg.sqrt, [np.zeros(1)], complex_step=False)


def test_a_kink_is_not_asked_for_a_complex_step():
    mg.check_grads(lambda x: mg.relu(x) * mg.abs(x), [np.array([0.5, -0.5])])


def test_higher_orders_pass_where_the_derivatives_are_right():
    mg.check_grads(lambda x, y: mg.tanh(x @ y) * mg.exp(-x.sum()), [np.ones((2, 3)) / 3, np.ones((3, 2)) / 5], order=3)


def test_a_function_that_returns_no_tensor_is_a_type_error():
    with pytest.raises(DtypeError, match="must return a Tensor, not float"):
        mg.check_grads(lambda x: 1.0, [np.ones(2)])


def test_a_function_of_integers_alone_is_an_error():
    with pytest.raises(GraphError, match="depends on none of its floating arguments"):
        mg.check_grads(lambda x: x * 2, [np.arange(3)])


def test_the_same_seed_gives_the_same_verdict():
    drawn = []
    for _ in range(2):
        mg.check_grads(lambda x: drawn.append(x.data.sum()) or mg.exp(x), [np.arange(50.0) / 50], entries=4, seed=7)
    assert drawn[: len(drawn) // 2] == drawn[len(drawn) // 2 :]


def test_no_gradient_is_written_to_what_was_handed_in():
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    mg.check_grads(mg.exp, [x], order=2)
    assert x.grad is None
