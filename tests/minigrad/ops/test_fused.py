"""Fused kernels equal their definitions, in value and gradient, also where garbage hides under a mask."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.primitive import TABLE, Fused
from minigrad.tape import topological_order
from tests.minigrad.operations import CASES, masks, seeds
from tests.minigrad.strategies import FLOATS, cotangent, layouts, leaf, numbers

FUSED = sorted(name for name, row in TABLE.items() if isinstance(row, Fused))
CLOSE: dict[Any, dict[str, float]] = {
    np.float32: {"rtol": 2e-5, "atol": 1e-5},
    np.float64: {"rtol": 1e-12, "atol": 1e-13},
}
garbage = st.sampled_from((np.nan, np.inf, -np.inf, 1e30))


@dataclass
class Outcome:
    """The output and the gradients."""

    output: np.ndarray
    gradients: list[np.ndarray]


def outcome(
    call: Any, arrays: Any, layout: Any, seed: int, unfused: bool = False, create_graph: bool = False
) -> Outcome:
    """Run the kernel, or the definition, and go backward from a random cotangent."""
    leaves = [leaf(array) for array in arrays]
    if unfused:
        with mg.unfused():
            output = call(*leaves)
    else:
        output = call(*leaves)
    g = cotangent(output.shape, output.dtype, layout, seed)
    found = mg.gradients(output, leaves, g, create_graph)
    return Outcome(output.data, [gradient.data for gradient in found])


def assert_same(one: Outcome, other: Outcome, dtype: Any) -> None:
    assert (one.output.shape, one.output.dtype) == (other.output.shape, other.output.dtype)
    np.testing.assert_allclose(one.output, other.output, **CLOSE[dtype])
    for a, b in zip(one.gradients, other.gradients, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, **CLOSE[dtype])


def assert_all_paths_agree(call: Any, arrays: Any, layout: Any, seed: int, dtype: Any) -> Outcome:
    """Kernel, definition, and the definition re-run for a recorded derivative."""
    kernel = outcome(call, arrays, layout, seed)
    assert_same(kernel, outcome(call, arrays, layout, seed, unfused=True), dtype)
    assert_same(kernel, outcome(call, arrays, layout, seed, create_graph=True), dtype)
    return kernel


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
    "linear": (mg.linear, [(2, 3), (3, 2), (2,)]),
    "dropout": (lambda x: mg.dropout(x * x * x, np.array([True, False, True]), 0.4), [(3,)]),
    "attention": (lambda q, k, v: mg.attention(q, k, v, np.tril(np.ones((2, 3), bool))), [(2, 2), (3, 2), (3, 2)]),
}


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


# Masks: what takes no part can't be felt


@given(masks((3, 4)), garbage, st.sampled_from(FLOATS), layouts, seeds)
def test_softmax_is_blind_to_what_its_mask_hides(mask, hidden, dtype, layout, seed):
    clean = numbers((3, 4), seed).astype(dtype)
    dirty = np.where(mask, clean, hidden).astype(dtype)
    expected = outcome(lambda x: mg.softmax(x, where=mask), [clean], layout, seed)
    found = assert_all_paths_agree(lambda x: mg.softmax(x, where=mask), [dirty], layout, seed, dtype)
    np.testing.assert_array_equal(found.output, expected.output)
    np.testing.assert_array_equal(found.gradients[0], expected.gradients[0])
    np.testing.assert_array_equal(found.output[~mask], 0)
    np.testing.assert_array_equal(found.gradients[0][~mask], 0)
    np.testing.assert_allclose(found.output.sum(axis=-1), mask.any(axis=-1), rtol=1e-5)


@given(masks((3, 4)), garbage, st.sampled_from(FLOATS), layouts, seeds)
def test_logsumexp_is_blind_to_what_its_mask_hides(mask, hidden, dtype, layout, seed):
    clean = numbers((3, 4), seed).astype(dtype)
    dirty = np.where(mask, clean, hidden).astype(dtype)
    expected = outcome(lambda x: mg.logsumexp(x, -1, where=mask), [clean], layout, seed)
    found = assert_all_paths_agree(lambda x: mg.logsumexp(x, -1, where=mask), [dirty], layout, seed, dtype)
    np.testing.assert_array_equal(found.output, expected.output)
    np.testing.assert_array_equal(found.gradients[0], expected.gradients[0])
    np.testing.assert_array_equal(found.gradients[0][~mask], 0)
    np.testing.assert_array_equal(np.isneginf(found.output), ~mask.any(axis=-1))


@given(st.data(), garbage, st.sampled_from(FLOATS), layouts, seeds)
def test_attention_is_blind_to_keys_values_and_queries_that_take_no_part(data, hidden, dtype, layout, seed):
    batch, heads, t_q, t_k = 2, 3, 4, 5
    shape = data.draw(
        st.sampled_from(((t_q, t_k), (1, t_k), (batch, 1, t_q, t_k), (batch, 1, 1, t_k), (heads, t_q, t_k)))
    )
    mask = data.draw(masks(shape))
    if data.draw(st.booleans()):
        mask = mask & (np.arange(t_k) < 3)
    clean = [numbers((batch, heads, t, d), seed + i) for i, (t, d) in enumerate(((t_q, 6), (t_k, 6), (t_k, 3)))]
    clean = [array.astype(dtype) for array in clean]
    whole = np.broadcast_to(mask, (batch, heads, t_q, t_k))
    unseen, blind = ~whole.any(axis=-2)[..., None], ~whole.any(axis=-1)[..., None]
    dirty = [np.where(out, dtype(hidden), a) for out, a in zip((blind, unseen, unseen), clean, strict=True)]

    def call(query, key, value):
        return mg.attention(query, key, value, mask)

    expected = outcome(call, clean, layout, seed)
    found = assert_all_paths_agree(call, dirty, layout, seed, dtype)
    np.testing.assert_array_equal(found.output, expected.output)
    np.testing.assert_array_equal(found.output[blind[..., 0]], 0)
    for one, other, out in zip(found.gradients, expected.gradients, (blind, unseen, unseen), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one[out[..., 0]], 0)


def test_a_fully_masked_query_leaves_the_others_as_they_would_be_without_it():
    """Row 29."""
    query, key, value = (numbers(shape, i) for i, shape in enumerate(((4, 3), (5, 3), (5, 2))))
    mask = np.ones((4, 5), bool)
    mask[2] = False
    g = numbers((4, 2), 9)
    kept = [0, 1, 3]

    def run(query, mask, g):
        leaves = [leaf(array.copy()) for array in (query, key, value)]
        output = mg.attention(*leaves, mask)
        return output.data, [found.data for found in mg.gradients(output, leaves, g)]

    output, (dq, dk, dv) = run(query, mask, g)
    smaller, (dq_, dk_, dv_) = run(query[kept], mask[kept], g[kept])
    np.testing.assert_array_equal(output[2], 0)
    np.testing.assert_array_equal(dq[2], 0)
    np.testing.assert_allclose(output[kept], smaller, rtol=1e-14)
    for one, other in ((dq[kept], dq_), (dk, dk_), (dv, dv_)):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@given(seeds, st.sampled_from(FLOATS))
def test_attention_of_a_mask_with_more_axes_than_the_scores(seed, dtype):
    query, key, value = (numbers(shape, seed + i).astype(dtype) for i, shape in enumerate(((4, 3), (5, 3), (5, 2))))
    mask = np.random.default_rng(seed).random((2, 7, 4, 5)) < 0.5
    layout_free = outcome(lambda q, k, v: mg.attention(q, k, v, mask), [query, key, value], _plain, seed)
    assert layout_free.output.shape == (2, 7, 4, 2)
    for i, j in ((0, 0), (1, 6)):
        alone = mg.attention(query, key, value, mask[i, j]).data
        np.testing.assert_allclose(layout_free.output[i, j], alone, **CLOSE[dtype])


class _Plain:
    """A cotangent in the plain layout."""

    def base_shape(self, shape):
        return shape

    def view(self, base):
        return base


_plain: Any = _Plain()


def test_attention_is_the_textbook_formula():
    query, key, value = (numbers(shape, i) for i, shape in enumerate(((2, 3, 4), (2, 5, 4), (2, 5, 6))))
    scores = np.exp(np.einsum("bqd,bkd->bqk", query, key) / 2.0)
    expected = np.einsum("bqk,bkv->bqv", scores / scores.sum(-1, keepdims=True), value)
    np.testing.assert_allclose(mg.attention(query, key, value).data, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("shapes", "mask", "words"),
    [
        (((3, 4), (5, 3), (5, 2)), None, "sizes 4 and 3"),
        (((3, 4), (5, 4), (6, 2)), None, "lengths 5 and 6"),
        (((4,), (5, 4), (5, 2)), None, "at least the axes"),
        (((3, 0), (5, 0), (5, 2)), None, "must be at least 1"),
        (((3, 4), (5, 4), (5, 2)), (3, 4), r"mask of shape \(3, 4\) for scores of shape \(3, 5\)"),
        (((3, 4), (1, 4), (1, 2)), (3, 5), "mask of shape"),
        (((2, 3, 4), (3, 5, 4), (5, 2)), None, "broadcast"),
        (((2, 3, 4), (2, 5, 4), (2, 5, 2)), (3, 3, 5), "broadcast"),
    ],
)
def test_attention_refuses_what_does_not_fit_and_says_what_must(shapes, mask, words):
    query, key, value = map(np.ones, shapes)
    with pytest.raises(mg.ShapeError, match=words) as raised:
        mg.attention(query, key, value, None if mask is None else np.ones(mask, bool))
    assert f"attention: {shapes[0]}, {shapes[1]}, {shapes[2]}: " in str(raised.value)


@pytest.mark.parametrize("mask", [np.ones((3, 3)), np.ones((3, 3), np.int64), [[0.0, -np.inf, 0.0]] * 3])
def test_a_mask_that_is_not_boolean_is_refused(mask):
    for call in (lambda m: mg.attention(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), m),
                 lambda m: mg.softmax(np.ones((3, 3)), where=m),
                 lambda m: mg.logsumexp(np.ones((3, 3)), where=m),
                 lambda m: mg.dropout(np.ones((3, 3)), m, 0.1)):  # fmt: skip
        with pytest.raises(mg.DtypeError, match="a mask is boolean, True = takes part"):
            call(mask)


# Cross-entropy


def reference(logits, targets, ignore, smoothing, reduction):
    """One row after the other, in float64, as the definition says."""
    flat, labels = logits.reshape(-1, logits.shape[-1]).astype(np.float64), targets.reshape(-1)
    losses, gradient, count = np.zeros(len(labels)), np.zeros(flat.shape), 0
    for i, (row, label) in enumerate(zip(flat, labels, strict=True)):
        if label == ignore:
            continue
        count += 1
        log_p = row - np.log(np.exp(row - row.max()).sum()) - row.max()
        wanted = np.full(len(row), smoothing / len(row))
        wanted[label] += 1 - smoothing
        losses[i] = -(wanted * log_p).sum()
        gradient[i] = np.exp(log_p) - wanted
    if reduction == "none":
        return losses.reshape(targets.shape), gradient.reshape(logits.shape)
    share = 1 if reduction == "sum" else 1 / max(count, 1)
    return losses.sum() * share, gradient.reshape(logits.shape) * share


@given(
    st.sampled_from(((), (3,), (2, 3))), st.sampled_from((1, 2, 5)), st.sampled_from((None, 0, -100)),
    st.sampled_from((0.0, 0.1, 1.0)), st.sampled_from(("mean", "sum", "none")), garbage, seeds,
)  # fmt: skip
def test_cross_entropy_is_its_definition_and_blind_to_ignored_rows(
    shape, classes, ignore, smoothing, reduction, hidden, seed
):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, shape)
    if ignore is not None:
        targets = np.where(rng.random(shape) < 0.5, ignore, targets)
    logits = numbers((*shape, classes), seed) * 5
    dirty = logits if ignore is None else np.where((targets == ignore)[..., None], hidden, logits)
    x = leaf(np.array(dirty))
    loss = mg.cross_entropy(x, targets, ignore, smoothing, reduction)
    g = 0.7 * np.ones(loss.shape)
    (found,) = mg.gradients(loss, [x], g)
    expected, derivative = reference(logits, targets, ignore, smoothing, reduction)
    np.testing.assert_allclose(loss.data, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.data, 0.7 * derivative, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_nothing_is_zero_with_zero_gradient(reduction):
    """Row 32: every target ignored, or no target at all."""
    for logits, targets in ((np.ones((3, 4)), [7, 7, 7]), (np.ones((0, 4)), np.zeros(0, int))):
        x = leaf(logits)
        loss = mg.cross_entropy(x, targets, ignore_index=7, reduction=reduction)
        assert not loss.data.any()
        loss.sum().backward()
        assert not x.grad.data.any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy_of_impossible_classes_has_the_gradient_of_the_others(dtype):
    """A logit of -inf, wherever it stands: probability 0, gradient 0; were the target there, an infinite loss."""
    for place in range(3):
        logits = np.insert(np.array([1.0, 2.0]), place, -np.inf).astype(dtype)
        x = leaf(logits[None])
        target = 0 if place else 1
        (gradient,) = mg.gradients(mg.cross_entropy(x, [target]), [x])
        p = np.exp(logits) / np.exp(logits).sum()
        p[target] -= 1
        np.testing.assert_allclose(gradient.data[0], p, rtol=1e-6)
        assert np.isposinf(mg.cross_entropy(x, [place]).item())
    nothing = leaf(np.full((1, 3), -np.inf, dtype))
    assert np.isposinf(mg.cross_entropy(nothing, [0]).item())
    assert np.isfinite(mg.gradients(mg.cross_entropy(nothing, [0]), [nothing])[0].data).all()


@pytest.mark.parametrize("spread", [1e4, 1e8, 1e20])
def test_cross_entropy_keeps_its_gradient_where_logits_are_far_apart_or_far_out(spread):
    """float32: neither a first logit far below the others nor a common offset may cost digits."""
    x = leaf(np.array([[-spread, 1.0, 2.0], [spread, spread, 0.0]], np.float32))
    (gradient,) = mg.gradients(mg.cross_entropy(x, [1, 0], reduction="sum"), [x])
    high = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(gradient.data, [[0, -high, high], [-0.5, 0.5, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("logits", "targets", "options", "error", "words"),
    [
        ((2, 3), [0.0, 1.0], {}, mg.DtypeError, "targets are class indices, integers, not float32"),
        ((2, 3), [True, False], {}, mg.DtypeError, "not bool"),
        ((2, 3), [0], {}, mg.ShapeError, r"targets \(1,\): targets must have the shape \(2,\)"),
        ((2, 3), [[0, 1]], {}, mg.ShapeError, "must have the shape"),
        ((), 0, {}, mg.ShapeError, "must have the shape"),
        (
            (2, 3),
            [0, 3],
            {},
            mg.OutOfRangeError,
            r"target 3 at \(1,\) is not one of the 3 classes .* ignore_index not set",
        ),
        ((2, 3), [-1, 0], {}, mg.OutOfRangeError, r"target -1 at \(0,\)"),
        ((2, 3), [-1, 0], {"ignore_index": 0}, mg.OutOfRangeError, "target -1"),
        ((2, 3), [0, 1], {"label_smoothing": 1.5}, mg.ShapeError, r"in \[0, 1\], not 1.5"),
        ((2, 3), [0, 1], {"reduction": "avg"}, mg.ShapeError, "'mean', 'sum' or 'none', not 'avg'"),
    ],
)
def test_cross_entropy_refuses_what_does_not_fit(logits, targets, options, error, words):
    with pytest.raises(error, match=words):
        mg.cross_entropy(np.ones(logits), targets, **options)


# Numerics of the others


def test_softmax_and_its_kin_do_not_overflow():
    x = leaf(np.array([1000.0, 1001.0, -1000.0], np.float32))
    np.testing.assert_allclose(mg.softmax(x).data, [0.26894143, 0.7310586, 0], rtol=1e-6)
    np.testing.assert_allclose(mg.log_softmax(x).data, [-1.3132616, -0.31326166, -2001.3132], rtol=1e-6)
    np.testing.assert_allclose(mg.logsumexp(x).data, 1001.31326, rtol=1e-6)


def test_softmax_of_minus_infinity_alone_is_zero_and_its_logarithm_minus_infinity():
    x = np.full(3, -np.inf)
    for call, value in ((mg.softmax, 0), (mg.log_softmax, -np.inf), (mg.logsumexp, -np.inf)):
        found = assert_all_paths_agree(call, [x], _plain, 0, np.float64)
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
