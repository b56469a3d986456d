"""Byte-pair encoding against its definition, which counts everything anew for each merge."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.tokenisers import BytePairTokeniser, learn_byte_pairs

PAPER = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3  # the example of Sennrich et al.
corpora = st.lists(st.text("ab c", max_size=12) | st.text(max_size=8), max_size=8)
merge_counts = st.integers(0, 12)


def by_definition(texts, merges, least=2):
    learnt = []
    while len(learnt) < merges:
        counts = Counter()
        for text in texts:
            for word in text.split(" ") if text else []:
                counts.update(pairwise(applied([*word, " "], learnt)))
        if not counts or max(counts.values()) < least:
            break
        learnt.append(min(counts, key=lambda pair: (-counts[pair], pair)))
    return tuple(learnt)


def applied(symbols, merges):
    """One merge after another, from the left; and again, since an older one may apply to what a newer one made."""
    before = None
    while before != symbols:
        before = symbols
        for first, second in merges:
            out, rest = [], list(symbols)
            while rest:
                if rest[:2] == [first, second]:
                    out.append(first + second)
                    del rest[:2]
                else:
                    out.append(rest.pop(0))
            symbols = out
            if symbols != before:
                break
    return symbols


@given(corpora, merge_counts, st.text("ab c") | st.text())
def test_decoding_gives_back_every_text_exactly(corpus, merges, text):
    tokeniser = learn_byte_pairs(corpus, merges)
    for each in (text, *corpus):
        tokens = tokeniser.encode(each)
        assert all(tokens)
        assert tokeniser.decode(tokens) == each
        assert tokeniser.encode(each) == tokens  # from what is remembered


@given(corpora, merge_counts, st.integers(1, 3))
def test_the_merges_are_those_of_the_definition(corpus, merges, least):
    assert learn_byte_pairs(corpus, merges, least).merges == by_definition(corpus, merges, least)


@pytest.mark.parametrize("seed", range(12))
def test_the_merges_are_those_of_the_definition_where_there_are_many(seed):
    draw = random.Random(seed)
    corpus = ["".join(draw.choices("aab", k=draw.randint(1, 9))) for _ in range(60)]
    assert learn_byte_pairs(corpus, 40).merges == by_definition(corpus, 40)


@given(corpora, merge_counts, st.text("ab", max_size=12))
def test_encoding_is_the_merges_in_their_order(corpus, merges, word):
    tokeniser = learn_byte_pairs(corpus, merges)
    assert tokeniser.encode(word) == (applied([*word, " "], tokeniser.merges) if word else [])


@given(corpora, st.randoms(use_true_random=False))
def test_the_order_of_the_texts_does_not_matter(corpus, order):
    shuffled = order.sample(corpus, len(corpus))
    assert learn_byte_pairs(shuffled, 9) == learn_byte_pairs(corpus, 9)


@given(corpora, st.integers(0, 5), st.integers(0, 5))
def test_more_merges_begin_with_the_fewer(corpus, few, more):
    assert learn_byte_pairs(corpus, few + more).merges[:few] == learn_byte_pairs(corpus, few).merges


def test_the_papers_example():
    assert learn_byte_pairs(PAPER, 5).merges == (("e", "s"), ("es", "t"), ("est", " "), ("l", "o"), ("lo", "w"))
    assert learn_byte_pairs(PAPER, 5).encode("lowest new") == ["low", "est ", "n", "e", "w", " "]


def test_ties_are_broken_by_code_points():
    assert learn_byte_pairs(["zy ab", "zy ab"], 1).merges == (("a", "b"),)
    assert learn_byte_pairs(["aab", "aab"], 1).merges == (("a", "a"),)


def test_an_overlapping_pair_is_merged_from_the_left():
    assert BytePairTokeniser((("a", "a"),)).encode("aaa") == ["aa", "a", " "]


def test_an_older_merge_applies_to_what_a_later_one_made():
    merges = (("bc", "d"), ("b", "c"))
    assert BytePairTokeniser(merges).encode("bcd") == ["bcd", " "]


def test_what_is_remembered_has_an_end(monkeypatch):
    monkeypatch.setattr("transformer.data.tokenisers.byte_pairs.REMEMBERED", 3)
    tokeniser = BytePairTokeniser(())
    for number in range(20):
        assert tokeniser.encode(f"{number}x") == [*f"{number}x", " "]
        assert len(tokeniser._known) <= 3


@pytest.mark.parametrize("merges", [(("a",),), (("a", ""),), (("a", 1),), ("ab",), (("a", "b"), ("a", "b"))])
def test_merges_that_are_none_are_refused(merges):
    with pytest.raises(ValueError, match="merge"):
        BytePairTokeniser(merges)


@pytest.mark.parametrize(("merges", "least"), [(-1, 2), (3, 0)])
def test_numbers_that_mean_nothing_are_refused(merges, least):
    with pytest.raises(ValueError, match="has to be at least"):
        learn_byte_pairs([], merges, least)
