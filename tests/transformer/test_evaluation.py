"""Scores: what counts as right, and that nothing but the pair itself can change its answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import Transformer, TransformerConfig
from transformer.evaluation import Answer, Score, evaluate, evaluate_splits
from transformer.tasks import Pair
from transformer.vocabulary import EOS, PAD, Vocabulary

LETTERS = Vocabulary("abcdefgh")


class Echo:
    """Writes what it reads, but for the sources it was told another answer for; notes the shapes it was given."""

    def __init__(self, answers=()):
        self.answers = {
            tuple(LETTERS.encode(source)): LETTERS.encode(answer) for source, answer in dict(answers).items()
        }
        self.shapes = []

    def generate(self, source, max_length, beam):
        self.shapes.append(source.shape)
        self.beam = beam
        written = np.full((len(source), max_length), PAD, np.int64)
        for row, ids in zip(written, source.tolist(), strict=True):
            answer = [*self.answers.get(tuple(ids), ids), EOS][:max_length]
            row[: len(answer)] = answer
        return written


def pairs(*texts):
    return [Pair(tuple(text), tuple(text)) for text in texts]


def test_all_right():
    score = evaluate(Echo(), pairs("abc", "a", "hgfed"), LETTERS, LETTERS)
    assert (score.exact_match, score.token_accuracy, score.size, score.mistakes) == (1.0, 1.0, 3, ())


def test_mistakes_are_listed_and_counted_in_the_order_of_the_pairs():
    score = evaluate(Echo({"abc": "abd", "hg": "h"}), pairs("abc", "fed", "hg"), LETTERS, LETTERS)
    assert [answer.written for answer in score.answers] == [("a", "b", "d"), ("f", "e", "d"), ("h",)]
    assert [answer.source for answer in score.mistakes] == [("a", "b", "c"), ("h", "g")]
    assert score.exact_match == pytest.approx(1 / 3)
    # abc: a, b and the end of 4; fed: 4 of 4; hg: h of 3
    assert score.token_accuracy == pytest.approx((3 + 4 + 1) / (4 + 4 + 3))


@pytest.mark.parametrize("answer", ["", "ab", "abcd", "abca", "aabc", "bca"])
def test_too_short_too_long_and_shifted_are_wrong(answer):
    score = evaluate(Echo({"abc": answer}), pairs("abc"), LETTERS, LETTERS)
    assert score.exact_match == 0.0
    assert score.token_accuracy < 1.0


def test_writing_without_an_end_is_wrong():
    assert evaluate(Echo({"abc": "abcabcabcabc"}), pairs("abc"), LETTERS, LETTERS).exact_match == 0.0


def test_an_expected_word_outside_the_vocabulary_is_never_met():
    unknown = Pair(("a", "?"), ("a", "?"))  # the model would echo <unk>
    score = evaluate(Echo(), [unknown], LETTERS, LETTERS)
    assert score.answers[0].written == ("a", "<unk>")
    assert score.exact_match == 0.0


def test_only_equal_lengths_are_decoded_together_in_batches_of_the_given_size():
    echo = Echo()
    evaluate(echo, pairs("ab", "abc", "cd", "ef", "gh", "ba"), LETTERS, LETTERS, batch_size=2)
    assert sorted(echo.shapes) == [(1, 2), (1, 3), (2, 2), (2, 2)]


def test_no_pairs_and_an_empty_source_are_refused():
    with pytest.raises(ValueError, match="no pairs to score"):
        evaluate(Echo(), [], LETTERS, LETTERS)
    with pytest.raises(ValueError, match="without a token"):
        evaluate(Echo(), [Pair((), ("a",))], LETTERS, LETTERS)


def test_splits_are_scored_by_name_and_empty_ones_left_out():
    scores = evaluate_splits(Echo({"ab": "a"}), {"one": pairs("abc"), "none": [], "two": pairs("ab")}, LETTERS, LETTERS)
    assert {name: score.exact_match for name, score in scores.items()} == {"one": 1.0, "two": 0.0}


@given(st.lists(st.sampled_from("abcd"), max_size=6), st.lists(st.sampled_from("abcd"), max_size=6))
def test_an_answer_is_right_exactly_if_all_its_tokens_are(expected, written):
    answer = Answer(("a",), tuple(expected), tuple(written))
    assert 0 <= answer.tokens_right <= answer.tokens
    assert answer.right == (answer.tokens_right == answer.tokens)


def test_scores_of_parts_add_up():
    first, second = (Score((Answer((), ("a",), (letter,)),)) for letter in "ab")
    assert (first + second).exact_match == 0.5


def test_a_real_models_answers_do_not_depend_on_the_batch_or_on_the_other_pairs():
    config = TransformerConfig(source_vocab=12, target_vocab=12, d_model=16, heads=2, layers=1, d_ff=32)
    model, rng = Transformer(config, rng=3), np.random.default_rng(0)
    asked = pairs(*{"".join(rng.choice(list("abcdefgh"), rng.integers(1, 9))) for _ in range(40)}, "abcdefgh")
    together = evaluate(model, asked, LETTERS, LETTERS)
    assert len({answer.written for answer in together.answers}) > 1
    for batch_size in (1, 7):
        assert evaluate(model, asked, LETTERS, LETTERS, batch_size) == together
    backwards = evaluate(model, asked[::-1], LETTERS, LETTERS)
    assert backwards.answers[::-1] == together.answers
