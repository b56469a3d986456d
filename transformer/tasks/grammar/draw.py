"""Meanings at random: every choice that a sentence has, in the order it is made."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from transformer.tasks.grammar.lexicon import (
    AGES,
    ANIMALS,
    COLOURS,
    EVERY,
    FRIEND,
    PEOPLE,
    PLACES,
    POINTERS,
    PRONOUNS,
    SIZES,
    THINGS,
    TIMES,
    VERBS,
    Adjective,
    Adverbial,
    Noun,
    Pronoun,
    Tense,
    Verb,
)
from transformer.tasks.grammar.meaning import Action, Description, Identity, Meaning, Mood, NounPhrase

T = TypeVar("T")

_MOODS = (Mood.STATE, Mood.STATE, Mood.DENY, Mood.ASK)
_DESCRIBED = ANIMALS + THINGS
_MOST_CHOICES = 20  # no sentence asks for more; one call for all is three times faster than one for each


def draw(rng: np.random.Generator) -> Meaning:
    """Draw a sentence: three in four say what somebody does, the others what something or somebody is."""
    chances = iter(rng.random(_MOST_CHOICES).tolist())
    kind = next(chances)
    if kind < 0.75:
        return _action(chances)
    return _description(chances) if kind < 0.88 else _identity(chances)


def _pick(chances: Iterator[float], choices: Sequence[T]) -> T:
    return choices[int(next(chances) * len(choices))]


def _action(chances: Iterator[float]) -> Action:
    subject, verb, mood = _pick(chances, PRONOUNS), _pick(chances, VERBS), _pick(chances, _MOODS)
    tense = _pick(chances, verb.tenses)
    if verb.takes_pronoun and next(chances) < 0.2:
        thing: NounPhrase | Pronoun = _other_than(chances, subject)
    else:
        thing = _noun_phrase(chances, _pick(chances, verb.objects))
    place = _pick(chances, PLACES) if verb.is_event and next(chances) < 0.3 else None
    times = _times(verb, tense, mood)
    time = _pick(chances, times) if times and next(chances) < 0.45 else None
    return Action(subject, verb, thing, tense, mood, place, time)


def _times(verb: Verb, tense: Tense, mood: Mood) -> tuple[Adverbial, ...]:
    if tense is not Tense.PRESENT:
        return TIMES[tense]
    if mood is Mood.DENY and verb.present_times is EVERY:  # "not every day" is 不是每天, and no longer 不
        return ()
    return verb.present_times


def _other_than(chances: Iterator[float], subject: Pronoun) -> Pronoun:
    return _pick(chances, [pronoun for pronoun in PRONOUNS if not pronoun.overlaps(subject)])


def _noun_phrase(chances: Iterator[float], noun: Noun) -> NounPhrase:
    adjective = _pick(chances, noun.adjectives) if next(chances) < 0.4 else None
    chance = next(chances)
    if chance < 0.2:
        return NounPhrase(noun, None, 1, adjective)
    if chance < 0.28:
        return NounPhrase(noun, None, None, adjective)
    if chance < 0.5:
        return NounPhrase(noun, None, _count(chances), adjective)
    return _definite(chances, noun, adjective)


def _definite(chances: Iterator[float], noun: Noun, adjective: Adjective | None) -> NounPhrase:
    """Draw "this cat", "those two cats", "my cats"..."""
    determiner = _pick(chances, PRONOUNS) if next(chances) < 0.5 else _pick(chances, POINTERS)
    chance = next(chances)
    count = 1 if chance < 0.5 else None if chance < 0.65 else _count(chances)
    return NounPhrase(noun, determiner, count, adjective)


def _count(chances: Iterator[float]) -> int:
    """Draw a number: most are 2 to 10, the others 11 to 99."""
    small = next(chances) < 0.7
    return 2 + int(next(chances) * 9) if small else 11 + int(next(chances) * 89)


def _description(chances: Iterator[float]) -> Description:
    """Draw "this red car is very big": Chinese wants a definite subject, and says a colour another way."""
    noun = _pick(chances, _DESCRIBED)
    adjective = _pick(chances, [choice for choice in noun.adjectives if choice not in COLOURS])
    compatible = [choice for choice in noun.adjectives if not _same_scale(choice, adjective)]
    attribute = _pick(chances, compatible) if next(chances) < 0.4 else None
    mood = _pick(chances, _MOODS)
    very = mood is Mood.STATE and next(chances) < 0.6
    return Description(_definite(chances, noun, attribute), adjective, mood, very)


def _same_scale(first: Adjective, second: Adjective) -> bool:
    """Whether the two say the same or the opposite: no big car is small."""
    return first is second or any(first in scale and second in scale for scale in (SIZES, AGES))


def _identity(chances: Iterator[float]) -> Identity:
    """Draw "she is my new doctor"; one is a friend of somebody, but may be a teacher to all."""
    subject, noun, mood = _pick(chances, PRONOUNS), _pick(chances, PEOPLE), _pick(chances, _MOODS)
    adjective = _pick(chances, noun.adjectives) if next(chances) < 0.5 else None
    owned = next(chances) < 0.5 or (noun is FRIEND and not subject.plural)
    owner = _other_than(chances, subject) if owned else None
    return Identity(subject, NounPhrase(noun, owner, None if subject.plural else 1, adjective), mood)
