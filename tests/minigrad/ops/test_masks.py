"""What a mask hides can't be felt; what is no mask, or does not fit, is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.operations import masks, seeds
from tests.minigrad.ops.kernels import CLOSE, PLAIN, assert_all_paths_agree, garbage, outcome
from tests.minigrad.strategies import FLOATS, layouts, leaf, numbers


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
    layout_free = outcome(lambda q, k, v: mg.attention(q, k, v, mask), [query, key, value], PLAIN, seed)
    assert layout_free.output.shape == (2, 7, 4, 2)
    for i, j in ((0, 0), (1, 6)):
        alone = mg.attention(query, key, value, mask[i, j]).data
        np.testing.assert_allclose(layout_free.output[i, j], alone, **CLOSE[dtype])


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


@pytest.mark.parametrize(
    ("bias", "kind", "words"),
    [
        (np.ones((4, 3)), mg.ShapeError, r"bias of shape \(4, 3\) for scores of shape \(3, 3\)"),
        (np.ones((2, 3, 3)), mg.ShapeError, "bias of shape"),
        (np.array([0.0, -np.inf, 0.0]), mg.DtypeError, "what may not be attended to is said by mask"),
        (np.array([True, False, True]), mg.DtypeError, "finite real numbers, not bool"),
        (mg.Tensor(np.zeros(3), requires_grad=True), mg.DtypeError, "no gradient flows to bias"),
    ],
)
def test_a_bias_that_does_not_fit_or_is_not_finite_or_wants_a_gradient_is_refused(bias, kind, words):
    with pytest.raises(kind, match=words):
        mg.attention(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), bias=bias)


@pytest.mark.parametrize("mask", [np.ones((3, 3)), np.ones((3, 3), np.int64), [[0.0, -np.inf, 0.0]] * 3])
def test_a_mask_that_is_not_boolean_is_refused(mask):
    for call in (lambda m: mg.attention(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), m),
                 lambda m: mg.softmax(np.ones((3, 3)), where=m),
                 lambda m: mg.logsumexp(np.ones((3, 3)), where=m),
                 lambda m: mg.dropout(np.ones((3, 3)), m, 0.1)):  # fmt: skip
        with pytest.raises(mg.DtypeError, match="a mask is boolean, True = takes part"):
            call(mask)


def test_a_hidden_score_however_large_does_not_change_a_bit_of_those_before_it():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((6, 8)).astype(np.float32) for _ in range(3))
    later = k.copy()
    later[5] *= 60
    causal = np.tri(6, dtype=bool)
    one, other = mg.attention(q, k, v, causal).data, mg.attention(q, later, v, causal).data
    np.testing.assert_array_equal(one[:5], other[:5])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_many_scores_near_zero_do_not_overflow_their_sum(dtype):
    q, k, v = np.array([[3.6]], dtype), np.ones((2500, 1), dtype), np.ones((2500, 2), dtype)
    np.testing.assert_allclose(mg.attention(q, k, v).data, [[1, 1]], rtol=2e-3)
    logits = mg.Tensor(np.full((1, 3000), 3.5, dtype), requires_grad=True)
    loss = mg.cross_entropy(logits, np.array([0]))
    np.testing.assert_allclose(float(loss.data), np.log(3000), rtol=2e-3)
    (d,) = mg.gradients(loss, [logits])
    np.testing.assert_allclose(d.data[0, :2], [1 / 3000 - 1, 1 / 3000], rtol=2e-2)


def test_layers_take_integers_as_their_definitions_do():
    w = (np.ones((4, 4), int), None)
    calls = (
        lambda: mg.embedding(np.arange(6).reshape(3, 2), [0, 1]),
        lambda: mg.multi_head_attention(*[np.ones((2, 4), int)] * 2, w, w, w, w, 2),
    )
    for call in calls:
        fused = call()
        with mg.unfused():
            np.testing.assert_allclose(fused.data, call().data)
