"""Fused kernels equal their definitions, in value and gradient, at every order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.fused import Fused
from minigrad.operation import TABLE
from minigrad.tape import topological_order
from tests.minigrad.operations import CASES, seeds
from tests.minigrad.ops.kernels import PLAIN, assert_all_paths_agree
from tests.minigrad.strategies import FLOATS, layouts, leaf, numbers

FUSED = sorted(name for name, row in TABLE.items() if isinstance(row, Fused))


@pytest.mark.parametrize("name", FUSED)
def test_kernel_equals_definition(name):
    @given(CASES[name], st.sampled_from(FLOATS), layouts, seeds)
    def check(case, dtype, layout, seed):
        arrays = case.operands([base.astype(dtype) for base in case.bases])
        assert_all_paths_agree(case.call, arrays, layout, seed, dtype)

    check()


@pytest.mark.parametrize("name", FUSED)
def test_kernel_equals_definition_where_dtypes_are_mixed(name):
    @given(CASES[name], layouts, seeds)
    def check(case, layout, seed):
        dtypes = [FLOATS[(seed >> i) & 1] for i in range(len(case.bases))]
        arrays = case.operands([base.astype(dtype) for base, dtype in zip(case.bases, dtypes, strict=True)])
        kernel = assert_all_paths_agree(case.call, arrays, layout, seed, np.float32)
        assert kernel.output.dtype == np.result_type(*dtypes)

    check()


@pytest.mark.parametrize("name", FUSED)
def test_the_definition_is_on_the_tape_under_unfused_and_named_by_its_path(name):
    @given(CASES[name])
    def check(case):
        leaves = [leaf(operand) for operand in case.operands()]
        with mg.unfused():
            output = case.call(*leaves)
        nodes = [node for node in topological_order([output._node]) if node.primitive is not None]
        assert not any(isinstance(node.primitive, Fused) for node in nodes)
        assert any(node.path.split(".")[0] == name for node in nodes)

    check()


@pytest.mark.parametrize("name", FUSED)
def test_a_kernel_is_one_node(name):
    @given(CASES[name])
    def check(case):
        output = case.call(*(leaf(operand) for operand in case.operands()))
        made = [node.primitive.name for node in topological_order([output._node]) if node.primitive is not None]
        assert made == [name]

    check()


THIRD_ORDER = {
    "softmax": (lambda x: mg.softmax(x, 0, np.array([[True], [True], [False]])), [(3, 2)]),
    "log_softmax": (mg.log_softmax, [(2, 3)]),
    "logsumexp": (lambda x: mg.logsumexp(x, 0), [(3, 2)]),
    "cross_entropy": (lambda x: mg.cross_entropy(x, [1, 0], label_smoothing=0.2), [(2, 3)]),
    "layer_norm": (lambda x, gain, bias: mg.layer_norm(x, gain, bias, eps=0.1), [(2, 3), (3,), (3,)]),
    "rms_norm": (lambda x, gain: mg.rms_norm(x, gain, eps=0.1), [(2, 3), (3,)]),
    "gelu": (lambda x: mg.gelu(x) + mg.gelu(x, "tanh"), [(3,)]),
    "linear": (mg.linear, [(2, 3), (3, 2), (2,)]),
    "dropout": (lambda x: mg.dropout(x * x * x, np.array([True, False, True]), 0.4), [(3,)]),
    "attention": (lambda q, k, v: mg.attention(q, k, v, np.tril(np.ones((2, 3), bool))), [(2, 2), (3, 2), (3, 2)]),
    "add_norm": (lambda x, y, gain, bias: mg.add_norm(x, y, gain, bias, eps=0.1), [(2, 3), (2, 3), (3,), (3,)]),
    "embedding": (lambda table: mg.embedding(table * table * table, [2, 0, 2], 0.5), [(3, 2)]),
    "feed_forward": (
        lambda x, w_1, w_2: mg.feed_forward(x, w_1, np.array([9.0, -9.0, 9.0]), w_2, None), [(2, 2), (2, 3), (3, 1)]
    ),
    "multi_head_attention": (
        lambda x, m, q, k, v, o: mg.multi_head_attention(x, m, (q, None), (k, None), (v, None), (o, None), 2),
        [(2, 2), (3, 2), (2, 2), (2, 2), (2, 2), (2, 1)],
    ),
}  # fmt: skip


def test_every_fused_operation_has_a_third_order_check():
    assert set(THIRD_ORDER) == set(FUSED)


@pytest.mark.parametrize("name", THIRD_ORDER)
def test_third_derivatives_go_through_every_fused_operation(name):
    call, shapes = THIRD_ORDER[name]
    mg.check_grads(call, [numbers(shape, i) for i, shape in enumerate(shapes)], order=3, entries=2)


def test_chained_fused_operations_are_replayed_once_each():
    """Without a stop at the aliases of its inputs, each definition would walk all that came before it, too."""
    x = leaf(numbers((4,), 0))
    y = x
    for _ in range(20):
        y = mg.softmax(y * 3.0)
    (gradient,) = mg.gradients(y, [x], numbers((4,), 1), create_graph=True)
    assert len(topological_order([gradient._node])) < 20 * 40


# Numerics of the others


def test_softmax_and_its_kin_do_not_overflow():
    x = leaf(np.array([1000.0, 1001.0, -1000.0], np.float32))
    np.testing.assert_allclose(mg.softmax(x).data, [0.26894143, 0.7310586, 0], rtol=1e-6)
    np.testing.assert_allclose(mg.log_softmax(x).data, [-1.3132616, -0.31326166, -2001.3132], rtol=1e-6)
    np.testing.assert_allclose(mg.logsumexp(x).data, 1001.31326, rtol=1e-6)


def test_softmax_of_minus_infinity_alone_is_zero_and_its_logarithm_minus_infinity():
    x = np.full(3, -np.inf)
    for call, value in ((mg.softmax, 0), (mg.log_softmax, -np.inf), (mg.logsumexp, -np.inf)):
        found = assert_all_paths_agree(call, [x], PLAIN, 0, np.float64)
        np.testing.assert_array_equal(found.output, np.full(found.output.shape, value))
        assert np.isfinite(found.gradients[0]).all()


@pytest.mark.parametrize("call", [mg.softmax, mg.log_softmax, mg.logsumexp, mg.layer_norm])
def test_integers_go_forward_as_floats(call):
    numbers_ = np.array([[1, 2, 3]])
    for given_ in (numbers_, numbers_.astype(np.int16), mg.Tensor(numbers_), [[1, 2, 3]]):
        with mg.unfused():
            defined = call(given_)
        assert call(given_).dtype == np.float64 == defined.dtype
        np.testing.assert_allclose(call(given_).data, call(numbers_.astype(float)).data)
        np.testing.assert_allclose(defined.data, call(numbers_.astype(float)).data)


@pytest.mark.parametrize("call", [mg.softmax, mg.log_softmax, mg.logsumexp, mg.layer_norm])
def test_float16_stays_float16(call):
    x = leaf(np.array([[1, 2, 3]], np.float16))
    output = call(x)
    assert output.dtype == np.float16
    assert mg.gradients(output, [x], np.ones(output.shape))[0].dtype == np.float16


@given(seeds)
def test_layer_norm_has_two_pass_variance(seed):
    """Row 31."""
    x = (np.random.default_rng(seed).standard_normal((4, 64)) + 2000).astype(np.float32)
    np.testing.assert_allclose(mg.layer_norm(x).data, mg.layer_norm(x.astype(np.float64)).data, atol=1e-6)


def test_a_layer_norm_of_equal_elements_is_its_bias():
    x, bias = leaf(np.full((2, 4), 3.0)), leaf(numbers((4,), 0))
    output = mg.layer_norm(x, bias=bias)
    np.testing.assert_array_equal(output.data, np.broadcast_to(bias.data, (2, 4)))
    assert np.isfinite(mg.gradients(output, [x], numbers((2, 4), 1))[0].data).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mg.layer_norm(np.ones(())), "layer_norm"),
        (lambda: mg.layer_norm(np.ones((2, 0))), "layer_norm"),
        (lambda: mg.layer_norm(np.ones((2, 3)), np.ones(2)), r"x \(2, 3\), gain and bias \[\(2,\)\]"),
        (lambda: mg.linear(np.ones((2, 3)), np.ones((4, 5))), r"x \(2, 3\), weight \(4, 5\), bias None"),
        (lambda: mg.linear(np.ones((2, 3)), np.ones((3, 5)), np.ones(1)), r"bias \(1,\)"),
        (lambda: mg.linear(1.0, np.ones((3, 5))), r"x \(\)"),
        (lambda: mg.dropout(np.ones(3), np.ones(2, bool), 0.1), r"mask's shape \(2,\) must be x's, \(3,\)"),
        (lambda: mg.dropout(np.ones(3), np.ones(3, bool), 1.0), r"rate must be in \[0, 1\), not 1.0"),
        (lambda: mg.softmax(np.ones(3), where=np.ones((2, 3), bool)), "softmax"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call, words):
    with pytest.raises(mg.ShapeError, match=words):
        call()


def test_an_integer_bias_has_no_gradient_and_does_not_disturb_the_others():
    x, weight = leaf(numbers((2, 3), 0)), leaf(numbers((3, 4), 1))
    output = mg.linear(x, weight, np.arange(4))
    once = mg.gradients(output, [x, weight], np.ones((2, 4)))
    twice = mg.gradients(output, [x, weight], np.ones((2, 4)), create_graph=True)
    for one, other in zip(once, twice, strict=True):
        np.testing.assert_allclose(one.data, other.data)


def test_dropout_scales_what_it_keeps():
    keep = np.array([True, False, True])
    x = leaf(numbers((3,), 0))
    output = mg.dropout(x, keep, 0.2)
    np.testing.assert_allclose(output.data, x.data * keep / 0.8)
    np.testing.assert_allclose(mg.gradients(output, [x], np.full(3, 0.7))[0].data, 0.7 * keep / 0.8)
    assert mg.dropout(np.arange(3), keep, 0.5).dtype == np.float64
