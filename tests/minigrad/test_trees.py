"""Trees: the derivative has the structure, the shapes and the dtypes of what it is taken by."""

from collections import OrderedDict, defaultdict
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.errors import ShapeError
from minigrad.trees import aligned, filled, leaves, mapped


class Layer(NamedTuple):
    weight: object
    bias: object


arrays = st.builds(
    lambda shape, dtype: np.full(shape, 0.5, dtype),
    st.sampled_from(((), (2,), (3, 1), (0,))),
    st.sampled_from((np.float32, np.float64)),
)
trees = st.recursive(
    arrays | arrays.map(mg.Tensor) | st.floats(-2, 2) | st.none(),
    lambda below: (
        st.lists(below, max_size=3)
        | st.lists(below, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), below, max_size=3)
        | st.builds(Layer, below, below)
    ),
    max_leaves=8,
)


def total(tree):
    """The sum of the squares of all elements of all leaves."""
    return sum(((leaf * leaf).sum() for _, leaf in leaves(tree, "")), mg.Tensor(0.0))


def same_structure(one, other):
    assert type(one) is type(other) or not isinstance(other, dict | list | tuple)
    assert [path for path, _ in leaves(one, "x")] == [path for path, _ in leaves(other, "x")]


@given(trees)
def test_gradients_come_back_in_the_same_structure_shapes_and_dtypes(tree):
    gradient = mg.grad(total)(tree)
    same_structure(gradient, tree)
    for (_, g), (_, x) in zip(leaves(gradient, ""), leaves(tree, ""), strict=True):
        x = x if isinstance(x, mg.Tensor) else mg.Tensor(x)
        assert (g.shape, g.dtype) == (x.shape, x.dtype)
        np.testing.assert_allclose(g.data, 2 * x.data)


@given(trees)
def test_pullbacks_and_tangents_have_it_too(tree):
    def doubled(tree):
        return mapped(lambda leaf: leaf * 2.0, tree)

    value, pullback = mg.vjp(doubled, tree)
    same_structure(value, tree)
    ones = mapped(lambda leaf: np.ones(leaf.shape), value)
    (g,) = pullback(ones)
    same_structure(g, tree)
    moved = mg.jvp(doubled, (tree,), (ones,))[1]
    same_structure(moved, tree)
    for (_, one), (_, other) in zip(leaves(g, ""), leaves(moved, ""), strict=True):
        np.testing.assert_array_equal(one.data, np.full(one.shape, 2))
        np.testing.assert_array_equal(other.data, one.data)


@given(trees)
def test_filling_a_tree_with_its_own_leaves_gives_it_again(tree):
    again = filled(tree, [leaf for _, leaf in leaves(tree, "")])
    same_structure(again, tree)
    for (_, one), (_, other) in zip(leaves(again, ""), leaves(tree, ""), strict=True):
        assert one is other


def test_paths_read_as_python():
    tree = {"layers": [Layer(1.0, (2.0, 3.0))], 7: 4.0, "none": None}
    assert [path for path, _ in leaves(tree, "p")] == [
        "p['layers'][0].weight", "p['layers'][0].bias[0]", "p['layers'][0].bias[1]", "p[7]",
    ]  # fmt: skip


def test_kinds_of_dicts_are_kept():
    ordered = mg.grad(total)(OrderedDict(b=1.0, a=2.0))
    assert list(ordered) == ["b", "a"]
    assert type(ordered) is OrderedDict
    default = mg.grad(total)(defaultdict(list, a=1.0))
    assert type(default) is defaultdict
    assert default["other"] == []


def test_a_network_of_named_tuples_has_hessian_blocks_by_name():
    layer = Layer(np.array([1.0, 2.0]), np.array(3.0))
    h = mg.hessian(lambda p: (p.weight * p.weight).sum() * p.bias)(layer)
    np.testing.assert_array_equal(h.weight.weight.data, 6 * np.eye(2))
    np.testing.assert_array_equal(h.weight.bias.data, [2.0, 4.0])
    np.testing.assert_array_equal(h.bias.weight.data, [2.0, 4.0])
    assert h.bias.bias.item() == 0


def test_the_same_keys_in_another_order_are_aligned():
    assert [leaf for _, leaf in aligned("f", {"b": 2, "a": 1}, {"a": 0, "b": 0}, "t")] == [1, 2]


@pytest.mark.parametrize(
    ("tree", "like", "message"),
    [
        ({"a": [1]}, {"a": [1, 2]}, r"^f: t\['a'\] must have the structure of a list of 2: \[1\] is missing"),
        ([1], 1, "^f: t is a list of 1, but must have the structure of a int"),
        (1, None, "^f: t is a int, but must have the structure of None"),
        (None, [], "^f: t must have the structure of a list of 0: None"),
        ((1, 2), Layer(1, 2), r"\[0\], \[1\] is too much; .weight, .bias is missing"),
    ],
)
def test_where_two_trees_part(tree, like, message):
    with pytest.raises(ShapeError, match=message):
        list(aligned("f", tree, like, "t"))
