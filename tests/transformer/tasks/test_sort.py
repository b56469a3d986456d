from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from transformer.tasks.sort import LETTERS, SORT, is_unseen


def test_targets_hold_the_letters_of_the_source_each_no_earlier_than_the_one_before():
    rng = np.random.default_rng(0)
    pairs = [SORT.sample(rng) for _ in range(1000)] + SORT.test_set(500)["lengths 4-16"]
    for source, target in pairs:
        assert Counter(source) == Counter(target)
        assert all(ord(letter) <= ord(following) for letter, following in pairwise(target))


def test_training_lengths_are_uniform_over_4_to_16_and_letters_over_all_10():
    rng = np.random.default_rng(1)
    sources = [SORT.sample(rng).source for _ in range(13_000)]
    lengths = Counter(map(len, sources))
    assert set(lengths) == set(range(4, 17))
    assert all(840 < times < 1160 for times in lengths.values())  # 1000 expected, 5 standard deviations
    letters = Counter(letter for source in sources for letter in source)
    assert set(letters) == set(LETTERS)
    assert max(letters.values()) < 1.1 * min(letters.values())


def test_no_reordering_of_a_test_string_is_trained_on():
    rng = np.random.default_rng(2)
    answers = {pair.target for pair in SORT.test_set(2000)["lengths 4-16"]}
    assert answers.isdisjoint(SORT.sample(rng).target for _ in range(30_000))
    for answer in list(answers)[:50]:
        assert is_unseen(answer)
        assert is_unseen(rng.permutation(answer))


def test_the_test_set_holds_distinct_strings_of_every_length():
    scored = SORT.test_set(2000)["lengths 4-16"]
    assert len({pair.source for pair in scored}) == 2000
    lengths = Counter(len(pair.source) for pair in scored)
    assert set(lengths) == set(range(4, 17))
    assert min(lengths.values()) > 90  # 154 expected


def test_about_one_answer_in_ten_is_held_out():
    rng = np.random.default_rng(4)
    answers = {tuple(sorted(rng.choice(list(LETTERS), size=10))) for _ in range(10_000)}
    assert 0.085 < sum(map(is_unseen, answers)) / len(answers) < 0.115


@pytest.mark.parametrize("text", ["c a b", "cab", " C  aB\n"])
def test_a_user_may_write_letters_with_or_without_blanks(text):
    assert SORT.tokenize_source(text) == ["c", "a", "b"]
    assert SORT.render_target(["a", "b", "c"]) == "a b c"
    assert SORT.source_vocabulary.unknown(SORT.tokenize_source("a, z")) == [",", "z"]
