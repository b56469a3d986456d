"""Beam search against every sequence there is, against greedy decoding, and against itself in other company."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.models import small_model
from transformer.decoding.beam import beam_search, penalty
from transformer.vocabulary import BOS, EOS, PAD

WORDS = (3, 4, 5)  # with eos, 4 usable symbols of 6
LONGEST = 4
ENOUGH = 36  # what 9 beginnings of 2 words can become in one step: nothing is ever cut before the last


def tiny_model(seed, end=0.0):
    """Two words, unk and eos; logits sharp enough to differ, and `end` added to that of eos."""
    model = small_model(seed, target_vocab=6, layers=1)
    model.output.bias.data = model.output.bias.data * 4 + np.where(np.arange(6) == EOS, end, 0.0)
    return model


def likely_ending(model, end):
    model.output.bias.data = model.output.bias.data + np.where(np.arange(13) == EOS, end, 0.0)
    return model


def log_probabilities(model, source, texts):
    """log P(text | source) of each: the sum over its words, from the whole model's logits of all texts at once."""
    longest = max(map(len, texts))
    words = np.array([[*text, *[PAD] * (longest - len(text))] for text in texts])
    begun = np.concatenate([np.full((len(texts), 1), BOS), words[:, :-1]], axis=1)
    logits = model(np.repeat(source[None], len(texts), axis=0), begun).data.copy()
    logits[:, :, [PAD, BOS]] = -np.inf
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return [sum(log_p[i, place, word] for place, word in enumerate(text)) for i, text in enumerate(texts)]


def every_sequence():
    """All that end with eos within 4 words, and all of 4 words without: 121."""
    for length in range(1, LONGEST + 1):
        for begun in itertools.product(WORDS, repeat=length - 1):
            yield (*begun, EOS)
    yield from itertools.product(WORDS, repeat=LONGEST)


def exhaustive(model, source, exponent):
    """[(score, text)], best first."""
    texts = list(every_sequence())
    log_p = log_probabilities(model, source, texts)
    return sorted(((p / ((5 + len(y)) / 6) ** exponent, y) for p, y in zip(log_p, texts, strict=True)), reverse=True)


def sequences(ids):
    return [tuple(row[row != PAD].tolist()) for row in ids]


@given(
    st.integers(0, 1000),
    st.sampled_from([-3.0, 0.0, 3.0]),
    st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.5]),
    st.sampled_from([ENOUGH, 50]),
)
def test_with_enough_beams_it_is_exhaustive_search(seed, end, exponent, beams):
    model = tiny_model(seed, end)
    source = np.random.default_rng(seed).integers(3, 11, (2, 5))
    found = beam_search(model, source, beams, LONGEST, exponent)
    for row in range(2):
        expected = exhaustive(model, source[row], exponent)[:beams]
        assert sequences(found.ids[row]) == [y for _, y in expected]
        np.testing.assert_allclose(found.scores[row], [score for score, _ in expected], rtol=0, atol=1e-12)


def test_with_more_beams_than_sequences_it_finds_each_once_and_the_rest_is_empty():
    source = np.array([[3, 4, 5]])
    found = beam_search(tiny_model(7), source, 130, LONGEST, 0.6)
    assert found.ids.shape == (1, 130, LONGEST)
    assert sorted(sequences(found.ids[0, :121])) == sorted(every_sequence())
    assert np.isfinite(found.scores[0, :121]).all()
    assert (found.ids[0, 121:] == PAD).all()
    assert np.isneginf(found.scores[0, 121:]).all()


@given(st.integers(0, 1000), st.sampled_from([-2.0, 0.0, 2.0]), st.integers(1, 9))
def test_one_beam_without_penalty_is_greedy(seed, end, max_length):
    model = likely_ending(small_model(seed), end)
    source = np.random.default_rng(seed).integers(3, 11, (4, 5))
    found = beam_search(model, source, 1, max_length, 0.0)
    assert np.array_equal(found.ids[:, 0], model.generate(source, max_length))


