"""Contract 10: Python numbers and NumPy scalars are weak, arrays are not; gradients keep their input's dtype."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.operation import PYTHON_NUMBERS


def x32():
    return mg.Tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.0, np.float32), ([1.0, 2], np.float32), ([[1.0], [2.0]], np.float32), ([], np.float32), (1, np.int64),
        ([1, 2], np.int64), (True, np.bool_), ([True, False], np.bool_), (np.float64(1), np.float64),
        ([np.float64(1)], np.float64), (np.ones(2), np.float64), (np.ones(2, np.float16), np.float16),
        (np.array(1.0), np.float64), (np.arange(2, dtype=np.int8), np.int8), (1j, np.complex128),
        (np.ones(2, ">f4"), np.dtype(">f4")),
    ],
)  # fmt: skip
def test_the_dtype_of_a_new_tensor(data, dtype):
    assert mg.Tensor(data).dtype == dtype
    assert mg.Tensor(data, dtype=np.float64 if np.dtype(dtype).kind != "c" else None).dtype.kind in "fc"


@pytest.mark.parametrize(
    "other",
    [2, 2.5, True, np.float64(2), np.float16(2), np.sqrt(64), np.int64(3), np.float32(2), -1],
    ids=repr,
)
def test_a_number_is_weak_on_either_side_of_a_float32_tensor(other):
    """Row 33b: float32 stays float32, and so does its gradient."""
    for call in (
        lambda a, b: a * b,
        lambda a, b: a + b,
        lambda a, b: a / b,
        lambda a, b: a - b,
        mg.maximum,
        lambda a, b: mg.where([True, False], a, b),
    ):
        x = x32()
        for y in (call(x, other), call(other, x)):
            assert y.dtype == np.float32
            assert mg.gradients(y, [x], np.ones(2))[0].dtype == np.float32
    assert (x32() ** other).dtype == np.float32
    assert (abs(other) ** x32()).dtype == np.float32


@pytest.mark.parametrize(
    "other", [np.array(2.0), np.array([2.0, 3.0]), mg.Tensor(2.0, dtype=np.float64)], ids=["0-d", "1-d", "tensor"]
)
def test_an_array_is_not_weak_0d_or_not(other):
    x = x32()
    for y in (x * other, other * x):
        assert y.dtype == np.float64
        assert mg.gradients(y, [x], np.ones(2))[0].dtype == np.float32


def test_division_of_float32_by_three_is_float32():
    assert (x32() / 3).dtype == np.float32
    assert (x32().mean()).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_floating_dtype_keeps_itself_forward_and_backward(dtype):
    x = mg.Tensor(np.linspace(0.5, 1.5, 6).reshape(2, 3), requires_grad=True, dtype=dtype)
    calls = (
        mg.exp, mg.log, mg.sqrt, mg.tanh, mg.sin, mg.cos, mg.abs, mg.relu, mg.softmax, mg.log_softmax, mg.logsumexp,
        mg.layer_norm, lambda t: t**2, lambda t: t**0.5, lambda t: 2.0**t, lambda t: t.mean(0), lambda t: t.max(1),
        lambda t: t.sum(), lambda t: t @ t.T, lambda t: mg.attention(t, t, t), lambda t: mg.cross_entropy(t, [0, 1]),
        lambda t: t[[0, 0]], lambda t: mg.maximum(t, 1.0), lambda t: mg.where(t > 1.0, t, 0.5),
        lambda t: mg.dropout(t, np.ones((2, 3), bool), 0.1),
    )  # fmt: skip
    for call in calls:
        y = call(x)
        assert y.dtype == dtype
        for create_graph in (False, True):
            (gradient,) = mg.gradients(y, [x], np.ones(y.shape), create_graph=create_graph)
            assert gradient.dtype == dtype
            assert np.isfinite(gradient.data).all()


def test_two_plain_numbers_become_the_default_dtype():
    for call in (
        mg.add,
        mg.maximum,
        mg.power,
        lambda a, b: mg.where(True, a, b),
        lambda a, b: mg.where(mg.Tensor([True]), a, b),
    ):
        assert call(1.0, 2.0).dtype == np.float32
        with mg.default_dtype("float64"):
            assert call(1.0, 2.0).dtype == np.float64
    assert mg.add(1, 2).dtype == np.int64
    assert mg.where([True, False], 1, 0).dtype == np.int64
    assert mg.exp(1.0).dtype == np.float32
    assert {bool, int, float, complex} == PYTHON_NUMBERS


def test_mixed_dtypes_each_get_their_own_back():
    a = mg.Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    b = mg.Tensor(np.ones((3, 2)), requires_grad=True)
    for y in (a @ b, a * b.T, mg.concatenate([a, b.T]), mg.where(a > 0.5, a, b.T)):
        assert y.dtype == np.float64
        da, db = mg.gradients(y, [a, b], np.ones(y.shape))
        assert (da.dtype, db.dtype) == (np.float32, np.float64)


def test_an_integer_tensor_that_asks_for_a_gradient_is_a_type_error():
    """Row 34."""
    for data in ([1, 2], True, np.arange(3)):
        with pytest.raises(TypeError, match="can't have a gradient; use a floating dtype"):
            mg.Tensor(data, requires_grad=True)
    t = mg.Tensor([1, 2])
    with pytest.raises(mg.DtypeError):
        t.requires_grad = True
    with pytest.raises(mg.DtypeError, match="complex"):
        mg.Tensor(1j, requires_grad=True)


def test_integers_and_booleans_go_forward_as_in_numpy():
    i = mg.Tensor([1, 2])
    assert (i + 1).dtype == np.int64
    assert (i / 2).dtype == np.float64
    assert (i * 0.5).dtype == np.float64
    assert i.sum().dtype == np.int64
    assert mg.Tensor([True, True]).sum().item() == 2
    assert (x32() * i).dtype == np.float64
    assert not (i * 2).requires_grad


def test_astype_is_differentiable_between_floating_dtypes_and_refused_elsewhere():
    x = x32()
    y = x.astype(np.float64)
    assert y.dtype == np.float64
    (gradient,) = mg.gradients(y * np.array([0.1, 0.2]), [x], np.ones(2))
    assert gradient.dtype == np.float32
    assert x.astype("float32") is x
    for target in (np.int64, bool, np.complex64):
        with pytest.raises(mg.DtypeError, match=r"use t.detach\(\).astype"):
            x.astype(target)
    assert x.detach().astype(np.int64).dtype == np.int64


def test_complex_numbers_go_forward_only():
    z = mg.Tensor([1 + 1j, 2.0])
    np.testing.assert_allclose(mg.exp(z * 2.0).data, np.exp(z.data * 2))
    np.testing.assert_allclose(mg.abs(z).data, np.abs(z.data))
    with pytest.raises(mg.DtypeError, match="multiply: complex numbers go forward only"):
        x32() * z
    with mg.no_grad():
        assert (x32() * z).dtype.kind == "c"
    assert complex(mg.Tensor(2.0)) == 2 + 0j


def test_a_gradient_of_half_precision_is_neither_zero_nor_infinite():
    """Row 12: ties of 70,000 float16 elements share evenly, though 70,000 is no float16."""
    x = mg.Tensor(np.ones(70_000, np.float16), requires_grad=True)
    x.max().backward()
    np.testing.assert_allclose(x.grad.data, 1.43e-5, rtol=1e-2)
    x.grad = None
    x.mean().backward()
    np.testing.assert_allclose(x.grad.data, 1.43e-5, rtol=1e-2)


def test_other_byte_orders_work():
    x = mg.Tensor(np.ones(3, ">f8"), requires_grad=True)
    (gradient,) = mg.gradients(x * x, [x], np.ones(3))
    np.testing.assert_array_equal(gradient.data, 2)


@pytest.mark.parametrize(
    "data", ["a", None, [None], object(), [[1.0], [1.0, 2.0]], {"a": 1}, np.array(["2020"], "M8[Y]")]
)
def test_what_holds_no_numbers_is_refused(data):
    with pytest.raises((mg.DtypeError, ValueError)):
        mg.Tensor(data)
    with pytest.raises(mg.DtypeError, match="add: an operand can't be a"):
        x32() + data


def test_a_masked_array_is_refused_since_its_mask_would_be_lost():
    with pytest.raises(mg.DtypeError, match="would lose its mask"):
        mg.Tensor(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(mg.DtypeError, match="would lose its mask"):
        mg.Tensor([1.0, 2.0]) * np.ma.masked_array([1.0, 2.0], [True, False])
