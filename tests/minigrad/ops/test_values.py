"""The public functions compute what NumPy's of the same name do, over all shapes, axes and layouts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.case import masks, seeds
from tests.minigrad.operations import indices
from tests.minigrad.strategies import FLOATS, arrays, axes, axis, broadcastable, layouts, leaf, shapes

UNARY = ("negative", "exp", "log", "sqrt", "tanh", "sin", "cos", "abs")
BINARY = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum")


def same(found: mg.Tensor, expected: Any) -> None:
    assert isinstance(found, mg.Tensor)
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(found.data, expected, rtol=1e-6 if found.dtype == np.float32 else 1e-13)
    assert not found.data.flags.writeable


@st.composite
def operands(draw, *wanted, how="any"):
    """Arrays of these shapes, in drawn layouts and dtypes."""
    found = []
    for shape in wanted:
        layout = draw(layouts)
        found.append(layout.view(draw(arrays(layout.base_shape(shape), how)).astype(draw(st.sampled_from(FLOATS)))))
    return found


@pytest.mark.parametrize("name", UNARY)
@given(st.data())
def test_unary(name, data):
    (x,) = data.draw(operands(data.draw(shapes()), how="positive"))
    same(getattr(mg, name)(leaf(x)), getattr(np, name)(x))


@pytest.mark.parametrize("name", BINARY)
@given(st.data())
def test_binary(name, data):
    x, y = data.draw(operands(*data.draw(broadcastable()), how="positive"))
    for pair in ((leaf(x), leaf(y)), (leaf(x), y), (x, leaf(y))):
        same(getattr(mg, name)(*pair), getattr(np, name)(x, y))


@given(st.data())
def test_relu(data):
    (x,) = data.draw(operands(data.draw(shapes())))
    same(mg.relu(leaf(x)), np.maximum(x, 0))


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
@given(st.data())
def test_reductions(name, data):
    shape = data.draw(shapes(empty=name == "sum"))
    (x,) = data.draw(operands(shape))
    over, keepdims = data.draw(axes(len(shape))), data.draw(st.booleans())
    expected = getattr(np, name)(x, axis=over, keepdims=keepdims)
    same(getattr(mg, name)(leaf(x), axis=over, keepdims=keepdims), expected)


@given(st.data())
def test_max_over_axes_beside_an_empty_one(data):
    over = data.draw(st.sampled_from((1, -2, (1, 2))))
    x = np.ones((0, 3, 4))
    tensor = leaf(x)
    found = mg.max(tensor, axis=over)
    same(found, np.max(x, axis=over))
    assert mg.gradients(found, [tensor], np.ones(found.shape))[0].shape == (0, 3, 4)


def test_a_mean_of_nothing_is_nan_with_numpys_warning():
    x = leaf(np.ones((0, 3)))
    with pytest.warns(RuntimeWarning, match=r"Mean of empty slice|invalid value"):
        y = x.mean(axis=0)
    assert np.isnan(y.data).all()
    assert mg.gradients(y, [x], np.ones(3))[0].shape == (0, 3)


@given(st.data())
def test_expand_dims_and_squeeze(data):
    shape = data.draw(shapes())
    (x,) = data.draw(operands(shape))
    new = data.draw(st.one_of(axis(len(shape) + 1), st.sampled_from(((0, -1), (1, 0), (-1,)))))
    expected = np.expand_dims(x, new)
    found = mg.expand_dims(leaf(x), new)
    same(found, expected)
    same(mg.squeeze(found), np.squeeze(expected))
    same(mg.squeeze(found, new), np.squeeze(expected, new))


@given(st.data())
def test_where(data):
    condition, x, y = data.draw(broadcastable(3))
    mask = data.draw(masks(condition))
    x, y = data.draw(operands(x, y))
    for chosen in (mask, mg.Tensor(mask), mask.astype(int), mask * 0.5):
        same(mg.where(chosen, leaf(x), y), np.where(mask, x, y))


@given(seeds, st.sampled_from(("vm", "mv", "vv", "bmv", "vbm", "mm", "bmm")))
def test_matmul_of_vectors_matrices_and_stacks(seed, kind):
    sizes = {"v": (3,), "mm": ((2, 3), (3, 4)), "vm": ((3,), (3, 4)), "mv": ((2, 3), (3,)), "vv": ((3,), (3,))}
    sizes |= {"bmv": ((5, 2, 3), (3,)), "vbm": ((3,), (5, 3, 4)), "bmm": ((5, 2, 3), (1, 3, 4))}
    x, y = (np.random.default_rng(seed + i).standard_normal(shape) for i, shape in enumerate(sizes[kind]))
    same(leaf(x) @ leaf(y), x @ y)
    mg.check_grads(mg.matmul, [x, y], entries=4)


# Indexing


@given(st.data())
def test_getitem(data):
    shape = data.draw(shapes(min_dims=1))
    (x,) = data.draw(operands(shape))
    index = data.draw(indices(shape))
    same(leaf(x)[index], x[index])


@given(st.data(), seeds)
def test_the_gradient_of_getitem_adds_up_like_add_at(data, seed):
    shape = data.draw(shapes(min_dims=1))
    (x,) = data.draw(operands(shape))
    index = data.draw(indices(shape))
    tensor = leaf(x)
    output = tensor[index]
    g = np.random.default_rng(seed).standard_normal(output.shape).astype(x.dtype)
    expected = np.zeros(shape, x.dtype)
    np.add.at(expected, index, g)
    (gradient,) = mg.gradients(output, [tensor], g)
    np.testing.assert_allclose(gradient.data, expected, rtol=1e-5, atol=1e-6)
    same(mg.scatter_add(g, index, shape), gradient.data)


TENSOR_INDICES = {
    "an integer tensor": (mg.Tensor([2, 0, 2]), np.array([2, 0, 2])),
    "a 0-d integer tensor": (mg.Tensor(1), 1),
    "a boolean tensor": (mg.Tensor([True, False, True]), np.array([True, False, True])),
    "a pair of tensors": ((mg.Tensor([0, 1]), mg.Tensor([1, 1])), ([0, 1], [1, 1])),
    "a tensor and a slice": ((slice(1, None), mg.Tensor([1, 0])), (slice(1, None), [1, 0])),
    "a list": ([0, 0, 2], [0, 0, 2]),
    "an empty list": ([], []),
    "a list of booleans": ([True, False, True], [True, False, True]),
    "a nested list": ([[0, 1], [1, 2]], [[0, 1], [1, 2]]),
    "a NumPy integer": (np.int8(2), 2),
    "True": (True, True),
    "False": (False, False),
    "a 0-d array": (np.array(2), 2),
    "a 0-d boolean array": (np.array(True), True),
    "arrays apart": (([0, 1], slice(None), [1, 0]), ([0, 1], slice(None), [1, 0])),
    "an array, None and an ellipsis": ((None, [0, 2], ...), (None, [0, 2], ...)),
    "a mask in the middle": ((slice(None), np.array([True, False])), (slice(None), np.array([True, False]))),
    "a step backwards": (slice(None, None, -2), slice(None, None, -2)),
    "unsigned": (np.array([2, 0], np.uint64), [2, 0]),
}


@pytest.mark.parametrize("name", TENSOR_INDICES)
def test_all_that_numpy_takes_as_an_index_and_tensors_too(name):
    index, plain = TENSOR_INDICES[name]
    x = np.random.default_rng(0).standard_normal((3, 2, 4))
    same(leaf(x)[index], x[plain])
    mg.check_grads(lambda t: t[index], [x], order=2, entries=4)


def test_scatter_add_broadcasts_x_to_its_index_as_numpy_does():
    found = mg.scatter_add(leaf(np.array([[1.0, 2.0]])), np.array([0, 2, 0]), (4, 2))
    np.testing.assert_array_equal(found.data, [[2, 4], [0, 0], [1, 2], [0, 0]])
    mg.check_grads(lambda x: mg.scatter_add(x, np.array([0, 2, 0]), (4, 2)), [np.array([[1.0, 2.0]])])
    mg.check_grads(lambda x: mg.scatter_add(x, np.array([0, 2, 0]), (4, 2)), [np.array(1.5)])


def test_scatter_add_of_no_rows_is_zero():
    assert not mg.scatter_add(np.ones((0, 2)), np.zeros(0, int), (3, 2)).data.any()
    assert mg.scatter_add(np.ones((2, 0)), np.array([0, 1]), (3, 0)).shape == (3, 0)


def test_negative_and_positive_names_of_one_row_add_up():
    np.testing.assert_array_equal(mg.scatter_add(np.ones(3), np.array([-1, 2, 0]), (3,)).data, [1, 0, 2])
