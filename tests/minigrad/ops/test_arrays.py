"""Functions along axes and of whole arrays compute what NumPy's of the same name do, called by either name."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.ops.indexing import worth_a_product
from tests.minigrad.case import masks, some_of
from tests.minigrad.ops.test_values import operands, same
from tests.minigrad.strategies import axes, axis, leaf, shapes


def both(name: str, *args: Any, **options: Any) -> None:
    """mg.name and np.name of a Tensor are np.name of the array; a sequence's members are compared one by one."""
    tensors = [leaf(arg) if isinstance(arg, np.ndarray) and arg.dtype.kind == "f" else arg for arg in args]
    expected = getattr(np, name)(*args, **options)
    for found in (getattr(mg, name)(*tensors, **options), getattr(np, name)(*tensors, **options)):
        if isinstance(expected, list):
            assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]:
            same(one, other)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std"])
@given(st.data())
def test_reductions(name, data):
    shape = data.draw(shapes(empty=name in ("sum", "prod")))
    (x,) = data.draw(operands(shape))
    options = {"axis": data.draw(axes(len(shape))), "keepdims": data.draw(st.booleans())}
    if name in ("var", "std"):
        options["ddof"] = data.draw(st.sampled_from((0, 0.5)))
    both(name, x, **options)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@given(st.data())
