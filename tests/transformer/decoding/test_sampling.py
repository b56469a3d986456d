"""Sampling draws from the distribution it says, for each row on its own."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.models import small_model
from transformer.decoding.sampling import distribution, draw, sample, tempered
from transformer.vocabulary import BOS, EOS, PAD

PROBABILITIES = np.array([[0.1, 0.4, 0.05, 0.25, 0.2]])
LOG_P = np.log(PROBABILITIES)


def sources(seed, rows=4):
    return np.random.default_rng(seed).integers(3, 11, (rows, 5))


def ending(model, end):
    model.output.bias.data = model.output.bias.data + np.where(np.arange(13) == EOS, end, 0.0)
    return model


def own_log_probabilities(model, source, ids):
    """(B, L) from the teacher-forced logits of the whole model; whatever at padding."""
    begun = np.concatenate([np.full((len(ids), 1), BOS), ids[:, :-1]], axis=1)
    logits = model(source, begun).data.copy()
    logits[:, :, [PAD, BOS]] = -np.inf
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.take_along_axis(log_p, ids[:, :, None], axis=-1)[:, :, 0]


@given(st.integers(0, 1000), st.sampled_from([-2.0, 0.0, 2.0]), st.integers(1, 9))
def test_top_1_is_greedy(seed, end, max_length):
    model, source = ending(small_model(seed), end), sources(seed)
    drawn = sample(model, source, seed, temperature=3.0, top_k=1, max_length=max_length)
    assert np.array_equal(drawn.ids, model.generate(source, max_length))


@given(st.integers(0, 1000), st.sampled_from([1e-9, 1e-200, 1e-308, 5e-324]), st.integers(1, 9))
def test_temperature_near_0_is_greedy(seed, temperature, max_length):
    model, source = ending(small_model(seed), 1.0), sources(seed)
    drawn = sample(model, source, seed, temperature=temperature, max_length=max_length)
    assert np.array_equal(drawn.ids, model.generate(source, max_length))


@given(st.integers(0, 1000), st.sampled_from([1e-9, 1e-300]))
def test_a_tiny_nucleus_is_greedy(seed, top_p):
    model, source = small_model(seed), sources(seed)
    assert np.array_equal(sample(model, source, seed, top_p=top_p, max_length=6).ids, model.generate(source, 6))


@given(st.integers(0, 1000), st.sampled_from([13, 14, 1000]))
def test_top_k_of_the_whole_vocabulary_or_more_is_all(seed, top_k):
    model, source = small_model(seed), sources(seed)
    for ours, plain in zip(*(sample(model, source, seed, top_k=k, max_length=9) for k in (top_k, None)), strict=True):
        assert np.array_equal(ours, plain)


@given(st.integers(0, 1000), st.floats(0.2, 3), st.none() | st.integers(1, 9), st.none() | st.floats(0.1, 1))
def test_what_holds_of_every_result(seed, temperature, top_k, top_p):
    model, source = ending(small_model(seed), 2.0), sources(seed)
    ids, log_probabilities = sample(model, source, seed, temperature, top_k, top_p, max_length=8)
    assert ids.dtype == np.int64
    assert log_probabilities.dtype == np.float64
    assert ids.shape == log_probabilities.shape
    assert ids.shape[0] == 4
    assert 1 <= ids.shape[1] <= 8
    assert not (ids == BOS).any()
    assert (ids[:, -1] != PAD).any()
    for row in ids.tolist():
        length = row.index(EOS) + 1 if EOS in row else 8
        assert PAD not in row[:length]
        assert not any(row[length:])
    expected = np.where(ids == PAD, 0.0, own_log_probabilities(model, source, ids))
    np.testing.assert_allclose(log_probabilities, expected, rtol=0, atol=1e-12)


def test_a_finished_row_stays_padded_while_others_go_on():
    model, source = ending(small_model(3), 1.0), sources(3, rows=30)
    ids, log_probabilities = sample(model, source, 1, max_length=12)
    lengths = (ids != PAD).sum(axis=1)
    assert lengths.min() < 4 < lengths.max()
    after = np.arange(ids.shape[1]) >= lengths[:, None]
    assert (ids[after] == PAD).all()
    assert (log_probabilities[after] == 0.0).all()
    assert (log_probabilities[~after] < 0.0).all()


@given(st.integers(0, 1000), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_a_rows_result_does_not_depend_on_padding_or_on_the_other_rows(seed, place, more, left, right):
    """The row at one place draws the same among others, whoever they are and however many come after."""
    model, rng = ending(small_model(seed), 1.0), np.random.default_rng(seed)
    row, results = rng.integers(3, 11, 5), []
    for rows, pads in ((place + 1, (0, 0)), (place + 1 + more, (left, right))):
        source = rng.integers(3, 11, (rows, 5 + sum(pads)))
        source[place] = np.pad(row, pads, constant_values=PAD)
        results.append(sample(model, source, seed, temperature=1.5, top_k=8, top_p=0.9, max_length=8))
    (one, first), (other, second) = ((drawn.ids[place], drawn.log_probabilities[place]) for drawn in results)
    assert np.array_equal(one[one != PAD], other[other != PAD])
    np.testing.assert_allclose(first[one != PAD], second[other != PAD], rtol=0, atol=1e-12)


@given(st.integers(0, 1000), st.floats(0.3, 3), st.none() | st.integers(2, 9), st.none() | st.floats(0.3, 1))
def test_it_is_the_plain_loop_over_all_that_is_written(seed, temperature, top_k, top_p):
    """Row by row, no cache: each word drawn by the row's own generator from the last logits of the whole model."""
    model, source = ending(small_model(seed), 1.0), sources(seed)
    drawn = sample(model, source, seed, temperature, top_k, top_p, max_length=7)
    for row, child in enumerate(np.random.default_rng(seed).spawn(len(source))):
        begun = [BOS]
        while len(begun) <= 7 and begun[-1] != EOS:
            logits = model(source[row : row + 1], np.array([begun])).data[0, -1].copy()
            logits[[PAD, BOS]] = -np.inf
            log_p = logits - np.log(np.exp(logits).sum())
            p = distribution(log_p[None], temperature, top_k, top_p)
            begun.append(int(draw(p, np.array([child.random()]))[0]))
        assert drawn.ids[row][drawn.ids[row] != PAD].tolist() == begun[1:]


