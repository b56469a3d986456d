"""A meaning in Chinese, one token a character: `她昨天买了一顶旧帽子吗？`

The order is subject, time, not, place, verb, 了, object, 吗.
"""

from collections.abc import Iterator

from transformer.tasks.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PLACES,
    POINTERS,
    PRONOUNS,
    TIMES,
    VERBS,
    Adjective,
    Kind,
    Noun,
    Pronoun,
    Tense,
)
from transformer.tasks.grammar.meaning import Action, Description, Identity, Meaning, Mood, NounPhrase

_DIGITS = "零一二三四五六七八九"
_AUXILIARY = {Tense.PRESENT: "", Tense.PAST: "", Tense.FUTURE: "会", Tense.WISH: "想"}


def chinese(meaning: Meaning) -> str:
    """Return the sentence that says `meaning`."""
    match meaning:
        case Action():
            words = _action(meaning)
        case Description(subject, adjective, mood):
            degree = {Mood.STATE: "很", Mood.DENY: "不", Mood.ASK: ""}[mood]  # a bare adjective would compare
            words = noun_phrase(subject) + degree + _adjective(adjective, subject.noun)
        case Identity(pronoun, complement, mood):
            denial = "不" if mood is Mood.DENY else ""
            words = f"{pronoun.chinese}{denial}是{noun_phrase(complement, bare=complement.adjective is None)}"
    return words + ("吗？" if meaning.mood is Mood.ASK else "。")


def noun_phrase(phrase: NounPhrase, bare: bool = False) -> str:
    """Say `phrase`: 我的两只猫; `bare` leaves the 一 and classifier of "a cat" away."""
    noun, determiner, number, adjective = phrase
    words = noun.chinese if adjective is None else _adjective(adjective, noun) + noun.chinese
    if determiner is None:
        return words if number is None or (bare and number == 1) else numeral(number) + noun.classifier + words
    if number is not None and number > 1:
        words = numeral(number) + noun.classifier + words
    if isinstance(determiner, Pronoun):
        return f"{determiner.chinese}的{words}"
    if number is None:
        return f"{determiner.chinese}些{words}"
    return determiner.chinese + (noun.classifier if number == 1 else "") + words


def numeral(number: int) -> str:
    """Say `number`, 1 to 99, before a classifier: 2 is 两, 12 十二, 22 二十二."""
    if number == 2:
        return "两"
    tens, ones = divmod(number, 10)
    return ("" if tens < 2 else _DIGITS[tens]) + ("十" if tens else "") + (_DIGITS[ones] if ones else "")


def _adjective(adjective: Adjective, noun: Noun) -> str:
    return adjective.living if adjective.living and noun.kind is not Kind.THING else adjective.chinese


def _action(action: Action) -> str:
    denied = action.mood is Mood.DENY
    time = "" if action.time is None else action.time.chinese
    place = "" if action.place is None else action.place.chinese
    aspect = "了" if action.tense is Tense.PAST and not denied else ""
    thing = action.object
    object_ = thing.chinese if isinstance(thing, Pronoun) else noun_phrase(thing, bare=denied)
    before = (_denial(action) if denied else "") + _AUXILIARY[action.tense]
    return f"{action.subject.chinese}{time}{before}{place}{action.verb.chinese}{aspect}{object_}"


def _denial(action: Action) -> str:
    match action.tense:
        case Tense.PRESENT:
            return action.verb.denial
        case Tense.PAST:
            return "没"
        case Tense.FUTURE | Tense.WISH:
            return "不"


def _all_characters() -> Iterator[str]:
    yield "的是不没会想了吗很些。？"
    yield from (pronoun.chinese for pronoun in PRONOUNS)
    yield from (pointer.chinese for pointer in POINTERS)
    yield from (verb.chinese for verb in VERBS)
    yield from (adverbial.chinese for adverbials in (PLACES, *TIMES.values()) for adverbial in adverbials)
    for noun in NOUNS:
        yield noun.chinese + noun.classifier
    for adjective in ADJECTIVES:
        yield adjective.chinese + adjective.living
    for number in range(1, 100):
        yield numeral(number)


CHARACTERS = tuple(dict.fromkeys("".join(_all_characters())))
