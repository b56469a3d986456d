"""check_grads: what it takes, what it says, and that it does not cry wolf. What it must reject: test_wrong_rules.py."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import promises
from minigrad.errors import DtypeError, GradientCheckError, GraphError
from minigrad.operation import TABLE
from minigrad.primitive import Primitive, Rule


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
    assert "(Richardson difference), got " in words


def test_one_wrong_entry_of_many_is_found_and_named(wrong_at_one_place):
    with pytest.raises(GradientCheckError, match=r"nearly_square: input 0 at \(1, 1\): expected .* \(complex step\)"):
        mg.check_grads(lambda x: wrong_at_one_place(x, 1.0), [np.arange(6.0).reshape(2, 3)])


@pytest.mark.parametrize(("error", "accepted"), [(1e-6, False), (1e-9, True)])
def test_differences_see_an_error_of_one_in_a_million(error, accepted):
    """Where there is a kink, they are all there is."""
    row = Primitive("off", np.exp, "", Rule(lambda g, out, x: g * out * (1 + error), "out"), analytic=False)
    del TABLE["off"]
    if accepted:
        mg.check_grads(row, [np.array([0.3, -0.7])])
    else:
        with pytest.raises(GradientCheckError, match="Richardson difference"):
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


def test_float32_arguments_are_compared_in_float64():
    """A float32 run is made for the dtype of its gradient alone; the comparison would be of its roundings."""
    seen = []
    mg.check_grads(lambda x: seen.append(x.dtype) or mg.exp(x), [np.ones(2, np.float32)], complex_step=False)
    assert [dtype.name for dtype in seen].count("float32") == 1
    assert seen[0] == np.float64


def test_a_tensor_with_a_gradient_may_be_closed_over():
    weight = mg.Tensor(np.ones((3, 2)), requires_grad=True)
    mg.check_grads(lambda x: mg.linear(x, weight), [np.ones((4, 3))], order=2)
    assert weight.grad is None


def test_a_size_0_argument_has_nothing_to_compare():
    mg.check_grads(lambda x, y: (x * y).sum(), [np.ones((0, 3)), np.ones(3)])


def test_a_function_of_nothing_has_nothing_to_compare_either():
    assert mg.check_grads(lambda x: mg.exp(x), [np.ones((0, 3))], order=2)[0].compared == 0


def test_entries_limits_the_evaluations():
    def calls(entries):
        count = []
        found = mg.check_grads(lambda x: count.append(0) or mg.sin(x), [np.ones(1000)], entries=entries)
        assert found[0].compared == entries
        return len(count)

    assert calls(5) - calls(3) == 2  # a complex step each


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


def test_what_was_compared_comes_back_an_input_and_an_order():
    found = mg.check_grads(lambda x, n, y: mg.exp(x) * y, [np.ones(3), np.array([2]), np.array(2.0)], order=2)
    assert [(one.input, one.order) for one in found] == [(0, 1), (2, 1), (0, 2), (2, 2)]
    assert found[0].compared == 3 * (1 + 3)  # the random cotangent, and each of the three outputs
    assert all(one.error < 1e-6 for one in found)
    assert str(found[0]).startswith("input 0, order 1: 12 compared, largest relative error ")


def test_a_difference_of_two_zeros_is_said_for_what_it_is():
    """Row 56 again: 3e-17 against 5e-13 is a relative error of 1, and no error."""
    rng = np.random.default_rng(0)
    query, key, value = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))
    (found,) = mg.check_grads(lambda bias: mg.attention(query, key + bias, value), [np.ones(4)])
    assert found.zeros == found.compared == 4 * (1 + 6)
    assert found.error == 0.0
    assert "28 differences of two zeros, not judged by their ratio" in str(found)


def test_a_large_input_is_checked_by_a_sample_and_by_directions_that_see_all_of_it():
    x = np.random.default_rng(0).uniform(0.5, 2.0, 4000)
    (found,) = mg.check_grads(mg.log, [x])
    assert found.compared == 32
    bad = np.zeros(4000)
    bad[777] = 1e-3
    row = Primitive("off", np.log, "", Rule(lambda g, out, x: g * (1 / x + bad), "x"))
    del TABLE["off"]
    with pytest.raises(GradientCheckError, match=r"^off: inputs \[0\] along a random direction: expected .*, got "):
        mg.check_grads(row, [x])


def test_the_full_jacobian_names_the_output():
    """A rule that is right for nearly every cotangent, and so for the random one, is wrong for a unit vector."""
    row = Primitive("odd", np.exp, "", Rule(lambda g, out, x: g * out + (np.count_nonzero(g) == 1) * out, "out"))
    del TABLE["odd"]
    with pytest.raises(GradientCheckError, match=r"^odd: input 0 at \(0,\) of output \(0,\): expected .*, got "):
        mg.check_grads(row, [np.ones(3)])


def test_a_kink_within_the_first_step_is_stepped_around():
    (found,) = mg.check_grads(lambda x: mg.relu(x) * 3.0, [np.array([4e-4, -4e-4, 4e-5, 1.0])])
    assert found.error < 1e-9


def test_a_function_that_takes_derivatives_itself_is_checked_by_differences():
    mg.check_grads(mg.grad(lambda x: mg.exp(x).sum()), [np.ones(2)], order=2)


def off(rule, forward=np.exp, reads="out"):
    row = Primitive("off", forward, "", Rule(rule, reads), analytic=False)
    del TABLE["off"]
    return row


class Unsteady:
    """A number that is another one each time."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self):
        return self.rng.standard_normal() * 1e-13


