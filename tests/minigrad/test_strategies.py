"""The strategies do draw what they promise: a test that never sees a 0-d array holds nothing about it."""

import numpy as np
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from tests.minigrad.operations import CASES, indices
from tests.minigrad.strategies import (
    LAYOUTS,
    Layout,
    arrays,
    axes,
    broadcastable,
    cotangent,
    leaf,
    numbers,
    shapes,
    spread,
)

searching = settings(max_examples=2000, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def found(strategy, condition):
    """Whether the strategy draws something that fulfils the condition; hypothesis raises NoSuchExample where not."""
    return condition(find(strategy, condition, settings=searching))


def test_shapes_are_0d_empty_wide_and_have_ones():
    assert found(shapes(), lambda shape: shape == ())
    assert found(shapes(), lambda shape: 0 in shape)
    assert found(shapes(), lambda shape: 1 in shape)
    assert found(shapes(), lambda shape: len(shape) == 4)


@given(shapes())
def test_sizes_within_a_shape_are_distinct(shape):
    assert len(set(shape)) == len(shape)


@given(broadcastable(3))
def test_broadcastable_shapes_broadcast(operands):
    np.broadcast_shapes(*operands)


def test_broadcastable_shapes_lack_axes_and_stretch_them():
    assert found(broadcastable(), lambda pair: len(pair[0]) < len(pair[1]))
    assert found(broadcastable(), lambda pair: len(pair[0]) > len(pair[1]))
    assert found(broadcastable(), lambda pair: any(a == 1 < b for a, b in zip(*pair, strict=False)))
    assert found(broadcastable(), lambda pair: 0 in pair[0] and 1 in pair[1])


def test_axes_are_none_negative_tuples_and_empty():
    assert found(axes(3), lambda over: over is None)
    assert found(axes(3), lambda over: isinstance(over, int) and over < 0)
    assert found(axes(3), lambda over: isinstance(over, tuple) and min(over, default=0) < 0 <= max(over, default=-1))
    assert found(axes(3), lambda over: over == ())
    assert found(axes(3), lambda over: isinstance(over, tuple) and len(over) == 3)


@given(st.sampled_from(LAYOUTS).map(Layout), shapes(), st.integers(0, 9))
def test_a_layout_is_a_view_of_the_shape_that_was_asked(layout, shape, seed):
    base = numbers(layout.base_shape(shape), seed)
    operand = layout.view(base)
    assert operand.shape == shape
    assert not operand.size or np.shares_memory(operand, base)
    assert layout.view(leaf(base)).shape == shape


def test_layouts_are_not_contiguous_where_they_say_so():
    base = numbers((2, 4), 0)
    strides = {name: Layout(name).view(numbers(Layout(name).base_shape((2, 4)), 0)).strides for name in LAYOUTS}
    assert strides["plain"] == base.strides
    assert strides["reversed"][0] < 0
    assert strides["strided"][1] == 16
    assert strides["transposed"] == (8, 16)


def test_a_leaf_and_a_cotangent_keep_their_layout():
    array = numbers((4, 2), 0).T
    assert leaf(array).data is array
    assert not leaf(array).data.flags.c_contiguous
    g = cotangent((3, 4), np.float32, Layout("strided"), 0)
    assert not g.data.flags.c_contiguous
    assert not g.data.flags.writeable
    assert g.dtype == np.float32


@given(shapes(), st.integers(0, 2**32 - 1))
def test_spread_numbers_are_far_from_each_other_and_from_zero(shape, seed):
    flat = np.sort(np.abs(spread(shape, seed)).ravel())
    signed = np.sort(spread(shape, seed).ravel())
    assert flat.size == 0 or flat[0] > 0.04
    assert (np.diff(signed) > 0.09).all()


def test_numbers_are_never_one_and_gains_never_trivial():
    assert found(arrays((3,)), lambda array: (array < 0).any() and (array > 0).any())
    assert (arrays_of_positive := found(arrays((3,), "positive"), lambda array: (array >= 0.5).all()))
    assert arrays_of_positive
    assert not found_never(arrays((3,)))


def found_never(strategy):
    """Whether one drawn array in a hundred holds an exact 1 or 0."""
    hits = []

    @settings(max_examples=100)
    @given(strategy)
    def look(array):
        hits.append(bool(np.isin(array, (0.0, 1.0)).any()))

    look()
    return any(hits)


def test_indices_are_basic_advanced_mixed_and_boolean():
    shape = (3, 4, 2)
    assert found(indices(shape), lambda index: isinstance(index, np.ndarray) and index.dtype == bool)
    assert found(
        indices(shape), lambda index: isinstance(index, np.ndarray) and index.dtype.kind in "iu" and len(index) > 2
    )
    assert found(indices(shape), lambda index: isinstance(index, tuple) and any(part is None for part in index))
    assert found(
        indices(shape),
        lambda index: (
            isinstance(index, tuple)
            and any(isinstance(part, list) for part in index)
            and any(isinstance(part, slice) for part in index)
        ),
    )


def test_cases_reach_the_corners_that_hide_mistakes():
    assert found(CASES["multiply"], lambda case: any(operand.ndim == 0 for operand in case.operands()))
    assert found(CASES["multiply"], lambda case: any(operand.size == 0 for operand in case.operands()))
    assert found(CASES["matmul"], lambda case: case.operands()[0].ndim == 1 and case.operands()[1].ndim > 2)
    assert found(CASES["attention"], lambda case: case.operands()[0].ndim != case.operands()[1].ndim)
    assert found(CASES["concatenate"], lambda case: len(case.bases) == 3)