def test_equal_rows_draw_apart():
    model = small_model(4)
    ids = sample(model, np.repeat(sources(4, rows=1), 20, axis=0), 0, temperature=2.0, max_length=6).ids
    assert len({tuple(row) for row in ids.tolist()}) > 10


def test_a_seed_repeats_and_a_generator_goes_on():
    model, source, rng = small_model(4), sources(4), np.random.default_rng(8)
    first, second = (sample(model, source, rng, temperature=2.0, max_length=9).ids for _ in range(2))
    assert np.array_equal(sample(model, source, 8, temperature=2.0, max_length=9).ids, first)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("choice", [{}, dict(temperature=0.5), dict(temperature=2.0, top_k=5), dict(top_p=0.8)])
def test_first_words_come_as_often_as_the_distribution_says(choice):
    """20000 draws of one word: each frequency within 5 standard errors, and what is cut never comes."""
    model, source, n = small_model(6), sources(6, rows=1), 20000
    logits = model(source, np.array([[BOS]])).data[0, -1].copy()
    logits[[PAD, BOS]] = -np.inf
    p = distribution((logits - np.log(np.exp(logits).sum()))[None], **choice)[0]
    ids = sample(model, np.repeat(source, n, axis=0), 12, max_length=1, **choice).ids[:, 0]
    frequencies = np.bincount(ids, minlength=13) / n
    assert (np.abs(frequencies - p) <= 5 * np.sqrt(p * (1 - p) / n)).all()
    assert np.count_nonzero(p) > 2


