"""The methods of a Tensor do what an array's of the same name do, and are the functions of that name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.case import seeds
from tests.minigrad.strategies import axes, axis, cotangent, layouts, leaf, numbers, shapes, spread

METHODS = {
    "sum": lambda t: t.sum(0), "mean": lambda t: t.mean(axis=-1, keepdims=True), "max": lambda t: t.max((0, 1)),
    "reshape": lambda t: t.reshape(3, -1), "reshape of a tuple": lambda t: t.reshape((6,)),
    "reshape of a NumPy integer": lambda t: t.reshape(np.int64(6)), "transpose": lambda t: t.transpose(),
    "transpose of axes": lambda t: t.transpose(-1, 0), "transpose of a tuple": lambda t: t.transpose((1, 0)),
    "transpose of NumPy integers": lambda t: t.transpose(*np.array([1, 0])),
    "swapaxes": lambda t: t.swapaxes(0, -1), "astype": lambda t: t.astype(np.float32),
    "sum where": lambda t: t.sum(0, where=np.eye(2, 3) > 0), "mean dtype": lambda t: t.mean(dtype=np.float32),
    "max where": lambda t: t.max(1, where=np.eye(2, 3) > 0, **initially(t, -np.inf)),
    "min": lambda t: t.min((0, -1)), "min where": lambda t: t.min(where=np.eye(2, 3) > 0, **initially(t, np.inf)),
    "prod": lambda t: t.prod(-1, keepdims=True), "prod dtype": lambda t: t.prod(dtype=np.float32),
    "var": lambda t: t.var(axis=-1, ddof=1, keepdims=True), "std": lambda t: t.std(axis=(0, 1), ddof=1),
    "clip": lambda t: t.clip(-0.5, 0.5), "clip by one": lambda t: t.clip(max=0.5), "clip by other": lambda t: t.clip(0),
    "cumsum": lambda t: t.cumsum(-1), "cumsum of all": lambda t: t.cumsum(dtype=np.float32),
    "cumprod": lambda t: t.cumprod(0), "cumprod of all": lambda t: t.cumprod(),
    "take": lambda t: t.take([[2, 0], [-1, 1]], 1), "take beyond": lambda t: t.take([7, -9], mode="wrap"),
    "repeat": lambda t: t.repeat([2, 0, 1], axis=-1), "repeat all": lambda t: t.repeat(2),
    "squeeze": lambda t: t[None, :, None].squeeze(), "squeeze an axis": lambda t: t[None, :, None].squeeze(-2),
}  # fmt: skip


def initially(t, value):
    """NumPy's extremes need to be told what there is where nothing takes part."""
    return {"initial": value} if isinstance(t, np.ndarray) else {}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_does_what_the_arrays_does(name):
    t = mg.Tensor(numbers((2, 3), 0), requires_grad=True)
    expected = METHODS[name](t.data)
    found = METHODS[name](t)
    assert isinstance(found, mg.Tensor)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.data, expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_positions_are_plain_arrays(name, axis):
    t = mg.Tensor([[3.0, 1.0, 3.0], [1.0, 1.0, 2.0]], requires_grad=True)
    found = getattr(t, name)(axis)
    assert not isinstance(found, mg.Tensor)
    np.testing.assert_array_equal(
        found, getattr(np, name)(t.data, axis, **({"kind": "stable"} if "sort" in name else {}))
    )
    if name != "argsort":
        assert getattr(t, name)(axis, keepdims=True).ndim == 2


FUNCTIONS = (
    "sum", "mean", "max", "min", "prod", "var", "std", "cumsum", "cumprod", "clip", "take", "repeat", "squeeze",
)  # fmt: skip


def drawn(draw, name):
    """(a shape, arguments for the method, which are the function's too)."""
    shape = draw(shapes(min_dims=name == "repeat", empty=name not in ("mean", "max", "min", "var", "std")))
    if name in ("cumsum", "cumprod"):
        return shape, (draw(st.none() | axis(len(shape)) if shape else st.none()),)
    if name in ("var", "std"):
        return shape, (draw(axes(len(shape))), draw(st.sampled_from((0, 0.5))), draw(st.booleans()))
    if name == "clip":
        return shape, draw(st.sampled_from(((-0.51, 0.52), (None, 0.52), (-0.51,), (-0.51, np.full(shape, 0.3)))))
    if name == "take":
        along = draw(axis(len(shape)) if shape else st.none())
        size = int(np.prod(shape)) if along is None else shape[along]
        places = draw(st.lists(st.integers(-size, size - 1), max_size=4)) if size else []
        return shape, (places, along)
    if name == "repeat":
        return shape, (draw(st.integers(0, 3)), draw(st.none() | axis(len(shape))))
    if name == "squeeze":
        shape = (*shape, 1, 3, 1)
        return shape, (draw(st.sampled_from((None, -1, (-3, len(shape) - 1)))),)
    return shape, (draw(axes(len(shape))), draw(st.booleans()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_method_is_the_function_of_its_name_value_and_gradient(name):
    @given(st.data(), layouts, layouts, seeds)
    def check(data, layout, of_cotangent, seed):
        shape, arguments = drawn(data.draw, name)
        x = leaf(layout.view(spread(layout.base_shape(shape), seed)))
        by_method, by_function = getattr(x, name)(*arguments), getattr(mg, name)(x, *arguments)
        assert (by_method.shape, by_method.dtype) == (by_function.shape, by_function.dtype)
        np.testing.assert_array_equal(by_method.data, by_function.data)
        g = cotangent(by_method.shape, by_method.dtype, of_cotangent, seed)
        (one,), (other,) = mg.gradients(by_method, [x], g), mg.gradients(by_function, [x], g)
        np.testing.assert_array_equal(one.data, other.data)

    check()


def test_methods_of_one_operand_are_the_functions():
    t = mg.Tensor(numbers((2, 3), 0, 0.5))
    for name in ("exp", "log", "sqrt", "tanh", "relu"):
        np.testing.assert_array_equal(getattr(t, name)().data, getattr(mg, name)(t).data)
    np.testing.assert_array_equal(abs(-t).data, t.data)
    assert +t is t
