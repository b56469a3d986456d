"""What the grammar keeps from training: word pairs, and whole sentences.

One in five of all (verb, object), (adjective, noun) and (number, noun) pairs is never seen together in training, though
each of its words is seen with others. A model that translates them has learnt words and rules, not phrases. ("love",
"you") is such a pair.

A pair with "old" is never held out. Any other adjective has one translation, so a new pair follows from its parts;
whether "old" is 旧 or 老 is a fact about the noun, and a noun that was never called old in training leaves it to a
guess. Sentences with "old" are still in the test: by their verb and object, or their number and noun.

Of the sentences without such a pair one in ten is held out as well, so that plain fresh sentences can be tested too.
"""

from collections.abc import Iterator
from functools import cache

from transformer.tasks.grammar.english import number_words
from transformer.tasks.grammar.lexicon import OLD, Adjective, Noun, Pronoun
from transformer.tasks.grammar.meaning import Action, Description, Meaning, noun_phrase_of
from transformer.tasks.held_out import held_out

PAIRS_ONE_IN = 5
SENTENCES_ONE_IN = 10
_SALT = "1416"  # chosen: holds out ("love", "you"), and leaves every word at least half of its partners


def word_pairs(meaning: Meaning) -> Iterator[tuple[str, str]]:
    """Yield the (verb, object), (adjective, noun) and (number, noun) pairs of a sentence, in dictionary form."""
    phrase = noun_phrase_of(meaning)
    if isinstance(meaning, Action):
        thing = meaning.object
        yield meaning.verb.base, thing.object if isinstance(thing, Pronoun) else thing.noun.singular
    if phrase is None:
        return
    if isinstance(meaning, Description):
        yield from _described(meaning.adjective, phrase.noun)
    if phrase.adjective is not None:
        yield from _described(phrase.adjective, phrase.noun)
    if phrase.number is not None and phrase.number > 1:
        yield number_words(phrase.number), phrase.noun.singular


def has_unseen_pair(meaning: Meaning) -> bool:
    """Whether two of its words never meet in training."""
    return any(is_unseen_pair(*pair) for pair in word_pairs(meaning))


@cache
def is_unseen_pair(first: str, second: str) -> bool:
    """Whether `first` and `second` never meet in training."""
    return held_out(f"{_SALT} {first} {second}", PAIRS_ONE_IN)


def is_unseen_sentence(english: str) -> bool:
    """Whether a sentence of seen pairs only is held out all the same."""
    return held_out(english, SENTENCES_ONE_IN)


def _described(adjective: Adjective, noun: Noun) -> Iterator[tuple[str, str]]:
    if adjective is not OLD:
        yield adjective.english, noun.singular