def test_where(name, data):
    shape = data.draw(shapes(empty=False))
    (x,) = data.draw(operands(shape))
    over = data.draw(axes(len(shape)))
    mask = some_of(data.draw(masks(shape)), over)
    initial = {"max": {"initial": -np.inf}, "min": {"initial": np.inf}}.get(name, {})
    expected = getattr(np, name)(x, axis=over, where=mask, **initial)
    same(getattr(mg, name)(leaf(x), axis=over, where=mask), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
def test_dtype(name):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    tensor = leaf(x)
    found = getattr(mg, name)(tensor, axis=1, dtype=np.float64)
    same(found, getattr(np, name)(x, axis=1, dtype=np.float64))
    assert mg.gradients(found, [tensor], np.ones(found.shape))[0].dtype == np.float32
    same(getattr(np, name)(tensor, 1, np.float64), getattr(np, name)(x, 1, np.float64))


def test_numpys_order_of_arguments_is_kept_where_it_is_not_ours():
    x = np.random.default_rng(0).standard_normal((3, 4))
    same(np.sum(leaf(x), 0, None, None, True), np.sum(x, 0, None, None, True))
    same(np.var(leaf(x), 0, None, None, 1, True), np.var(x, 0, None, None, 1, True))
    same(np.max(leaf(x), 0, None, True), np.max(x, 0, None, True))
    for call in (
        lambda: np.sum(leaf(x), out=np.zeros(())),
        lambda: np.sum(leaf(x), 0, None, np.zeros(4)),
        lambda: np.max(leaf(x), initial=3.0),
        lambda: np.clip(leaf(x), 0, 1, np.zeros((3, 4))),
    ):
        with pytest.raises(TypeError, match=r"np\.(sum|max|clip)\(\.\.\., (out|initial)=\) is not supported"):
            call()


@given(st.data())
def test_clip(data):
    (x,) = data.draw(operands(data.draw(shapes())))
    both("clip", x, -0.5, 0.7)
    both("clip", x, None, 0.7)
    both("clip", x, -0.5, None)
    same(np.clip(leaf(x), min=-0.5, max=0.5), np.clip(x, -0.5, 0.5))


def test_clip_of_integers_stays_integer():
    same(mg.clip(mg.Tensor([1, 5, 9]), 2, None), np.array([2, 5, 9]))
    same(mg.clip([1, 5, 9], None, 6), np.array([1, 5, 6]))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sort"])
@given(st.data())
def test_along_an_axis(name, data):
    shape = data.draw(shapes(min_dims=1))
    (x,) = data.draw(operands(shape))
    both(name, x, data.draw(st.none() | axis(len(shape))))


@given(st.data())
def test_flip(data):
    shape = data.draw(shapes())
    (x,) = data.draw(operands(shape))
    both("flip", x, data.draw(axes(len(shape))))


@given(st.data())
def test_repeat_and_tile(data):
    shape = data.draw(shapes(min_dims=1))
    (x,) = data.draw(operands(shape))
    along = data.draw(axis(len(shape)))
    both("repeat", x, data.draw(st.integers(0, 3)), along)
    both("repeat", x, 2)
    counts = [i % 3 for i in range(shape[along])]
    same(mg.repeat(leaf(x), counts, along), np.repeat(x, np.array(counts, int), along))
    both("tile", x, data.draw(st.integers(0, 3) | st.lists(st.integers(0, 2), max_size=5)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: mg.repeat(x, 3, -2), lambda x: mg.repeat(x, [0, 2, 1], 0), lambda x: mg.tile(x, (2, 1, 3)),
        lambda x: mg.tile(x, 2), lambda x: mg.stack([x, 2.0 * x, x], -1), lambda x: mg.split(x, 2, -1)[1],
        lambda x: mg.split(x, [1, 1, 3])[2], lambda x: mg.tril(x, -1), lambda x: mg.triu(x, 1), lambda x: mg.sort(x, 0),
        lambda x: mg.take(x, [[0, 0], [2, -1]], 0), lambda x: mg.take(x, [0, 0, 7]),
        lambda x: mg.take_along_axis(x, np.array([[0, 0, 1], [3, -1, 3], [2, 2, 2]]), 1),
        lambda x: mg.std(x, 0, 1), lambda x: mg.norm(x, 3, 0), lambda x: mg.mean(x, 1, where=x.data > -1),
    ],
)  # fmt: skip
def test_composed_functions_have_right_derivatives(f):
    mg.check_grads(f, [np.random.default_rng(0).permutation(12).reshape(3, 4) * 0.3 - 1.61], order=2, entries=6)


@given(st.data())
def test_stack_and_split(data):
    shape = data.draw(shapes(min_dims=1))
    x, y = data.draw(operands(shape, shape))
    along = data.draw(axis(len(shape) + 1))
    same(mg.stack([leaf(x), y], along), np.stack([x, y], along))
    same(np.stack((leaf(x), leaf(y)), along), np.stack([x, y], along))
    cut = data.draw(axis(len(shape)))
    both("split", x, data.draw(st.lists(st.integers(0, 6), max_size=3)), cut)
    for sections in (1, max(shape[cut], 1)):
        both("split", x, sections, cut)


@pytest.mark.parametrize("width", [2, (1, 2), ((1, 2),), ((0, 1), (2, 0)), [[1], [2]], 0])
def test_pad(width):
    x = np.random.default_rng(0).standard_normal((3, 4))
    both("pad", x, width)
    both("pad", x, width, constant_values=-1.5)


@pytest.mark.parametrize("k", [-7, -1, 0, 1, 2, 9])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3)])
def test_tril_and_triu(shape, k):
    x = np.random.default_rng(0).standard_normal(shape)
    both("tril", x, k)
    both("triu", x, k)


def test_take():
    x = np.random.default_rng(0).standard_normal((3, 4, 2))
    for along in (None, 0, 1, -2, -1):
        both("take", x, [[0, 1], [1, -1]], along)
        both("take", x, 1, along)
        both("take", x, [], along)
    both("take", x, [5, -9, 2], 1, mode="wrap")
    both("take", x, [5, -9, 2], 1, mode="clip")
    same(mg.take(leaf(x), mg.Tensor([1, 1]), 0), x[[1, 1]])


def test_take_along_axis():
    x = np.random.default_rng(0).standard_normal((3, 4, 2))
    both("take_along_axis", x, np.argsort(x, 1), 1)
    both("take_along_axis", x, np.zeros((1, 4, 2), int), 0)
    both("take_along_axis", x, np.array([[[1, 0, 0]]]), -1)
    both("take_along_axis", x, np.array([5, 0, 5]), None)
    with pytest.raises(mg.ShapeError, match="as many axes"):
        mg.take_along_axis(leaf(x), [1], 0)


