"""Scores: what counts as right, against one target and several, and by length."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.evaluation import Answer, Score

WORDS = st.lists(st.sampled_from("abcd"), max_size=6).map(tuple)
ANSWERS = st.builds(
    Answer, WORDS.filter(len), WORDS, st.lists(st.sampled_from("ab"), max_size=3).map(tuple),
    st.lists(WORDS, max_size=3).map(tuple),
)  # fmt: skip
SCORES = st.lists(ANSWERS, min_size=1, max_size=12).map(lambda answers: Score(tuple(answers)))


@given(WORDS, WORDS)
def test_an_answer_is_right_exactly_if_all_its_tokens_are(expected, written):
    answer = Answer(("a",), expected, written)
    assert 0 <= answer.tokens_right <= answer.tokens
    assert answer.right == (answer.tokens_right == answer.tokens)


def test_scores_of_parts_add_up():
    first, second = (Score((Answer((), ("a",), (letter,)),)) for letter in "ab")
    assert (first + second).exact_match == 0.5


@given(ANSWERS)
def test_an_answer_is_held_against_the_closest_of_its_targets_in_any_order(answer):
    alone = [Answer(answer.source, target, answer.written) for target in answer.references]
    assert answer.right == any(one.right for one in alone)
    assert answer.right == (answer.tokens_right == answer.tokens)
    assert answer.tokens_right / answer.tokens == max(one.tokens_right / one.tokens for one in alone)
    last, *before = answer.references[::-1]
    turned = Answer(answer.source, last, answer.written, tuple(before))
    assert turned.right == answer.right
    assert turned.tokens_right / turned.tokens == answer.tokens_right / answer.tokens


def test_several_targets_by_hand():
    answer = Answer(("x",), tuple("abcd"), tuple("ab"), (tuple("abc"), tuple("b")))
    # abcd: a, b of 5; abc: a, b of 4; b: nothing of 2
    assert (answer.closest, answer.tokens_right, answer.tokens, answer.right) == (tuple("abc"), 2, 4, False)


@given(SCORES, st.integers(1, 4))
def test_the_scores_by_length_hold_every_answer_once_and_sum_up_to_the_whole(score, width):
    parts = score.by_length(width)
    assert Counter(answer for part in parts.values() for answer in part.answers) == Counter(score.answers)
    assert sum(part.exact_match * part.size for part in parts.values()) == pytest.approx(score.exact_match * score.size)
    expected = {lengths: sum(answer.tokens for answer in part.answers) for lengths, part in parts.items()}
    right = sum(part.token_accuracy * expected[lengths] for lengths, part in parts.items())
    assert right == pytest.approx(score.token_accuracy * sum(expected.values()))


@given(SCORES, st.integers(1, 4))
def test_lengths_are_those_of_the_source_in_ascending_rows_of_one_width(score, width):
    parts = score.by_length(width)
    assert [lengths.start for lengths in parts] == sorted(lengths.start for lengths in parts)
    for lengths, part in parts.items():
        assert len(lengths) == width
        assert lengths.start % width == 1 % width  # 1 to width, and so on
        assert all(len(answer.source) in lengths for answer in part.answers)


def test_by_length_by_hand():
    right, wrong = (lambda size, written=written: Answer(("x",) * size, ("a",), (written,)) for written in "ab")
    score = Score((right(3), wrong(1), right(4), wrong(3)))
    assert {key: part.exact_match for key, part in score.by_length().items()} == {
        range(1, 2): 0.0, range(3, 4): 0.5, range(4, 5): 1.0,
    }  # fmt: skip
    assert {key: part.size for key, part in score.by_length(3).items()} == {range(1, 4): 3, range(4, 7): 1}
