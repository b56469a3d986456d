"""Every row of the table of rules: the derivative is right, and keeps every promise that the walk relies on."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.fused import Fused
from minigrad.operation import TABLE
from minigrad.primitive import Primitive
from minigrad.tape import Node, topological_order
from tests.minigrad.case import Case, seeds
from tests.minigrad.operations import CASES
from tests.minigrad.strategies import FLOATS, cotangent, layouts, leaf

CLOSE = {np.float32: {"rtol": 2e-4, "atol": 2e-5}, np.float64: {"rtol": 1e-11, "atol": 1e-12}}
LINEAR = (
    "add", "alias", "broadcast_to", "concatenate", "cumsum", "dropout", "flip", "getitem", "mean", "negative",
    "reshape", "scatter_add", "subtract", "sum", "transpose", "where",
)  # fmt: skip
rows = pytest.mark.parametrize("name", sorted(CASES))


def run(name: str, case: Case, dtype: Any, layout: Any, seed: int) -> tuple[list[mg.Tensor], mg.Tensor, mg.Tensor]:
    """(leaves in the case's layouts, the output, a random cotangent for it)."""
    leaves = [leaf(operand) for operand in case.operands([base.astype(dtype) for base in case.bases])]
    output = case.call(*leaves)
    return leaves, output, cotangent(output.shape, output.dtype, layout, seed)


def nodes_of(name: str, output: mg.Tensor) -> list[Node]:
    """The nodes of this operation in the output's graph."""
    assert output._node is not None
    return [node for node in topological_order([output._node]) if node.primitive is TABLE[name]]


def test_every_row_of_the_table_is_checked():
    assert set(CASES) == set(TABLE)


@rows
def test_derivative_agrees_with_finite_differences(name):
    @given(CASES[name], seeds)
    def check(case, seed):
        mg.check_grads(case.of_views, case.bases, entries=5, seed=seed)

    check()


@rows
def test_second_derivative_agrees_with_finite_differences(name):
    @given(CASES[name], seeds)
    def check(case, seed):
        mg.check_grads(case.of_views, case.bases, order=2, entries=2, seed=seed)

    check()


@rows
def test_gradients_have_the_shape_and_dtype_of_their_inputs(name):
    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        leaves, output, g = run(name, case, dtype, layout, seed)
        assert output.dtype == dtype or name == "astype"
        for tensor, gradient in zip(leaves, mg.gradients(output, leaves, g), strict=True):
            assert (gradient.shape, gradient.dtype) == (tensor.shape, tensor.dtype)

    check()


@rows
def test_inputs_and_cotangent_are_unchanged_and_no_two_gradients_share_memory(name):
    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        leaves, output, g = run(name, case, dtype, layout, seed)
        given_arrays = [*(tensor.data for tensor in leaves), g.data, output.data]
        before = [array.copy() for array in given_arrays]
        found = [gradient.data for gradient in mg.gradients(output, leaves, g)]
        output.backward(g)
        found += [tensor.grad.data for tensor in leaves]
        for array, copy in zip(given_arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)
        for gradient in found:
            assert not any(np.shares_memory(gradient, array) for array in given_arrays)
        assert not any(np.shares_memory(one, other) for one, other in combinations(found, 2))

    check()


@rows
def test_the_rule_on_tensors_gives_what_it_gives_on_arrays(name):
    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        leaves, output, g = run(name, case, dtype, layout, seed)
        on_arrays = mg.gradients(output, leaves, g)
        on_tensors = mg.gradients(output, leaves, g, create_graph=True)
        for one, other in zip(on_arrays, on_tensors, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one.data, other.data, **CLOSE[dtype])

    check()


@rows
def test_a_zero_cotangent_gives_zero_gradients(name):
    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        leaves, output, g = run(name, case, dtype, layout, seed)
        for gradient in mg.gradients(output, leaves, np.zeros(g.shape)):
            assert not gradient.data.any()

    check()


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_row_passes_the_dot_product_test(name):
    """<f(x), u> = <x, f'(u)>, to rounding: each is the other's adjoint."""

    @given(CASES[name], layouts, seeds)
    def check(case, layout, seed):
        leaves, output, u = run(name, case, np.float64, layout, seed)
        left = float((output.data * u.data).sum())
        found = mg.gradients(output, leaves, u)
        right = sum(float((tensor.data * gradient.data).sum()) for tensor, gradient in zip(leaves, found, strict=True))
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)

    check()


