import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.tokenisers import count_tokens, coverage, limited_vocabulary
from transformer.vocabulary import SPECIALS

tokens = st.lists(st.lists(st.sampled_from([*"abcdef", "<eos>"])))


@given(tokens, st.none() | st.integers(5, 12), st.integers(1, 3))
def test_a_vocabulary_holds_the_most_frequent_tokens_within_its_size(texts, size, least):
    counts = count_tokens(texts)
    vocabulary = limited_vocabulary(counts, size, least)
    assert size is None or len(vocabulary) <= size
    inside = [token for token in vocabulary.tokens if token not in SPECIALS]
    assert inside == sorted(inside, key=lambda token: (-counts[token], token))
    left = [token for token in counts if token not in vocabulary and token not in SPECIALS and counts[token] >= least]
    assert not left or (size == len(vocabulary) and max(counts[token] for token in left) <= counts[inside[-1]])
    assert all(counts[token] >= least for token in inside)


@given(tokens, st.integers(5, 12))
def test_coverage_is_what_encoding_with_it_gives(texts, size):
    counts = count_tokens(texts)
    vocabulary = limited_vocabulary(counts, size)
    found = coverage(counts, vocabulary)
    numbers = [number for text in texts for number in vocabulary.encode(text)]
    assert (found.total, found.outside) == (len(numbers), numbers.count(3))
    assert sum(found.missing.values()) == found.outside
    assert found.share_outside == (found.outside / found.total if found.total else 0)


def test_a_size_without_place_for_a_token_is_refused():
    with pytest.raises(ValueError, match="at least 5, not 4"):
        limited_vocabulary({"a": 1}, 4)