def test_one_beam_is_greedy_where_words_are_equally_likely():
    model = tiny_model(1)
    model.output.weight.data = np.zeros_like(model.output.weight.data)
    for bias in ([0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [9, 9, 0, 0, 0, 0]):
        model.output.bias.data = np.array(bias, dtype=np.float64)
        source = np.array([[3, 4, 5]])
        assert np.array_equal(beam_search(model, source, 1, 5, 0.0).ids[:, 0], model.generate(source, 5))


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 9), st.floats(0, 2), st.sampled_from([-2.0, 0.0, 2.0]))
def test_what_holds_of_every_result(seed, beams, max_length, exponent, end):
    model = likely_ending(small_model(seed), end)
    source = np.random.default_rng(seed).integers(3, 11, (3, 5))
    ids, scores = beam_search(model, source, beams, max_length, exponent)
    assert ids.dtype == np.int64
    assert scores.dtype == np.float64
    assert ids.shape[:2] == scores.shape == (3, beams)
    assert 1 <= ids.shape[2] <= max_length
    assert not (ids == BOS).any()
    assert (ids[:, :, -1] != PAD).any()
    assert (scores[:, :-1] >= scores[:, 1:]).all()
    for row in range(3):
        texts = sequences(ids[row][np.isfinite(scores[row])])
        assert texts
        assert len(set(texts)) == len(texts)
        assert all(EOS not in y[:-1] and (y[-1] == EOS or len(y) == max_length) for y in texts)
        padded = np.array([[*y, *[PAD] * (ids.shape[2] - len(y))] for y in texts])
        assert np.array_equal(ids[row, : len(texts)], padded)
        log_p = log_probabilities(model, source[row], texts)
        expected = [p / penalty(len(y), exponent) for p, y in zip(log_p, texts, strict=True)]
        np.testing.assert_allclose(scores[row, : len(texts)], expected, rtol=0, atol=1e-12)


@given(st.integers(0, 1000), st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.0, 2.0]))
def test_a_rows_result_does_not_depend_on_padding_or_on_the_other_rows(seed, left, right, others, end):
    model, rng = likely_ending(small_model(seed), end), np.random.default_rng(seed)
    row = rng.integers(3, 11, 5)
    alone = beam_search(model, row[None], 3, 8)
    batch = rng.integers(3, 11, (others + 1, left + 5 + right))
    place = int(rng.integers(others + 1))
    batch[place] = np.pad(row, (left, right), constant_values=PAD)
    together = beam_search(model, batch, 3, 8)
    length = max(alone.ids.shape[2], together.ids.shape[2])
    widened = [np.pad(ids, ((0, 0), (0, length - ids.shape[1]))) for ids in (alone.ids[0], together.ids[place])]
    assert np.array_equal(*widened)
    np.testing.assert_allclose(together.scores[place], alone.scores[0], rtol=0, atol=1e-12)


def without_stopping(model, source, beams, max_length, exponent):
    """One row of beam search as the docstring tells it, in plain lists, that always goes on to `max_length`."""
    opened, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        continuations = []
        for log_p, begun in opened:
            logits = model(source[None], np.array([[BOS, *begun]])).data[0, -1].copy()
            logits[[PAD, BOS]] = -np.inf
            following = logits - np.log(np.exp(logits).sum())
            continuations += [(log_p + following[word], (*begun, word)) for word in range(2, len(logits))]
        continuations.sort(key=lambda pair: -pair[0])
        ended = [pair for pair in continuations[:beams] if pair[1][-1] == EOS or length == max_length]
        finished += [(log_p / penalty(length, exponent), y) for log_p, y in ended]
        opened = [pair for pair in continuations if pair[1][-1] != EOS][:beams]
    return sorted(finished, key=lambda pair: -pair[0])[:beams]


@given(st.integers(0, 1000), st.integers(1, 4), st.floats(0, 2), st.sampled_from([-1.0, 1.0, 3.0]))
def test_it_is_the_search_described_and_stopping_loses_nothing(seed, beams, exponent, end):
    model, source = likely_ending(small_model(seed), end), np.random.default_rng(seed).integers(3, 11, (2, 5))
    found = beam_search(model, source, beams, 7, exponent)
    for row in range(2):
        expected = without_stopping(model, source[row], beams, 7, exponent)
        assert sequences(found.ids[row][np.isfinite(found.scores[row])]) == [y for _, y in expected]
        np.testing.assert_allclose(found.scores[row, : len(expected)], [s for s, _ in expected], rtol=0, atol=1e-12)


