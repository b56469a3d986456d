"""Number words in both languages, against num2words and cn2an, which were written by others."""

from collections import Counter

import cn2an
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from transformer.tasks.number_words import NUMBERS, chinese, english, is_unseen, read, show

digits = st.lists(st.one_of(st.just("0"), st.sampled_from("0123456789")), min_size=1, max_size=9)  # rich in zeros
NAMES = {word: number for number in range(100) for word in [num2words(number)] if "-" not in word}
numbers = digits.map(lambda drawn: int("".join(drawn)))


def value(numeral):
    return cn2an.cn2an(numeral, "strict")


def written_by_cn2an(number):
    """Its numeral; but cn2an forgets the 零 of an empty 万 before a full group, and won't read that."""
    forgotten = number > 10**8 and number % 10**8 < 10**4 and number % 10**4 >= 1000
    return cn2an.an2cn(number).replace("亿", "亿零" if forgotten else "亿")


def number_of(words):
    """What English words add up to: an oracle that shares nothing with the writer."""
    whole = below = 0
    for word in words:
        if word == "hundred":
            below *= 100
        elif word in ("thousand", "million"):
            whole += below * {"thousand": 1000, "million": 1_000_000}[word]
            below = 0
        else:
            below += NAMES[word]
    return whole + below


@given(numbers)
def test_english_is_that_of_num2words_without_its_and_and_commas(number):
    assert show(english(number)).split() == num2words(number).replace(",", "").replace(" and ", " ").split()
    assert read(num2words(number)) == english(number)
    assert number_of(english(number)) == number


@given(numbers)
def test_chinese_is_that_of_cn2an_and_reads_back(number):
    assert chinese(number) == written_by_cn2an(number)
    assert value(chinese(number)) == number


def test_all_numbers_below_two_thousand_are_written_as_the_oracles_write_them():
    for number in [*range(2_000), *range(2_000, 1_000_000, 997)]:
        assert read(num2words(number)) == english(number)
        assert chinese(number) == written_by_cn2an(number)


@pytest.mark.parametrize(
    ("number", "words", "numeral"),
    [
        (0, "zero", "零"),
        (12, "twelve", "十二"),
        (110, "one hundred ten", "一百一十"),
        (1_001, "one thousand one", "一千零一"),
        (100_010, "one hundred thousand ten", "十万零一十"),
        (30_000_400, "thirty million four hundred", "三千万零四百"),
        (30_004_000, "thirty million four thousand", "三千万四千"),
        (100_006_152, "one hundred million six thousand one hundred fifty-two", "一亿零六千一百五十二"),
        (205_000_017, "two hundred five million seventeen", "二亿零五百万零一十七"),
        (999_999_999, show(english(999_999_999)), "九亿九千九百九十九万九千九百九十九"),
    ],
)
def test_what_is_easily_got_wrong(number, words, numeral):
    assert show(english(number)) == words
    assert chinese(number) == numeral


def test_the_longest_number_is_as_long_as_the_task_says():
    assert len(english(999_999_999)) == len(english(777_777_777)) == NUMBERS.max_source_length
    assert len(chinese(999_999_999)) == NUMBERS.max_target_length


def test_pairs_mean_the_same_number_on_both_sides_and_none_held_out_is_trained_on():
    rng = np.random.default_rng(1)
    for source, target in [NUMBERS.sample(rng) for _ in range(3000)]:
        assert number_of(source) == value("".join(target))
        assert not is_unseen(number_of(source))
    for split in NUMBERS.test_set(300).values():
        for source, target in split:
            assert number_of(source) == value("".join(target))
            assert is_unseen(number_of(source))


def test_the_scored_split_has_long_numbers_and_the_other_the_short_ones():
    splits = NUMBERS.test_set(1000)
    assert list(splits) == ["4-9 digits", "1-3 digits"]
    long, short = ([number_of(pair.source) for pair in split] for split in splits.values())
    assert len(set(long)) == 1000
    assert sorted(short) == [number for number in range(1000) if is_unseen(number)]
    lengths = Counter(len(str(number)) for number in long)
    assert set(lengths) == set(range(4, 10))


def test_training_shows_numbers_of_every_length_and_every_gap():
    rng = np.random.default_rng(2)
    drawn = [str(number_of(NUMBERS.sample(rng).source)) for _ in range(9000)]
    lengths = Counter(map(len, drawn))
    assert set(lengths) == set(range(1, 10))
    assert min(lengths[length] for length in range(3, 10)) > 800  # about 1000 expected
    shapes = {"".join("0" if digit == "0" else "x" for digit in text) for text in drawn if len(text) == 6}
    assert len(shapes) == 2**5


def test_about_one_number_in_ten_is_held_out():
    assert 0.095 < sum(map(is_unseen, range(100_000))) / 100_000 < 0.105


@pytest.mark.parametrize("text", ["Two hundred and five million, seventeen", "two hundred five  million seventeen\n"])
def test_a_user_may_write_and_commas_and_hyphens(text):
    assert read(text) == english(205_000_017)
    assert show(read("ninety-nine thousand and forty two")) == "ninety-nine thousand forty-two"
    assert NUMBERS.source_vocabulary.unknown(read("two dozen")) == ["dozen"]
