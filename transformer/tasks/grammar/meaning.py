"""What a sentence says, before it is said in any language."""

from enum import Enum
from typing import NamedTuple, TypeAlias

from transformer.tasks.grammar.lexicon import Adjective, Adverbial, Noun, Pointer, Pronoun, Tense, Verb


class Mood(Enum):
    """Whether it is stated, denied or asked."""

    STATE = "state"
    DENY = "deny"
    ASK = "ask"


class NounPhrase(NamedTuple):
    """Some of a kind: "my two old cats".

    `determiner` is whose or which; None is "a cat", "two cats", "cats". `number` is 1, 2 to 99, or None for a plural
    that is not counted.
    """

    noun: Noun
    determiner: Pronoun | Pointer | None = None
    number: int | None = 1
    adjective: Adjective | None = None


class Action(NamedTuple):
    """Somebody does something to something: "she did not wash my cup at home yesterday"."""

    subject: Pronoun
    verb: Verb
    object: NounPhrase | Pronoun
    tense: Tense = Tense.PRESENT
    mood: Mood = Mood.STATE
    place: Adverbial | None = None
    time: Adverbial | None = None


class Description(NamedTuple):
    """Something is like this: "these cups are very big"; `very` only where it is stated."""

    subject: NounPhrase
    adjective: Adjective
    mood: Mood = Mood.STATE
    very: bool = False


class Identity(NamedTuple):
    """Somebody is somebody: "he is my friend"."""

    subject: Pronoun
    complement: NounPhrase
    mood: Mood = Mood.STATE


Meaning: TypeAlias = Action | Description | Identity


def noun_phrase_of(meaning: Meaning) -> NounPhrase | None:
    """Return the one noun phrase of a sentence; None if its object is a pronoun."""
    match meaning:
        case Action(object=NounPhrase() as phrase) | Description(subject=phrase) | Identity(complement=phrase):
            return phrase
    return None