class Unread:
    """What a rule may ask of an operand that its row does not declare: shape and dtype. All else fails loudly."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: Any) -> None:
        self.shape, self.dtype, self.ndim, self.size = of.shape, of.dtype, len(of.shape), int(np.prod(of.shape))

    def _read(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a rule read what its row does not declare")

    __eq__ = __ne__ = __bool__ = __array__ = __len__ = __iter__ = __getitem__ = __float__ = _read  # type: ignore[assignment]


def rule_values(row: Primitive, node: Node, position: int, g: Any, hidden: frozenset[str]) -> Any:
    """The rule for one operand, with the operands named in `hidden` (and "out") made unreadable."""
    rule = row.rule(position)
    extra = {"position": position} if row.variadic else {}
    names = row.operands[1:] if not row.variadic else ("",) * len(node.inputs)
    everything = [*node.args]
    for i, (name, entry) in enumerate(zip(names, node.inputs, strict=True)):
        if name in hidden and not isinstance(entry, int | float):
            everything[i] = Unread(entry)
    out = Unread(node) if "out" in hidden else node.data
    return np.asarray(rule.function(g, out, *everything, **extra, **node.params))


def readings(case: Case, name: str, layout: Any, seed: int) -> list[tuple[Node, int, Any]]:
    """(node, tracked position, cotangent) for each rule of this row that the case runs."""
    _, output, _ = run(name, case, np.float64, layout, seed)
    return [
        (node, position, cotangent(node.shape, node.dtype, layout, seed).data)
        for node in nodes_of(name, output)
        for position, entry in enumerate(node.inputs)
        if isinstance(entry, Node) and node.primitive.rule(position) is not None
    ]


primitive_rows = pytest.mark.parametrize(
    "name", sorted(name for name, row in TABLE.items() if isinstance(row, Primitive))
)
fused_rows = pytest.mark.parametrize("name", sorted(name for name, row in TABLE.items() if isinstance(row, Fused)))


@primitive_rows
def test_a_primitive_reads_what_its_row_declares_and_nothing_else(name):
    row = TABLE[name]
    needed: set[tuple[int, str]] = set()
    seen: set[int] = set()

    @given(CASES[name], layouts, seeds)
    def check(case, layout, seed):
        for node, position, g in readings(case, name, layout, seed):
            rule = row.rule(position)
            place = 0 if row.variadic else position
            seen.add(place)
            undeclared = frozenset(row.operands) - rule.reads
            expected = rule_values(row, node, position, g, frozenset())
            np.testing.assert_array_equal(rule_values(row, node, position, g, undeclared), expected)
            for read in rule.reads:
                try:
                    rule_values(row, node, position, g, undeclared | {read})
                except (AssertionError, TypeError, AttributeError):
                    needed.add((place, read))

    check()
    assert seen == {i for i, rule in enumerate(row.rules) if rule is not None}
    assert needed == {(i, read) for i, rule in enumerate(row.rules) if rule is not None for read in rule.reads}


@fused_rows
def test_a_kernel_reads_what_its_row_declares_and_nothing_else(name):
    row = TABLE[name]
    needed: set[str] = set()

    def gradients_with(node: Node, g: Any, hidden: set[str]) -> tuple[list[Any], list[Any]]:
        """By the kernel and by the definition, with the operands named in `hidden` unreadable (or NaN)."""
        names = row.operands[1 : len(node.inputs) + 1]
        args = tuple(
            Unread(entry) if name in hidden and isinstance(entry, Node) else arg
            for name, entry, arg in zip(names, node.inputs, node.args, strict=True)
        )
        bare = tuple(entry if isinstance(arg, Unread) else arg for entry, arg in zip(node.inputs, args, strict=True))
        out = Unread(node) if "out" in hidden else node.data
        kernel = row.backward(g, out, node.residuals, *args, **node.params)
        kept = node.args
        node.args = bare
        try:
            output, aliases = row.replay(node)
            defined = mg.gradients(output, [alias for alias in aliases if alias is not None], g)
        finally:
            node.args = kept
        return [one for one, alias in zip(kernel, aliases, strict=True) if alias is not None], [d.data for d in defined]

    @given(CASES[name], layouts, seeds)
    def check(case, layout, seed):
        _, output, _ = run(name, case, np.float64, layout, seed)
        for node in nodes_of(name, output):
            g = cotangent(node.shape, node.dtype, layout, seed).data
            undeclared = set(row.operands) - row.reads
            kernel, defined = gradients_with(node, g, undeclared)
            for one, other in zip(kernel, defined, strict=True):
                np.testing.assert_allclose(np.broadcast_to(one, np.shape(one)).sum(), other.sum(), atol=1e-9)
                assert np.isfinite(other).all()
            for read in row.reads:
                try:
                    _, without = gradients_with(node, g, undeclared | {read})
                    if any(not np.isfinite(gradient).all() for gradient in without):
                        needed.add(read)
                except (AssertionError, TypeError, AttributeError):
                    needed.add(read)

    check()
    assert needed == row.reads


@rows
def test_what_a_row_does_not_read_is_not_kept(name):
    """Only arrays that some rule reads stand in a node's arguments, and the output only where one reads it."""

    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        _, output, _ = run(name, case, dtype, layout, seed)
        for node in nodes_of(name, output):
            row = node.primitive
            tracked = sum(1 << i for i, entry in enumerate(node.inputs) if isinstance(entry, Node))
            kept = row.kept(tracked, len(node.inputs))
            for position, arg in enumerate(node.args):
                assert isinstance(arg, np.ndarray | float) == (
                    position in kept or not hasattr(node.inputs[position], "shape")
                )
            assert (node.data is not None) == (-1 in kept or node.size <= 16)

    check()


@rows
def test_a_row_prints_its_formula(name):
    assert TABLE[name].formula
    assert name in repr(TABLE[name])
