"""A meaning in English, lower case, one blank between tokens: `did she buy an old hat yesterday ?`"""

from collections.abc import Iterator

from transformer.tasks.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PLACES,
    POINTERS,
    PRONOUNS,
    TIMES,
    VERBS,
    Pointer,
    Pronoun,
    Tense,
)
from transformer.tasks.grammar.meaning import Action, Description, Identity, Meaning, Mood, NounPhrase

# fmt: off
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
# fmt: on
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def english(meaning: Meaning) -> str:
    """Return the sentence that says `meaning`."""
    match meaning:
        case Action():
            words = _action(meaning)
        case Description(subject, adjective, mood, very):
            be = "is" if subject.number == 1 else "are"
            words = _with_be(noun_phrase(subject), be, f"very {adjective.english}" if very else adjective.english, mood)
        case Identity(pronoun, complement, mood):
            words = _with_be(pronoun.subject, pronoun.be, noun_phrase(complement), mood)
    return words + (" ?" if meaning.mood is Mood.ASK else " .")


def noun_phrase(phrase: NounPhrase) -> str:
    """Say `phrase`: "an old hat", "my two cats", "those apples"."""
    noun, determiner, number, adjective = phrase
    words = noun.singular if number == 1 else noun.plural
    if adjective is not None:
        words = f"{adjective.english} {words}"
    if number is not None and number > 1:
        words = f"{number_words(number)} {words}"
    if isinstance(determiner, Pronoun):
        return f"{determiner.possessive} {words}"
    if isinstance(determiner, Pointer):
        return f"{determiner.singular if number == 1 else determiner.plural} {words}"
    if number == 1:
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    return words


def number_words(number: int) -> str:
    """Say `number`, 1 to 99: 42 is "forty two"."""
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens]} {_ONES[ones]}" if ones else _TENS[tens]


def _action(action: Action) -> str:
    words = f"{_predicate(action)} {_object(action.object)}"
    if action.place is not None:
        words = f"{words} {action.place.english}"
    if action.time is not None:
        words = f"{words} {action.time.english}"
    return words


def _predicate(action: Action) -> str:
    """Subject and verb: "he wants to buy", "he did not buy", "will he buy"."""
    subject, verb, tense = action.subject, action.verb, action.tense
    third = subject.third_singular
    plain = f"want to {verb.base}" if tense is Tense.WISH else verb.base
    match action.mood, tense:
        case Mood.STATE, Tense.PAST:
            return f"{subject.subject} {verb.past}"
        case Mood.STATE, Tense.FUTURE:
            return f"{subject.subject} will {plain}"
        case Mood.STATE, Tense.WISH:
            return f"{subject.subject} {'wants' if third else 'want'} to {verb.base}"
        case Mood.STATE, Tense.PRESENT:
            return f"{subject.subject} {verb.third if third else plain}"
    auxiliary = "did" if tense is Tense.PAST else "will" if tense is Tense.FUTURE else "does" if third else "do"
    if action.mood is Mood.ASK:
        return f"{auxiliary} {subject.subject} {plain}"
    return f"{subject.subject} {auxiliary} not {plain}"


def _object(thing: NounPhrase | Pronoun) -> str:
    return thing.object if isinstance(thing, Pronoun) else noun_phrase(thing)


def _with_be(subject: str, be: str, complement: str, mood: Mood) -> str:
    match mood:
        case Mood.STATE:
            return f"{subject} {be} {complement}"
        case Mood.DENY:
            return f"{subject} {be} not {complement}"
        case Mood.ASK:
            return f"{be} {subject} {complement}"


def _all_words() -> Iterator[str]:
    yield "a an do does did will want wants to not am is are very . ?"
    for pronoun in PRONOUNS:
        yield f"{pronoun.subject} {pronoun.object} {pronoun.possessive}"
    for pointer in POINTERS:
        yield f"{pointer.singular} {pointer.plural}"
    for verb in VERBS:
        yield f"{verb.base} {verb.third} {verb.past}"
    for noun in NOUNS:
        yield f"{noun.singular} {noun.plural}"
    yield from (adjective.english for adjective in ADJECTIVES)
    yield from (number_words(number) for number in range(2, 100))
    yield from (adverbial.english for adverbials in (PLACES, *TIMES.values()) for adverbial in adverbials)


WORDS = tuple(dict.fromkeys(" ".join(_all_words()).split()))
