"""Contracts 1 and 11: NumPy's functions and operators work on Tensors or are refused; no gradient is lost silently."""

import operator

import numpy as np
import pytest

import minigrad as mg
from minigrad.registry import operations
from tests.minigrad.strategies import numbers

UFUNCS = {
    1: (np.negative, np.exp, np.log, np.sqrt, np.tanh, np.sin, np.cos, np.abs),
    2: (np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum, np.logaddexp),
}
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
FUNCTIONS = {
    "sum": lambda np_, x: np_.sum(x, axis=-1, keepdims=True),
    "mean": lambda np_, x: np_.mean(x, axis=(0, 1)),
    "max": lambda np_, x: np_.max(x, axis=1),
    "reshape": lambda np_, x: np_.reshape(x, (3, -1)),
    "transpose": lambda np_, x: np_.transpose(x, axes=(1, 0)),
    "swapaxes": lambda np_, x: np_.swapaxes(x, axis1=0, axis2=-1),
    "expand_dims": lambda np_, x: np_.expand_dims(x, axis=1),
    "squeeze": lambda np_, x: np_.squeeze(np_.expand_dims(x, 0), axis=0),
    "broadcast_to": lambda np_, x: np_.broadcast_to(x, shape=(4, 2, 3)),
    "concatenate": lambda np_, x: np_.concatenate([x, np.ones((2, 3)), x], axis=0),
    "where": lambda np_, x: np_.where(np.eye(2, 3) > 0, x, 0.0),
    "min": lambda np_, x: np_.min(x, axis=1),
    "prod": lambda np_, x: np_.prod(x, axis=1, keepdims=True),
    "var": lambda np_, x: np_.var(x, axis=1, ddof=1),
    "std": lambda np_, x: np_.std(x, axis=1, ddof=1),
    "norm": lambda np_, x: (np.linalg if np_ is np else np_).norm(x, axis=1),
    "cumsum": lambda np_, x: np_.cumsum(x, axis=1),
    "cumprod": lambda np_, x: np_.cumprod(x, axis=0),
    "clip": lambda np_, x: np_.clip(x, 0.6, None),
    "einsum": lambda np_, x: np_.einsum("ij,kj->ik", x, x),
    "stack": lambda np_, x: np_.stack([x, np.ones((2, 3))], axis=1),
    "split": lambda np_, x: np_.split(x, 3, axis=1)[1],
    "flip": lambda np_, x: np_.flip(x, axis=1),
    "repeat": lambda np_, x: np_.repeat(x, 2, axis=1),
    "tile": lambda np_, x: np_.tile(x, (2, 1)),
    "pad": lambda np_, x: np_.pad(x, 1, constant_values=2.0),
    "tril": lambda np_, x: np_.tril(x, k=-1),
    "triu": lambda np_, x: np_.triu(x, k=1),
    "take": lambda np_, x: np_.take(x, [1, 1], axis=1),
    "take_along_axis": lambda np_, x: np_.take_along_axis(x, np.array([[2], [0]]), axis=1),
    "sort": lambda np_, x: np_.sort(x, axis=0),
    "matmul": lambda np_, x: np_.matmul(x, np.ones((3, 2))),
}
PLAIN = (
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.isnan, np.isinf, np.isfinite, np.zeros_like,
    np.ones_like, np.full_like, np.empty_like, np.array_equal, np.allclose, np.isclose, np.count_nonzero,
)  # fmt: skip
"""What only tells of a tensor: the answer is plain, and nothing flows through it."""


@pytest.fixture
def x():
    return mg.Tensor(numbers((2, 3), 0, 0.5), requires_grad=True)


@pytest.mark.parametrize("ufunc", UFUNCS[1], ids=lambda ufunc: ufunc.__name__)
def test_a_numpy_ufunc_of_a_tensor_is_a_tensor_on_the_tape(ufunc, x):
    y = ufunc(x)
    assert isinstance(y, mg.Tensor)
    assert y.requires_grad
    np.testing.assert_array_equal(y.data, ufunc(x.data))