def test_norm():
    x = np.random.default_rng(0).standard_normal((3, 4))
    for options in ({}, {"axis": 0}, {"ord": 1, "axis": -1}, {"ord": 3.5, "axis": 1}, {"ord": np.inf, "axis": 0}):
        for keepdims in (False, True):
            expected = np.linalg.norm(x, keepdims=keepdims, **options)
            same(mg.norm(leaf(x), keepdims=keepdims, **options), expected)
            same(np.linalg.norm(leaf(x), keepdims=keepdims, **options), expected)
    for order in (2, "nuc"):
        with pytest.raises(mg.ShapeError, match="use ord=None"):
            mg.norm(leaf(x), order)


REFUSED = {
    "stack of nothing": (lambda x: mg.stack([]), "nothing to stack"),
    "stack of two shapes": (lambda x: mg.stack([x, x[0]]), "one shape"),
    "split that leaves a rest": (lambda x: mg.split(x, 2), "does not divide"),
    "repeat by other counts": (lambda x: mg.repeat(x, [1, 2], 0), "counts for axis 0"),
    "pad by reflection": (lambda x: mg.pad(x, 1, mode="reflect"), "there is 'constant'"),
    "pad of three pairs": (lambda x: mg.pad(x, [[1, 1]] * 3), "one pair an axis"),
    "tril of a vector": (lambda x: mg.tril(x[0]), "two axes"),
    "take by another mode": (lambda x: mg.take(x, [0], mode="bounce"), "'wrap'"),
    "gelu by another name": (lambda x: mg.gelu(x, approximate="erf"), "neither"),
    "rms_norm with another gain": (lambda x: mg.rms_norm(x, np.ones(3)), "x's last axis"),
    "the norm that counts": (lambda x: mg.norm(x[0], 0), "no derivative"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, why = REFUSED[name]
    with pytest.raises(mg.ShapeError, match=why):
        call(leaf(np.ones((3, 4))))


def test_a_bad_index_or_type_is_refused():
    x = leaf(np.ones((3, 4)))
    with pytest.raises(IndexError):
        mg.take(x, [9], 0)
    with pytest.raises(TypeError, match="are integers"):
        mg.take(x, [0.5], 0)
    with pytest.raises(TypeError, match="one number"):
        mg.pad(x, 1, constant_values=(1, 2))
    with pytest.raises(TypeError, match="real numbers"):
        mg.erf(np.array(1j))


def test_what_only_tells_of_a_tensor_is_a_plain_array():
    x = leaf(np.array([[1.0, np.nan], [np.inf, -2.0]]))
    for function in (np.isnan, np.isinf, np.isfinite, np.argsort, np.zeros_like, np.ones_like, np.argmin, np.argmax):
        found = function(x)
        assert not isinstance(found, mg.Tensor)
        np.testing.assert_array_equal(found, function(x.data))
    assert np.allclose(x, x.data, equal_nan=True)
    assert np.argmax(x * 1.0, axis=1).dtype == np.int64


@pytest.mark.parametrize(
    ("name", "nearest", "operands"),
    [
        ("nanmax", "max", 1),
        ("sinh", "sin", 1),
        ("arctan2", "tan", 2),
        ("percentile", "", 2),
        ("nancumsum", "cumsum", 1),
    ],
)
def test_a_function_that_is_not_supported_names_the_nearest(name, nearest, operands):
    x = leaf(np.ones(2))
    with pytest.raises(
        TypeError, match=rf"np\.{name} is not supported on a Tensor; the nearest that is: np\.{nearest}"
    ):
        getattr(np, name)(*[x, x][:operands])


@pytest.mark.parametrize(("rows", "places", "width"), [(256, 5000, 8), (257, 10, 8), (200, 10, 7)])
def test_many_places_or_narrow_rows_are_summed_without_a_matrix_of_them(rows, places, width):
    """It would have rows times places elements: gigabytes for a long index."""
    assert not worth_a_product(rows, places, width)
    assert worth_a_product(min(rows, 256), min(places, 4096), max(width, 8))
    index = np.random.default_rng(0).integers(0, rows, places)
    terms = np.random.default_rng(1).standard_normal((places, width))
    expected = np.zeros((rows, width))
    np.add.at(expected, index, terms)
    np.testing.assert_allclose(mg.scatter_add(terms, index, (rows, width)).data, expected, rtol=1e-12, atol=1e-12)
