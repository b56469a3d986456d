"""What stands below a stack in place of sinusoids: learnt vectors, sinusoids spread at random, nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.models import small_model
from transformer.positions import LearnedPositions, NothingAdded, RandomisedPositions, added_positions, sinusoids
from transformer.positions.places import places_from_end, places_of
from transformer.vocabulary import BOS

TOO_LONG = r"source_positions: a sequence of 6 words is longer than the 5 .* \(max_length\)"


def learned(length=6, width=4):
    with mg.default_dtype("float64"):
        return LearnedPositions(width, 0.0, length, np.random.default_rng(3))


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 4))
def test_places_count_words_from_either_end_wherever_padding_stands(row, padding):
    words = np.insert(np.array([row, [True] * len(row)]), [padding % (len(row) + 1)] * padding, False, axis=1)
    from_start, from_end = (np.broadcast_to(count(words), words.shape) for count in (places_of, places_from_end))
    for these, start, end in zip(words, from_start, from_end, strict=True):
        assert start[these].tolist() == list(range(these.sum()))
        assert end[these].tolist() == list(range(these.sum()))[::-1]


def test_learned_positions_add_the_vector_of_each_place():
    positions, rng = learned(), np.random.default_rng(4)
    x, places = rng.standard_normal((2, 3, 4)), np.array([[0, 1, 2], [0, 0, 1]])
    np.testing.assert_array_equal(positions(mg.Tensor(x), places).data, x + positions.weight.data[places])
    np.testing.assert_array_equal(positions(mg.Tensor(x), np.arange(3)).data, x + positions.weight.data[:3])


def test_a_learned_vector_has_the_cotangents_of_its_places_and_an_unused_one_has_none():
    positions, g = learned(), np.random.default_rng(5).standard_normal((2, 3, 4))
    out = positions(mg.Tensor(np.zeros((2, 3, 4))), np.array([[0, 1, 2], [0, 0, 1]]))
    (gradient,) = mg.gradients(out, [positions.weight], g)
    np.testing.assert_allclose(gradient.data[0], g[0, 0] + g[1, 0] + g[1, 1], rtol=1e-15)
    np.testing.assert_allclose(gradient.data[1], g[0, 1] + g[1, 2], rtol=1e-15)
    np.testing.assert_array_equal(gradient.data[2], g[0, 2])
    assert not gradient.data[3:].any()


def test_learned_positions_start_like_embeddings_that_are_not_yet_scaled():
    weight = learned(length=4000, width=16).weight.data
    assert weight.std() == pytest.approx(1 / 4, rel=0.02)
    assert abs(weight.mean()) < 0.01


@pytest.mark.parametrize("positions", ["learned", "randomised"])
def test_a_sequence_longer_than_max_length_is_refused_with_both_numbers(positions):
    model = small_model(positions=positions, max_length=5)
    five = np.array([[4, 5, 6, 7, 0, 8], [4, 5, 6, 7, 8, 0]])  # padding is no word
    assert np.isfinite(model(five, [[BOS]] * 2).data).all()
    with pytest.raises(ValueError, match=TOO_LONG):
        model([[4, 5, 6, 7, 8, 9]], [[BOS]])
    with pytest.raises(ValueError, match="target_positions: a sequence of 6 words is longer than the 5 "):
        model([[4]], [[BOS, 5, 6, 7, 8, 9]])


@pytest.mark.parametrize("positions", ["learned", "randomised"])
def test_word_by_word_the_longest_is_the_same(positions):
    model = small_model(positions=positions, max_length=2)
    memory, cache = model.encode([[4]]), model.new_cache()
    for _ in range(2):
        model.decode([[5]], memory, [[4]], cache)
    with pytest.raises(ValueError, match="a sequence of 3 words is longer than the 2 "):
        model.decode([[5]], memory, [[4]], cache)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi", "none"])
def test_other_choices_go_on_past_max_length(positions):
    model = small_model(d_model=24, positions=positions, max_length=2)
    assert np.isfinite(model([[4, 5, 6, 7]], [[BOS, 5, 6]]).data).all()


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_in_training_places_have_distinct_positions_of_the_range_in_their_order(count, seed):
    width, length = 6, 9
    positions, table = RandomisedPositions(width, 0.0, length), sinusoids(4 * length, width)
    x = mg.Tensor(np.zeros((2, count, width)))
    out = positions(x, np.arange(count), np.random.default_rng(seed)).data
    np.testing.assert_array_equal(out[0], out[1])  # one subset a batch
    drawn = [int(np.flatnonzero((table == row).all(axis=1))[0]) for row in out[0]]
    assert drawn == sorted(set(drawn))
    assert len(drawn) == count


def test_a_batch_that_draws_again_draws_otherwise_and_reaches_the_whole_range():
    positions, rng = RandomisedPositions(2, 0.0, 3), np.random.default_rng(0)
    x, table = mg.Tensor(np.zeros((1, 3, 2))), sinusoids(12, 2)
    seen = {tuple(int(np.flatnonzero((table == row).all(1))[0]) for row in positions(x, np.arange(3), rng).data[0])
            for _ in range(2000)}  # fmt: skip
    assert len(seen) == 220  # 12 choose 3: every subset


def test_padding_and_words_share_the_subset_that_is_drawn():
    positions, x = RandomisedPositions(4, 0.0, 5), mg.Tensor(np.zeros((2, 4, 4)))
    out = positions(x, np.array([[0, 0, 1, 2], [0, 1, 2, 2]]), np.random.default_rng(7)).data
    np.testing.assert_array_equal(out[0, 1:], out[1, :3])


def test_without_a_generator_positions_are_every_fourth():
    positions, x = RandomisedPositions(6, 0.0, 9), np.random.default_rng(1).standard_normal((2, 5, 6))
    expected = x + sinusoids(36, 6)[::4][:5]
    np.testing.assert_array_equal(positions(mg.Tensor(x), np.arange(5)).data, expected)


def test_nothing_added_is_what_came():
    x = np.random.default_rng(1).standard_normal((2, 5, 6))
    np.testing.assert_array_equal(NothingAdded(0.5)(mg.Tensor(x), np.arange(5)).data, x)


@pytest.mark.parametrize("choice", ["sinusoidal", "learned", "rotary", "none"])
def test_dropout_falls_on_the_sum(choice):
    config = small_model(d_model=24, positions=choice, dropout=0.5).config
    positions, x = added_positions(config, np.random.default_rng(0)), mg.Tensor(np.ones((1, 400, 24)))
    out, plain = (positions(x, np.arange(400), rng).data for rng in (np.random.default_rng(2), None))
    kept = out != 0
    assert 0.45 < kept.mean() < 0.55
    np.testing.assert_allclose(out[kept], 2 * plain[kept], rtol=1e-6)


def test_dropout_falls_on_the_sum_of_randomised_positions_too():
    positions, x = RandomisedPositions(24, 0.5, 400), mg.Tensor(np.zeros((1, 400, 24)))
    out = positions(x, np.arange(400), np.random.default_rng(2)).data
    assert 0.45 < (out == 0).mean() < 0.55
    assert 1.5 < np.abs(out).max() <= 2  # sines, doubled