@pytest.mark.parametrize("ufunc", UFUNCS[2], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize(
    "other",
    [numbers((3,), 1, 0.5), 2.0, np.float64(1.5), np.float32(1.5)],
    ids=["array", "number", "float64", "float32"],
)
def test_a_numpy_ufunc_of_a_tensor_and_anything_on_either_side_is_a_tensor(ufunc, other, x):
    for operands in ((x, other), (other, x)):
        y = ufunc(*operands)
        assert isinstance(y, mg.Tensor)
        assert y.requires_grad
        np.testing.assert_allclose(y.data, ufunc(*(o.data if o is x else o for o in operands)), rtol=1e-15)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
@pytest.mark.parametrize(
    "other", [numbers((2, 3), 1, 0.5), 3, 2.5, np.float64(1.5), np.float32(1.5), np.int64(2), [1.0, 2.0, 3.0]]
)
def test_an_operator_between_a_tensor_and_anything_gives_a_tensor_whichever_is_left(operation, other, x):
    for left, right in ((x, other), (other, x)):
        y = operation(left, right)
        assert isinstance(y, mg.Tensor)
        plain = [np.asarray(o.data if isinstance(o, mg.Tensor) else o) for o in (left, right)]
        np.testing.assert_allclose(y.data, operation(*plain), rtol=1e-6)
        (gradient,) = mg.gradients(y, [x], np.ones(y.shape))
        assert gradient.shape == x.shape


def test_a_matrix_product_with_an_array_or_a_list_on_the_left_is_a_tensor(x):
    assert isinstance(np.ones((4, 2)) @ x, mg.Tensor)
    assert isinstance([1.0, 2.0] @ x, mg.Tensor)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_numpy_function_of_a_tensor_takes_numpys_keywords_and_gives_a_tensor(name, x):
    y = FUNCTIONS[name](np, x)
    assert isinstance(y, mg.Tensor)
    assert y.requires_grad
    np.testing.assert_allclose(y.data, FUNCTIONS[name](np, x.data), rtol=1e-15)
    np.testing.assert_array_equal(y.data, FUNCTIONS[name](mg, x).data)


def test_every_answered_function_is_tried():
    tried = {*UFUNCS[1], *UFUNCS[2], np.matmul}
    compared = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
    assert set(operations.ufuncs) == tried | compared | {f for f in PLAIN if isinstance(f, np.ufunc)}
    plain = {function.__name__ for function in PLAIN if not isinstance(function, np.ufunc)}
    assert {function.__name__ for function in operations.functions} == set(FUNCTIONS) - {"matmul"} | plain


def test_shape_and_ndim_are_those_of_the_array(x):
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize(
    "other", [numbers((2, 3), 1), numbers((3,), 1), 0.7, np.float64(0.7), mg.Tensor([0.5, 1.0, 1.5])]
)
def test_a_comparison_is_a_plain_boolean_array_whichever_side_is_the_tensor(compare, other, x):
    plain = other.data if isinstance(other, mg.Tensor) else other
    for found, expected in ((compare(x, other), compare(x.data, plain)), (compare(other, x), compare(plain, x.data))):
        assert type(found) is np.ndarray
        assert found.dtype == bool
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("compare", COMPARISONS)
def test_a_comparison_of_shapes_that_do_not_broadcast_names_them(compare, x):
    for left, right in ((x, np.ones(4)), (np.ones(4), x), (x, mg.Tensor(np.ones(4)))):
        with pytest.raises(mg.ShapeError, match=rf"{compare.__name__}: \(.*\), \(.*\): .*broadcast"):
            compare(left, right)


def test_equality_with_something_else_is_false_everywhere(x):
    assert not (x == "a").any()
    assert not (x == None).any()  # noqa: E711
    with pytest.raises(mg.DtypeError, match="lt"):
        assert x < "a"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add(x, 1.0, out=np.ones((2, 3))),
        lambda x: np.add(np.ones((2, 3)), x, out=np.ones((2, 3))),
        lambda x: np.exp(x, where=np.ones((2, 3), bool)),
        lambda x: np.add(x, 1.0, dtype=np.float32),
        lambda x: np.add.reduce(x),
        lambda x: np.add.accumulate(x),
        lambda x: np.multiply.outer(x, x),
        lambda x: np.add.at(x, 0, 1.0),
    ],
    ids=["out", "out of an array", "where", "dtype", "reduce", "accumulate", "outer", "at"],
)
def test_a_ufunc_refuses_all_but_a_plain_call(call, x):
    with pytest.raises(TypeError, match=r"np\.(add|exp|multiply).* is not supported on a Tensor"):
        call(x)


def test_an_array_is_not_written_to_by_a_tensor(x):
    array = np.ones((2, 3))
    with pytest.raises(TypeError, match=r"np.add\(..., out=\) is not supported"):
        array += x
    np.testing.assert_array_equal(array, 1)


@pytest.mark.parametrize(
    "function", [np.floor, np.signbit, np.arctan2, np.linalg.inv, np.fft.fft, np.nanargmax, np.partition, np.nancumsum]
)
def test_what_is_not_supported_is_a_type_error_that_names_it(function, x):
    operands = (x, x) if getattr(function, "nin", 1) == 2 else (x,)
    with pytest.raises(TypeError, match=rf"np\.{function.__name__} is not supported on a Tensor"):
        function(*operands) if function is not np.partition else function(x, 1)


def test_a_keyword_that_is_not_supported_is_a_type_error(x):
    for call in (
        lambda: np.sum(x, initial=1.0),
        lambda: np.mean(x, out=np.ones(())),
        lambda: np.reshape(x, (6,), order="F"),
    ):
        with pytest.raises(TypeError, match=r"unexpected keyword|positional|is not supported"):
            call()


@pytest.mark.parametrize(
    "convert", [np.asarray, np.array, lambda x: np.array([x, x]), lambda x: x.numpy(), lambda x: mg.Tensor([x, x])]
)
def test_an_array_of_a_tensor_that_has_a_gradient_is_refused(convert, x):
    with pytest.raises(mg.GraphError, match=r"t.detach\(\).numpy\(\)"):
        convert(x)


def test_an_array_of_a_tensor_without_gradient_is_its_array():
    t = mg.Tensor([1.0, 2.0])
    assert np.asarray(t) is t.data
    assert np.array(t).flags.writeable
    assert np.asarray(t, np.float64).dtype == np.float64
    np.testing.assert_array_equal(mg.Tensor([t, t]).data, [[1, 2], [1, 2]])
    assert t.numpy() is t.data


def test_rules_run_on_tensors_that_answer_numpys_protocols(x):
    """The second derivative of x**3 comes from the very rule of the first, called with Tensors."""
    (first,) = mg.gradients((x * x * x).sum(), [x], create_graph=True)
    (second,) = mg.gradients(first.sum(), [x])
    np.testing.assert_allclose(second.data, 6 * x.data)


def test_comparisons_with_an_array_on_the_left_work_in_recorded_rules():
    a, x = np.array([1.0, 5.0, 3.0]), mg.Tensor([2.0, 2.0, 3.0], requires_grad=True, dtype=np.float64)
    for call, expected in ((mg.maximum, [1, 0, 0.5]), (mg.minimum, [0, 1, 0.5])):
        for operands in ((a, x), (x, a)):
            (gradient,) = mg.gradients(call(*operands), [x], np.ones(3), create_graph=True)
            np.testing.assert_array_equal(gradient.data, expected)