def test_it_stops_when_no_open_hypothesis_can_win():
    """Eos at 0.9: two steps finish two, and 0.1 * 0.1 of open mass cannot beat them at any length."""
    model = tiny_model(1)
    model.output.weight.data = np.zeros_like(model.output.weight.data)
    model.output.bias.data = np.log([1.0, 1.0, 0.97, 0.01, 0.01, 0.01])
    source = np.array([[3, 4, 5]])
    with patch.object(model, "decode", wraps=model.decode) as decode:
        beam_search(model, source, 2, 50, 0.6)
    assert decode.call_count < 5
    with patch.object(model, "decode", wraps=model.decode) as decode:
        beam_search(model, source, 1, 50, 0.0)
    assert decode.call_count == 1


def test_it_goes_on_while_a_longer_one_may_still_win():
    """P(eos) = 0.4, P(another) = 0.6 for ever: eos at once scores log 0.4; a penalty of 3 favours the longest."""
    model = tiny_model(1)
    model.output.weight.data = np.zeros_like(model.output.weight.data)
    model.output.bias.data = np.log([1e-9, 1e-9, 0.4, 1e-9, 0.6, 1e-9])
    found = beam_search(model, np.array([[3]]), 2, 12, 3.0)
    assert found.ids[0, 0].tolist() == [4] * 12
    assert found.scores[0, 0] == pytest.approx(12 * np.log(0.6) / (17 / 6) ** 3, rel=1e-6)


def test_it_goes_on_though_what_is_open_is_worse_as_yet():
    """P(eos) = 0.55, P(another) = 0.45: no open one is better than eos at once until the penalty has grown."""
    model = tiny_model(1)
    model.output.weight.data = np.zeros_like(model.output.weight.data)
    model.output.bias.data = np.log([1e-9, 1e-9, 0.55, 1e-9, 0.45, 1e-9])
    found = beam_search(model, np.array([[3]]), 1, 12, 3.0)
    assert found.ids[0, 0].tolist() == [4] * 11 + [EOS]
    assert found.scores[0, 0] == pytest.approx((11 * np.log(0.45) + np.log(0.55)) / (17 / 6) ** 3, rel=1e-6)


@given(st.integers(1, 80), st.floats(0, 3))
def test_the_penalty_is_wus_and_grows(length, exponent):
    assert penalty(length, exponent) == pytest.approx((5 + length) ** exponent / 6**exponent)
    assert penalty(length, exponent) <= penalty(length + 1, exponent)


def test_the_penalty_of_one_word_is_one():
    assert penalty(1, 0.6) == 1.0


def test_no_row_gives_no_hypotheses():
    found = beam_search(small_model(), np.zeros((0, 5), dtype=np.int64), 3)
    assert found.ids.shape[:2] == found.scores.shape == (0, 3)


def test_it_records_nothing_and_changes_no_source():
    model, source = small_model(), np.array([[3, 4, 5, PAD]])
    before = source.copy()
    with patch.object(model, "decode", wraps=model.decode) as decode:
        beam_search(model, source, 2, 4)
    assert not decode.call_args.args[1].requires_grad
    assert np.array_equal(source, before)
    assert (mg.Tensor([1.0], requires_grad=True) * 2.0).requires_grad


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(beams=0), "beams must be at least 1, not 0"),
        (dict(beams=2, max_length=0), "max_length must be at least 1, not 0"),
        (dict(beams=2, length_penalty=-0.1), "length_penalty must be finite and not negative, not -0.1"),
        (dict(beams=2, length_penalty=np.inf), "length_penalty must be finite and not negative, not inf"),
        (dict(beams=2, length_penalty=1e4), "length_penalty=10000.0 is too great: a text of 64 words would score 0"),
        (dict(beams=2, length_penalty=np.nan), "length_penalty must be finite and not negative, not nan"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        beam_search(small_model(), np.array([[3, 4]]), **arguments)


def test_ids_that_are_no_ids_are_refused_as_encode_does():
    with pytest.raises(TypeError, match="token ids are integers"):
        beam_search(small_model(), np.array([[3.0, 4.0]]), 2)
