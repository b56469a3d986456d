import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from transformer.positions import PositionalEncoding, places_of, sinusoids


def test_the_table_is_the_papers_formula():
    table = sinusoids(50, 6)
    for pos, i in [(0, 0), (3, 1), (49, 2)]:
        angle = pos / 10000 ** (2 * i / 6)
        assert table[pos, 2 * i] == pytest.approx(np.sin(angle))
        assert table[pos, 2 * i + 1] == pytest.approx(np.cos(angle))


def test_an_odd_width_ends_in_a_sine():
    table = sinusoids(9, 5)
    assert table.shape == (9, 5)
    np.testing.assert_allclose(table[:, 4], np.sin(np.arange(9) / 10000 ** (4 / 5)))


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([2, 4, 8, 64]))
def test_a_shift_is_a_rotation_that_does_not_depend_on_where_it_starts(start, shift, width):
    table = sinusoids(start + shift + 1, width)
    angles = shift / 10000 ** (np.arange(0, width, 2) / width)
    sine, cosine = table[start, 0::2], table[start, 1::2]
    turned_sine = sine * np.cos(angles) + cosine * np.sin(angles)
    turned_cosine = cosine * np.cos(angles) - sine * np.sin(angles)
    np.testing.assert_allclose(table[start + shift, 0::2], turned_sine, atol=1e-12)
    np.testing.assert_allclose(table[start + shift, 1::2], turned_cosine, atol=1e-12)


def test_words_are_counted_and_padding_is_not():
    words = np.array([[False, True, True, False, True], [True, True, False, False, False]])
    assert places_of(words)[0][words[0]].tolist() == [0, 1, 2]
    assert places_of(words)[1][words[1]].tolist() == [0, 1]


def test_the_table_grows_for_a_longer_sequence():
    encoding = PositionalEncoding(4, 0.0, length=3)
    out = encoding(mg.Tensor(np.zeros((1, 50, 4))), np.arange(50))
    np.testing.assert_array_equal(out.data[0], sinusoids(50, 4))


def test_the_embeddings_dtype_is_kept():
    encoding = PositionalEncoding(4, 0.0, length=3)
    assert encoding(mg.Tensor(np.zeros((1, 2, 4), np.float32)), np.arange(2)).dtype == np.float32