def test_a_function_that_is_not_deterministic_is_an_error_that_says_so():
    noise = Unsteady()
    with pytest.raises(
        GradientCheckError,
        match=r"^add: two runs .* gave different values \(at \(0,\): .*, then .*draw random numbers",
    ):
        mg.check_grads(lambda x: mg.exp(x) + noise(), [np.ones(2)])


def test_padding_is_no_part_of_a_number_and_a_difference_beyond_doubles_is_seen_and_shown():
    one = np.array([[1.0, -0.0, np.nan]], np.longdouble)
    other = one.copy()
    if one.itemsize > 10:  # x86's: 80 bits, and bytes that mean nothing
        other.view(np.uint8).reshape(-1, one.itemsize)[:, 10:] ^= 0xFF
        assert one.tobytes() != other.tobytes()
    promises.same_bits("exp", "values", one, other)
    promises.same_bits("exp", "values", one[0, 0], other[0, 0])
    promises.same_bits("exp", "values", one[:, :0], other[:, :0])
    for index, changed in (((0, 0), np.nextafter(one[0, 0], 2)), ((0, 1), 0.0), ((0, 2), 1.0)):
        different = other.copy()
        different[index] = changed
        with pytest.raises(GradientCheckError) as raised:
            promises.same_bits("exp", "values", one, different)
        assert f"(at {index}: {one[index]}, then {different[index]})" in str(raised.value)
        assert str(one[index]) != str(different[index])
    with pytest.raises(GradientCheckError, match=r"^exp: two runs .* different values \(at \(\): 1.0, then 2.0\)"):
        promises.same_bits("exp", "values", np.array(1.0), np.array(2.0))
    with pytest.raises(GradientCheckError, match=r"^exp: two runs .* different values; draw"):
        promises.same_bits("exp", "values", one, one[0])


def test_a_derivative_that_is_not_deterministic_is_too():
    noise = Unsteady()
    with pytest.raises(GradientCheckError, match=r"^off: two runs .* gave different gradients of input 0"):
        mg.check_grads(off(lambda g, out, x: g * out * (1 + noise())), [np.ones(2)])


def test_a_rule_that_is_not_zero_at_zero_is_rejected():
    with pytest.raises(GradientCheckError, match=r"^off: input 0: a zero cotangent gives a gradient that is not zero"):
        mg.check_grads(off(lambda g, out, x: g * out + 1e-14), [np.ones(2)])


def test_a_rule_that_reads_a_cotangent_as_if_it_were_contiguous_is_rejected():
    def rule(g, out, x):
        g = np.asarray(g)
        start = np.lib.stride_tricks.as_strided(g, g.shape, (8,) if g.ndim == 1 else (8 * g.shape[1], 8))
        return start * out

    with pytest.raises(GradientCheckError, match=r"^off: input 0: the gradient depends on how the cotangent lies"):
        mg.check_grads(off(rule), [np.ones((2, 3))])


def test_the_dot_product_test_sees_a_rule_that_is_another_on_tensors():
    def rule(g, out, x):
        return g * out * (1 + 1e-10 if isinstance(g, mg.Tensor) else 1)

    mg.check_grads(off(rule), [np.ones(2)])
    with pytest.raises(GradientCheckError, match=r"^off: the dot-product test fails: <J v, u> is .*, but <v, J"):
        mg.check_grads(off(rule), [np.ones(2)], order=2)


def test_float32_gradients_of_a_function_that_goes_through_float64():
    mg.check_grads(lambda x: mg.exp(x).astype(np.float64) * np.ones(2), [np.ones(2, np.float32)], order=2)


@pytest.mark.parametrize("wrong", [lambda g: g.astype(np.float64), lambda g: g.reshape(1, -1)], ids=["dtype", "shape"])
def test_a_gradient_of_another_dtype_or_shape_is_rejected(wrong, monkeypatch):
    """No rule can do that, for the walk keeps both; the engine itself must be broken for it."""
    right = mg.gradients
    monkeypatch.setattr(promises, "gradients", lambda *args: [wrong(g) for g in right(*args)])
    with pytest.raises(GradientCheckError, match=r"^exp: input 0 of float.. and shape \(2,\) has a gradient of float"):
        mg.check_grads(mg.exp, [np.ones(2)])
