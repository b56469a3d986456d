"""Positions inside attention: rotary queries and keys, also from both ends of the source, and ALiBi."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from transformer import MultiHeadAttention, TransformerConfig
from transformer.cache import Grown
from transformer.masks import causal_mask
from transformer.positions import NOTHING, in_cross_attention, in_self_attention, turned
from transformer.positions.relative import distance_penalty, turn

SIZES = dict(source_vocab=9, target_vocab=10, d_model=24, heads=4, d_ff=8, layers=1)
FLOAT = np.dtype(np.float64)


def turned_at(x, place):
    """A vector (D_h,) turned as at one place."""
    return turned(mg.Tensor(x[None]), turn(np.array([place]), len(x), FLOAT)).data[0]


@given(st.integers(1, 5), st.integers(0, 200), st.integers(0, 200), st.integers(0, 500), st.integers(0, 2**32 - 1))
def test_the_product_of_query_and_key_depends_on_the_difference_of_their_places(pairs, i, j, shift, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 2 * pairs))
    here, there = turned_at(q, i) @ turned_at(k, j), turned_at(q, i + shift) @ turned_at(k, j + shift)
    assert abs(here - there) < 1e-11
    assert abs(turned_at(q, i) @ turned_at(k, i) - q @ k) < 1e-12


@given(st.integers(1, 5), st.integers(1, 30), st.sampled_from([10000.0, 7.5, 1e6]), st.integers(0, 2**32 - 1))
def test_a_pair_is_multiplied_as_a_complex_number(pairs, length, base, seed):
    """(x_1 + i x_2) e^(i m theta_n), theta_n = base^(-2 (n - 1) / d): Su et al. 2021, equations 12 to 15."""
    x = np.random.default_rng(seed).standard_normal((2, 3, length, 2 * pairs))
    places = np.arange(length)
    theta = base ** (-2 * np.arange(pairs) / (2 * pairs))
    expected = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * places[:, None] * theta)
    found = turned(mg.Tensor(x), turn(places, 2 * pairs, FLOAT, base)).data
    np.testing.assert_allclose(found[..., 0::2], expected.real, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[..., 1::2], expected.imag, rtol=1e-12, atol=1e-12)


def test_turning_keeps_lengths_and_its_gradient_turns_back():
    rng = np.random.default_rng(0)
    x, g, by = rng.standard_normal((2, 3, 5, 6)), rng.standard_normal((2, 3, 5, 6)), turn(np.arange(5), 6, FLOAT)
    leaf = mg.Tensor(x, requires_grad=True)
    out = turned(leaf, by)
    np.testing.assert_allclose(np.linalg.norm(out.data, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-12)
    (gradient,) = mg.gradients(out, [leaf], g)
    np.testing.assert_allclose(turned(gradient, by).data, g, rtol=1e-12, atol=1e-12)


def test_rows_with_padding_have_turns_of_their_own_and_the_embeddings_dtype():
    places = np.array([[0, 0, 1], [0, 1, 2]])
    by, of = turn(places, 6, np.float32), turn(np.arange(3), 6, np.float32)
    assert by.cos.shape == by.sin.shape == (2, 1, 3, 6)
    assert by.cos.dtype == by.sin.dtype == np.float32
    np.testing.assert_array_equal(by.cos[0, 0], of.cos[[0, 0, 1]])
    np.testing.assert_array_equal(by.sin[1, 0], of.sin)


def cross(kind, words, length):
    """What a target of `length` words and these of the source do to a cross-attention."""
    config = TransformerConfig(cross_positions=kind, **SIZES)
    return in_cross_attention(config, np.arange(length), words, FLOAT)


@given(st.integers(1, 7), st.integers(0, 3), st.sampled_from([0, 4, 2]), st.integers(0, 2**32 - 1))
def test_for_a_reversal_a_half_of_the_heads_sees_the_mirror_place(count, padding, kv_heads, seed):
    """Query t stands to source word n - 1 - t, counted from the end, as to word t counted from the start: angle 0."""
    where = np.sort(np.random.default_rng(seed).choice(count + padding, count, replace=False))
    words = np.zeros((1, count + padding), bool)
    words[0, where] = True
    config = TransformerConfig(cross_positions="rotary_both_ends", kv_heads=kv_heads, **SIZES)
    query, key, bias = in_cross_attention(config, np.arange(count), words, FLOAT)
    heads, half = config.key_value_heads, config.key_value_heads // 2
    assert bias is None
    for kind in ("cos", "sin"):
        asks, answers = getattr(query, kind), np.broadcast_to(getattr(key, kind), (1, heads, words.shape[1], 6))[0]
        for t in range(count):
            assert (answers[:half, where[t]] == asks[t]).all()
            assert (answers[half:, where[count - 1 - t]] == asks[t]).all()


def test_rows_of_a_batch_have_ends_of_their_own():
    words = np.array([[True, True, False, False], [True, True, True, True]])
    key = cross("rotary_both_ends", words, 3).key
    alone = [cross("rotary_both_ends", row[None, :n], 3).key for row, n in zip(words, (2, 4), strict=True)]
    assert key.cos.shape == (2, 4, 4, 6)
    for row, n in ((0, 2), (1, 4)):
        np.testing.assert_array_equal(key.cos[row, :, :n], alone[row].cos)
        np.testing.assert_array_equal(key.sin[row, :, :n], alone[row].sin)


def test_cross_attention_is_turned_from_the_start_or_not_at_all():
    words = np.ones((2, 5), bool)
    query, key, bias = cross("rotary", words, 3)
    assert (query.cos.shape, key.cos.shape, bias) == ((3, 6), (5, 6), None)
    np.testing.assert_array_equal(query.sin, key.sin[:3])
    assert cross("none", words, 3) is NOTHING


@pytest.mark.parametrize("kind", ["rotary", "rotary_both_ends"])
def test_the_base_of_a_config_is_that_of_every_turn(kind):
    config = TransformerConfig(positions="rotary", cross_positions=kind, rotary_base=50.0, **SIZES)
    places, expected = np.arange(5), turn(np.arange(5), 6, FLOAT, 50.0)
    assert not np.allclose(expected.cos, turn(places, 6, FLOAT).cos)
    within = in_self_attention(config, places, places, FLOAT)
    across = in_cross_attention(config, places, np.ones((1, 5), bool), FLOAT)
    for found in (within.query, within.key, across.query):
        np.testing.assert_array_equal(found.sin, expected.sin)
    from_start, from_end = (across.key.sin,) * 2 if kind == "rotary" else (across.key.sin[0], across.key.sin[-1, ::-1])
    np.testing.assert_array_equal(from_start, expected.sin)
    np.testing.assert_array_equal(from_end, expected.sin)


def test_the_slopes_are_the_papers():
    """Press et al. 2022, section 3: 8 heads have 1/2, 1/4, ..., 1/256, and 16 a half step between them."""
    one = np.array([1]), np.array([0])
    assert (-distance_penalty(*one, 8, FLOAT)[:, 0, 0]).tolist() == [2.0**-h for h in range(1, 9)]
    np.testing.assert_allclose(-distance_penalty(*one, 16, FLOAT)[:, 0, 0], 2 ** -(np.arange(1, 17) / 2), rtol=1e-15)


def test_a_penalty_is_that_of_the_distance_computed_by_hand():
    places = np.arange(3)
    expected = -np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    bias = distance_penalty(places, places, 2, FLOAT)
    np.testing.assert_array_equal(bias, [expected / 16, expected / 256])
    np.testing.assert_array_equal(distance_penalty(places[2:], places, 2, FLOAT), bias[:, 2:])
    words_apart = np.array([[0, 0, 1], [0, 1, 2]])  # one row has padding within
    rows = distance_penalty(words_apart, words_apart, 2, np.float32)
    assert (rows.shape, rows.dtype) == ((2, 2, 3, 3), np.float32)
    np.testing.assert_array_equal(rows[0, 0], -np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]) / np.float32(16))
    np.testing.assert_array_equal(rows[1], bias.astype(np.float32))


def attention_and_input(kv_heads):
    rng = np.random.default_rng(1)
    with mg.default_dtype("float64"):
        attention = MultiHeadAttention(24, 4, rng, kv_heads)
    for parameter in attention.parameters():
        parameter.data = parameter.data + 0.3 * rng.standard_normal(parameter.shape)
    return attention, rng.standard_normal((2, 5, 24))


@pytest.mark.parametrize("positions", ["alibi", "rotary", "none"])
@pytest.mark.parametrize("kv_heads", [0, 1, 2])
def test_attention_is_the_formula_head_by_head_and_the_same_word_by_word(positions, kv_heads):
    """Scores q_i . k_j / sqrt(D_h) - m |i - j| of ALiBi, or of turned q and k; a head of keys serves its neighbours."""
    attention, x = attention_and_input(kv_heads)
    config, places = TransformerConfig(positions=positions, kv_heads=kv_heads, **SIZES), np.arange(5)
    q, k, v = (x @ layer.weight.data + layer.bias.data for layer in (attention.query, attention.key, attention.value))
    angle = np.exp(1j * places[:, None] * 10000.0 ** (-np.arange(3) / 3)) if positions == "rotary" else 1
    heads = []
    for h in range(4):
        shared = h // (4 // (kv_heads or 4))
        asks, keys, values = (part[..., 6 * n : 6 * n + 6] for part, n in ((q, h), (k, shared), (v, shared)))
        asks, keys = ((part[..., 0::2] + 1j * part[..., 1::2]) * angle for part in (asks, keys))
        scores = (asks @ keys.conj().swapaxes(-1, -2)).real / np.sqrt(6)
        if positions == "alibi":
            scores = scores - 4.0 ** -(h + 1) * np.abs(places[:, None] - places)
        weights = np.where(np.tri(5) > 0, np.exp(scores), 0)
        heads.append(weights / weights.sum(-1, keepdims=True) @ values)
    expected = np.concatenate(heads, -1) @ attention.output.weight.data + attention.output.bias.data
    whole = attention(mg.Tensor(x), mg.Tensor(x), causal_mask(5), in_self_attention(config, places, places, FLOAT))
    np.testing.assert_allclose(whole.data, expected, rtol=1e-11, atol=1e-12)
    cache = Grown()
    for t in range(5):
        word, relative = (
            mg.Tensor(x[:, t : t + 1]),
            in_self_attention(config, places[t : t + 1], places[: t + 1], FLOAT),
        )
        step = attention(word, word, causal_mask(1, t), relative, cache)
        np.testing.assert_allclose(step.data[:, 0], expected[:, t], rtol=1e-11, atol=1e-12)