def test_without_truncation_it_is_the_softmax_at_the_temperature():
    np.testing.assert_allclose(distribution(LOG_P), PROBABILITIES)
    np.testing.assert_allclose(distribution(LOG_P, 0.5), PROBABILITIES**2 / (PROBABILITIES**2).sum())
    assert np.array_equal(distribution(LOG_P), tempered(LOG_P, 1.0))


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        (dict(top_k=2), [1, 3]),
        (dict(top_k=4), [0, 1, 3, 4]),
        (dict(top_p=0.3), [1]),
        (dict(top_p=0.45), [1, 3]),
        (dict(top_p=0.7), [1, 3, 4]),
        (dict(top_p=0.97), [0, 1, 2, 3, 4]),
        (dict(top_p=1.0), [0, 1, 2, 3, 4]),
        (dict(top_k=2, top_p=0.6), [1]),  # 0.4 / 0.65 is enough once only two are left
        (dict(top_k=3, top_p=0.6), [1, 3]),
        (dict(temperature=1e-3, top_p=0.99), [1]),  # the nucleus is that of the tempered distribution
    ],
)
def test_what_is_kept_and_that_it_keeps_its_proportions(choice, kept):
    p = distribution(LOG_P, **choice)[0]
    assert np.flatnonzero(p).tolist() == kept
    expected = tempered(LOG_P, choice.get("temperature", 1.0))[0, kept]
    np.testing.assert_allclose(p[kept], expected / expected.sum())


@pytest.mark.parametrize("choice", [dict(top_k=2), dict(top_p=0.5), dict(top_p=0.3)])
def test_of_equally_likely_words_the_smaller_ids_are_kept(choice):
    p = distribution(np.log([[0.25, 0.25, 0.25, 0.25]]), **choice)
    assert p.tolist() == [[0.5, 0.5, 0.0, 0.0]]


@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0.01, 1))
def test_the_nucleus_is_the_smallest_set_of_likeliest_words_that_reaches_p(seed, words, top_p):
    log_p = np.random.default_rng(seed).standard_normal((1, words)) * 2
    full, p = tempered(log_p, 1.0)[0], distribution(log_p, top_p=top_p)[0]
    kept = p > 0
    assert full[kept].min() >= full[~kept].max(initial=0.0)
    assert full[kept].sum() >= top_p - 1e-12
    assert full[kept].sum() - full[kept].min() < top_p + 1e-12
    assert p.sum() == pytest.approx(1.0)


@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from([0.0, 0.5, 1 - 2**-53]) | st.floats(0, 0.999))
def test_drawing_inverts_the_cumulative_distribution(seed, words, uniform):
    rng = np.random.default_rng(seed)
    p = rng.random(words) * (rng.random(words) < 0.6)
    p[rng.integers(words)] += 1.0
    p /= p.sum()
    drawn = draw(p[None], np.array([uniform]))[0]
    assert p[drawn] > 0
    assert p[:drawn].sum() <= uniform + 1e-12
    assert uniform < p[: drawn + 1].sum() + 1e-12


def test_no_row_gives_no_samples():
    drawn = sample(small_model(), np.zeros((0, 5), dtype=np.int64), 0)
    assert drawn.ids.shape[0] == drawn.log_probabilities.shape[0] == 0


def test_it_records_nothing_and_changes_no_source():
    model, source = small_model(), sources(1)
    with patch.object(model, "decode", wraps=model.decode) as decode:
        sample(model, source, 0, max_length=2)
    assert not decode.call_args.args[1].requires_grad
    assert np.array_equal(source, sources(1))
    assert (mg.Tensor([1.0], requires_grad=True) * 2.0).requires_grad


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(temperature=0.0), "temperature must be positive and finite, not 0.0; top_k=1 is greedy decoding"),
        (dict(temperature=-1.0), "temperature must be positive and finite, not -1.0"),
        (dict(temperature=math.nan), "temperature must be positive and finite, not nan"),
        (dict(temperature=math.inf), "temperature must be positive and finite, not inf"),
        (dict(top_k=0), "top_k must be at least 1, not 0"),
        (dict(top_p=0.0), r"top_p must be above 0 and at most 1, not 0\.0"),
        (dict(top_p=1.1), r"top_p must be above 0 and at most 1, not 1\.1"),
        (dict(top_p=math.nan), "top_p must be above 0 and at most 1, not nan"),
        (dict(max_length=0), "max_length must be at least 1, not 0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample(small_model(), sources(1), 0, **arguments)


def test_the_ends_of_the_unit_interval_draw_the_first_and_the_last_possible_word():
    below_one = np.array([1 - 2**-53])
    assert draw(np.array([[0.0, 0.5, 0.5]]), np.array([0.0])) == [1]
    assert draw(np.array([[0.1] * 10]), below_one) == [9]  # they sum to less than 1
