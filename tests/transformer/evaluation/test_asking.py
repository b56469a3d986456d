"""A model is asked: nothing but the pair itself can change its answer, and every right target counts."""

import numpy as np
import pytest

from transformer import Transformer, TransformerConfig
from transformer.evaluation import Question, ask, evaluate, evaluate_splits, questions
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


def test_a_source_that_comes_again_is_one_question_with_every_target_once():
    given_pairs = [Pair((source,), (target,)) for source, target in ("aa", "ab", "bb", "aa", "ac", "ba")]
    assert questions(given_pairs) == [
        Question(("a",), (("a",), ("b",), ("c",))),
        Question(("b",), (("b",), ("a",))),
    ]


def test_a_question_is_right_by_any_of_its_targets_and_the_answer_knows_all():
    targets = (("b",), ("a", "b", "c"), ("a",))
    score = ask(Echo({"c": "d"}), [Question(("a",), targets), Question(("c",), targets)], LETTERS, LETTERS)
    assert [answer.right for answer in score.answers] == [True, False]
    assert [answer.references for answer in score.answers] == [targets, targets]


def test_writing_is_long_enough_for_the_longest_of_several_targets():
    asked = [Question(tuple("abcde"), (("a",), tuple("abcde")))]
    assert ask(Echo(), asked, LETTERS, LETTERS).exact_match == 1.0


def test_evaluate_holds_each_pair_against_its_own_target_and_splits_against_all():
    given_pairs = [Pair(("a",), ("b",)), Pair(("a",), ("a",))]
    own = evaluate(Echo(), given_pairs, LETTERS, LETTERS)
    assert [answer.right for answer in own.answers] == [False, True]
    together = evaluate_splits(Echo(), {"all": given_pairs}, LETTERS, LETTERS)["all"]
    assert (together.size, together.exact_match) == (1, 1.0)


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
