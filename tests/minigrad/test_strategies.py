"""The strategies do draw what they promise: a test that never sees a 0-d array holds nothing about it."""

import numpy as np
from hypothesis import Phase, given, settings
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


def found(strategy, *conditions):
    """Whether for each condition some of a hundred drawn values fulfils it."""
    missing = list(conditions)

    @settings(max_examples=100, derandomize=True, database=None, phases=[Phase.generate])
    @given(strategy)
    def look(value):
        missing[:] = [condition for condition in missing if not condition(value)]

    look()
    return not missing


def test_shapes_are_0d_empty_wide_and_have_ones():
    assert found(
        shapes(),
        lambda shape: shape == (),
        lambda shape: 0 in shape,
        lambda shape: 1 in shape,
        lambda shape: len(shape) == 4,
    )


@given(shapes())
def test_sizes_within_a_shape_are_distinct(shape):
    assert len(set(shape)) == len(shape)


@given(broadcastable(3))
def test_broadcastable_shapes_broadcast(operands):
    np.broadcast_shapes(*operands)


def test_broadcastable_shapes_lack_axes_and_stretch_them():
    assert found(
        broadcastable(),
        lambda pair: len(pair[0]) < len(pair[1]),
        lambda pair: len(pair[0]) > len(pair[1]),
        lambda pair: any(a == 1 < b for a, b in zip(*pair, strict=False)),
        lambda pair: 0 in pair[0] and 1 in pair[1],
    )


def test_axes_are_none_negative_tuples_and_empty():
    assert found(
        axes(3),
        lambda over: over is None,
        lambda over: isinstance(over, int) and over < 0,
        lambda over: isinstance(over, tuple) and min(over, default=0) < 0 <= max(over, default=-1),
        lambda over: over == (),
        lambda over: isinstance(over, tuple) and len(over) == 3,
    )


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


def test_numbers_are_of_either_sign_and_gains_never_trivial():
    assert found(arrays((3,)), lambda array: (array < 0).any() and (array > 0).any())
    assert not found(arrays((3,)), lambda array: np.isin(array, (0.0, 1.0)).any())


@given(arrays((3, 4), "positive"))
def test_positive_numbers_are_well_above_zero(array):
    assert (array >= 0.5).all()


def test_indices_are_basic_advanced_mixed_and_boolean():
    assert found(
        indices((3, 4, 2)),
        lambda index: isinstance(index, np.ndarray) and index.dtype == bool,
        lambda index: isinstance(index, np.ndarray) and index.dtype.kind in "iu" and len(index) > 2,
        lambda index: isinstance(index, tuple) and any(part is None for part in index),
        lambda index: isinstance(index, tuple) and {list, slice} <= {type(part) for part in index},
    )


def test_cases_reach_the_corners_that_hide_mistakes():
    assert found(
        CASES["multiply"],
        lambda case: any(operand.ndim == 0 for operand in case.operands()),
        lambda case: any(operand.size == 0 for operand in case.operands()),
        lambda case: any(not operand.flags.c_contiguous for operand in case.operands()),
        lambda case: case.operands()[0].ndim < case.operands()[1].ndim,
    )
    assert found(CASES["matmul"], lambda case: case.operands()[0].ndim == 1 and case.operands()[1].ndim > 2)
    assert found(CASES["attention"], lambda case: case.operands()[0].ndim != case.operands()[1].ndim)
    assert found(CASES["concatenate"], lambda case: len(case.bases) == 3)
