"""What holds for every sentence the grammar can draw."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from transformer.tasks import get_task
from transformer.tasks.grammar.chinese import CHARACTERS, chinese
from transformer.tasks.grammar.draw import draw
from transformer.tasks.grammar.english import WORDS, english
from transformer.tasks.grammar.held_out import has_unseen_pair, is_unseen_pair, is_unseen_sentence, word_pairs
from transformer.tasks.grammar.lexicon import (
    ADJECTIVES,
    COLOURS,
    HE,
    NOUNS,
    OLD,
    PLACES,
    PRONOUNS,
    SHE,
    THAT,
    THEY,
    TIMES,
    VERBS,
    WE,
    I,
    Noun,
    Tense,
)
from transformer.tasks.grammar.meaning import Action, Description, Identity, Meaning, Mood, NounPhrase

TRANSLATE = get_task("translate")
NOUN = {noun.singular: noun for noun in NOUNS}
VERB = {verb.base: verb for verb in VERBS}


@cache
def drawn() -> list[tuple[Meaning, str, str]]:
    rng = np.random.default_rng(7)
    meanings = (draw(rng) for _ in range(200_000))
    return [(meaning, english(meaning), chinese(meaning)) for meaning in meanings]


@cache
def trained_on() -> list[tuple[str, str]]:
    rng = np.random.default_rng(8)
    pairs = (TRANSLATE.sample(rng) for _ in range(60_000))
    return [(" ".join(source), "".join(target)) for source, target in pairs]


def test_no_source_has_two_targets() -> None:
    targets: dict[str, str] = {}
    for _, source, target in drawn():
        assert targets.setdefault(source, target) == target
    assert len(targets) > 100_000


def test_the_vocabularies_are_exactly_what_is_written() -> None:
    assert {word for _, source, _ in drawn() for word in source.split()} == set(WORDS)
    assert {character for _, _, target in drawn() for character in target} == set(CHARACTERS)


def test_the_stated_lengths_are_those_of_the_longest_sentences() -> None:
    sizes = [(len(source.split()), len(target)) for _, source, target in drawn()]
    assert max(size for size, _ in sizes) <= TRANSLATE.max_source_length
    assert max(size for _, size in sizes) <= TRANSLATE.max_target_length
    bicycles = NounPhrase(NOUN["bicycle"], THAT, 22, COLOURS[0])
    park, now, morning = PLACES[2], TIMES[Tense.WISH][0], TIMES[Tense.PAST][1]
    long = Action(SHE, VERB["draw"], bicycles, Tense.WISH, Mood.DENY, park, now)
    assert english(long) == "she does not want to draw those twenty two red bicycles in the park now ."
    assert len(english(long).split()) == TRANSLATE.max_source_length
    bicycles = NounPhrase(NOUN["bicycle"], WE, 22, OLD)
    long = Action(THEY, VERB["find"], bicycles, Tense.PAST, Mood.ASK, park, morning)
    assert chinese(long) == "他们今天早上在公园找到了我们的二十二辆旧自行车吗？"
    assert len(chinese(long)) == TRANSLATE.max_target_length


def test_english_and_chinese_agree_sentence_by_sentence() -> None:
    """Marks that must go together, read off the two strings alone."""
    for _, source, target in drawn():
        words = source.split()
        assert target.endswith("吗？" if words[-1] == "?" else "。")
        assert ("了" in target) == (bool({"did", *PAST_FORMS} & set(words)) and "not" not in words)
        assert ("不" in target or "没" in target) == ("not" in words)
        assert ("会" in target) == ("will" in words)
        assert ("想" in target) == ("to" in words)
        assert ("两" in target) == two_alone(words)
        assert ("一" in target.replace("十一", "")) == one_said(words)


PAST_FORMS = [verb.past for verb in VERBS if verb.past]
ALL_ADJECTIVES = {adjective.english for adjective in ADJECTIVES}
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def two_alone(words: list[str]) -> bool:
    return "two" in words and words[words.index("two") - 1] not in TENS


def one_said(words: list[str]) -> bool:
    """Whether "a" is 一: not after "not", and after "is" only before an adjective."""
    if not {"a", "an"} & set(words):
        return False
    if {"is", "am", "are"} & set(words):
        return bool(ALL_ADJECTIVES & set(words))
    return "not" not in words


def test_articles_fit_the_next_word_and_verbs_their_subject() -> None:
    for _, source, _ in drawn():
        words = source.split()
        for word, following in pairwise(words):
            if word in ("a", "an"):
                assert (word == "an") == (following[0] in "aeiou")
        if words[0] in ("he", "she") and words[1] not in (*PAST_FORMS, "did", "will", "is"):
            assert words[1].endswith("s")
        if words[0] in ("i", "you", "we", "they"):
            assert not words[1].endswith("s")


def test_nobody_acts_on_himself_or_owns_what_he_is() -> None:
    for meaning, _, _ in drawn():
        match meaning:
            case Action(subject, _, other) if other in PRONOUNS:
                assert not subject.overlaps(other)
            case Identity(subject, NounPhrase(_, owner, _, _)) if owner is not None:
                assert not subject.overlaps(owner)


def test_odd_chinese_is_not_drawn() -> None:
    targets = [target for _, _, target in drawn()]
    for odd in ("黑车", "红包", "白包", "老老", "老鸟", "每天不", "每天早上不", "每年不", "没一"):
        assert not any(odd in target for target in targets), odd
    counted_by_a_digit = re.compile(f"(?<!十)二[{''.join({noun.classifier for noun in NOUNS})}]|十两")
    assert not any(map(counted_by_a_digit.search, targets))


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if OLD in noun.adjectives], ids=lambda noun: noun.singular)
def test_old_is_learnt_with_every_noun_that_can_be_old(noun: Noun) -> None:
    assert sum(f"old {noun.singular}" in source for source, _ in trained_on()) > 5


def test_love_you_is_held_out_and_its_sentence_is_one_of_the_test() -> None:
    assert is_unseen_pair("love", "you")
    assert ("i love you .", "我爱你。") in {(source, target) for _, source, target in drawn()}
    assert not any(" love you " in source or " loves you " in source for source, _ in trained_on())
    assert any(" love your " in source for source, _ in trained_on())


def test_each_part_of_an_unseen_pair_is_trained_on_with_others() -> None:
    pairs = Counter(pair for meaning, _, _ in drawn() for pair in word_pairs(meaning))
    for side in (0, 1):
        partners: dict[str, list[bool]] = {}
        for pair in pairs:
            partners.setdefault(pair[side], []).append(is_unseen_pair(*pair))
        assert all(sum(held) <= len(held) / 2 for held in partners.values())


@pytest.mark.parametrize("kind", ["verb", "adjective", "number"])
def test_about_a_fifth_of_the_pairs_of_each_kind_is_held_out(kind: str) -> None:
    firsts = {
        "verb": {verb.base for verb in VERBS},
        "adjective": {adjective.english for adjective in ADJECTIVES},
    }
    firsts["number"] = {first for meaning, _, _ in drawn() for first, _ in word_pairs(meaning)}
    firsts["number"] -= firsts["verb"] | firsts["adjective"]
    pairs = {pair for meaning, _, _ in drawn() for pair in word_pairs(meaning) if pair[0] in firsts[kind]}
    assert 0.17 < sum(is_unseen_pair(*pair) for pair in pairs) / len(pairs) < 0.23


def test_word_pairs_of_a_sentence() -> None:
    car = NounPhrase(NOUN["car"], None, 22, COLOURS[0])
    assert set(word_pairs(Action(HE, VERB["buy"], car))) == {("buy", "car"), ("red", "car"), ("twenty two", "car")}
    assert list(word_pairs(Action(HE, VERB["love"], I))) == [("love", "me")]
    assert list(word_pairs(Description(NounPhrase(NOUN["cat"], THAT), OLD))) == []
    good = next(adjective for adjective in ADJECTIVES if adjective.english == "good")
    assert list(word_pairs(Identity(HE, NounPhrase(NOUN["doctor"], None, 1, good)))) == [("good", "doctor")]


def test_training_never_shows_a_held_out_pair_or_sentence() -> None:
    meanings = {source: meaning for meaning, source, _ in drawn()}
    trained = {source for source, _ in trained_on()}
    known = [meanings[source] for source in trained if source in meanings]
    assert len(known) > 5_000
    assert not any(map(has_unseen_pair, known))
    assert not any(map(is_unseen_sentence, trained))


def test_the_splits_hold_what_their_names_say() -> None:
    splits = TRANSLATE.test_set(1000)
    assert list(splits) == ["unseen pairs", "seen pairs"]
    trained = {source for source, _ in trained_on()}
    meanings = {source: meaning for meaning, source, _ in drawn()}
    for name, pairs in splits.items():
        assert len(set(pairs)) == len({pair.source for pair in pairs}) == 1000
        sources = {" ".join(pair.source) for pair in pairs}
        assert sources.isdisjoint(trained)
        known = [meanings[source] for source in sources if source in meanings]
        assert len(known) > 100
        assert all(has_unseen_pair(meaning) == (name == "unseen pairs") for meaning in known)
