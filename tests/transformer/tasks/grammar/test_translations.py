"""Every phenomenon of the grammar, held against translations written by hand."""

import pytest

from transformer.tasks.grammar.chinese import chinese, numeral
from transformer.tasks.grammar.english import english, number_words
from transformer.tasks.grammar.lexicon import (
    ADJECTIVES,
    HE,
    NOUNS,
    PLACES,
    SHE,
    THAT,
    THEY,
    THIS,
    TIMES,
    VERBS,
    WE,
    YOU,
    I,
    Tense,
)
from transformer.tasks.grammar.meaning import Action, Description, Identity, Meaning, Mood, NounPhrase

NOUN = {noun.singular: noun for noun in NOUNS}
VERB = {verb.base: verb for verb in VERBS}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}
PLACE = {place.english: place for place in PLACES}
TIME = {time.english: time for times in TIMES.values() for time in times}
DENY, ASK = Mood.DENY, Mood.ASK
PAST, FUTURE, WISH = Tense.PAST, Tense.FUTURE, Tense.WISH


def some(noun, determiner=None, number=1, adjective=None) -> NounPhrase:
    return NounPhrase(NOUN[noun], determiner, number, ADJECTIVE[adjective] if adjective else None)


def does(subject, verb, thing, tense=Tense.PRESENT, mood=Mood.STATE, place=None, time=None) -> Action:
    where, when = PLACE[place] if place else None, TIME[time] if time else None
    return Action(subject, VERB[verb], thing, tense, mood, where, when)


def looks(phrase, adjective, mood=Mood.STATE, very=False) -> Description:
    return Description(phrase, ADJECTIVE[adjective], mood, very)


# fmt: off
SENTENCES: list[tuple[Meaning, str, str]] = [
    # pronouns as objects, and "her" as object and owner
    (does(I, "love", YOU), "i love you .", "我爱你。"),
    (does(YOU, "know", THEY, mood=ASK), "do you know them ?", "你认识他们吗？"),
    (does(SHE, "help", WE, PAST), "she helped us .", "她帮助了我们。"),
    (does(THEY, "need", I), "they need me .", "他们需要我。"),
    (does(WE, "see", HE, PAST, time="yesterday"), "we saw him yesterday .", "我们昨天看见了他。"),
    (does(HE, "like", SHE), "he likes her .", "他喜欢她。"),
    (does(HE, "like", some("cat", SHE)), "he likes her cat .", "他喜欢她的猫。"),
    # agreement
    (does(I, "wash", some("car", I)), "i wash my car .", "我洗我的车。"),
    (does(SHE, "wash", some("car", SHE)), "she washes her car .", "她洗她的车。"),
    (does(HE, "have", some("dog")), "he has a dog .", "他有一只狗。"),
    (does(SHE, "need", some("pen"), mood=ASK), "does she need a pen ?", "她需要一支笔吗？"),
    (does(SHE, "draw", some("horse"), WISH), "she wants to draw a horse .", "她想画一匹马。"),
    (does(WE, "draw", some("horse"), WISH), "we want to draw a horse .", "我们想画一匹马。"),
    # determiners and classifiers
    (does(I, "find", some("umbrella"), PAST), "i found an umbrella .", "我找到了一把雨伞。"),
    (does(I, "find", some("umbrella", adjective="red"), PAST), "i found a red umbrella .", "我找到了一把红雨伞。"),
    (does(I, "find", some("hat", adjective="old"), PAST), "i found an old hat .", "我找到了一顶旧帽子。"),
    (does(HE, "buy", some("table", THIS), PAST), "he bought this table .", "他买了这张桌子。"),
    (does(HE, "buy", some("shirt", THAT, adjective="white"), PAST),
     "he bought that white shirt .", "他买了那件白衬衫。"),
    (does(I, "like", some("dictionary", THIS, None)), "i like these dictionaries .", "我喜欢这些词典。"),
    (does(I, "like", some("photo", THAT, 6)), "i like those six photos .", "我喜欢那六张照片。"),
    (does(WE, "like", some("apple", None, None, "red")), "we like red apples .", "我们喜欢红苹果。"),
    (does(YOU, "sell", some("bicycle", WE, None)), "you sell our bicycles .", "你卖我们的自行车。"),
    (does(YOU, "sell", some("bicycle", HE, 3, "black")),
     "you sell his three black bicycles .", "你卖他的三辆黑自行车。"),
    # numbers
    (does(THEY, "have", some("cup", None, 2)), "they have two cups .", "他们有两个杯子。"),
    (does(THEY, "have", some("book", None, 12)), "they have twelve books .", "他们有十二本书。"),
    (does(THEY, "have", some("chair", None, 20)), "they have twenty chairs .", "他们有二十把椅子。"),
    (does(THEY, "have", some("bird", None, 42)), "they have forty two birds .", "他们有四十二只鸟。"),
    (does(THEY, "have", some("student", None, 99)), "they have ninety nine students .", "他们有九十九个学生。"),
    # negation, and "a" after it
    (does(HE, "sell", some("hat", None, None), mood=DENY), "he does not sell hats .", "他不卖帽子。"),
    (does(THEY, "love", I, mood=DENY), "they do not love me .", "他们不爱我。"),
    (does(I, "have", some("cat"), mood=DENY), "i do not have a cat .", "我没有猫。"),
    (does(SHE, "have", some("pen", I), mood=DENY), "she does not have my pen .", "她没有我的笔。"),
    (does(I, "buy", some("car"), PAST, DENY), "i did not buy a car .", "我没买车。"),
    (does(I, "buy", some("car", None, 2), PAST, DENY), "i did not buy two cars .", "我没买两辆车。"),
    (does(WE, "see", some("dog", THAT), PAST, DENY), "we did not see that dog .", "我们没看见那只狗。"),
    (does(YOU, "find", some("dog", I), FUTURE, DENY), "you will not find my dog .", "你不会找到我的狗。"),
    (does(WE, "have", some("dog"), FUTURE, DENY), "we will not have a dog .", "我们不会有狗。"),
    (does(HE, "help", I, WISH, DENY), "he does not want to help me .", "他不想帮助我。"),
    # questions
    (does(YOU, "wash", some("cup", YOU), PAST, ASK), "did you wash your cup ?", "你洗了你的杯子吗？"),
    (does(HE, "help", WE, FUTURE, ASK), "will he help us ?", "他会帮助我们吗？"),
    (does(THEY, "buy", some("backpack"), WISH, ASK), "do they want to buy a backpack ?", "他们想买一个背包吗？"),
    # time and place before the verb, "not" between them
    (does(I, "see", some("bird"), PAST, place="in the park", time="yesterday"),
     "i saw a bird in the park yesterday .", "我昨天在公园看见了一只鸟。"),
    (does(SHE, "draw", WE, FUTURE, DENY, "at home", "tonight"),
     "she will not draw us at home tonight .", "她今晚不会在家画我们。"),
    (does(HE, "sell", some("apple", None, None), place="at school", time="every day"),
     "he sells apples at school every day .", "他每天在学校卖苹果。"),
    (does(I, "help", HE, PAST, DENY, "in the shop", "last week"),
     "i did not help him in the shop last week .", "我上周没在商店帮助他。"),
    (does(WE, "buy", some("horse"), FUTURE, ASK, "in beijing", "next year"),
     "will we buy a horse in beijing next year ?", "我们明年会在北京买一匹马吗？"),
    (does(SHE, "need", some("doctor"), time="now"), "she needs a doctor now .", "她现在需要一个医生。"),
    (does(SHE, "wash", some("dog"), WISH, time="now"), "she wants to wash a dog now .", "她现在想洗一只狗。"),
    (does(HE, "sell", some("car", HE), PAST, time="this morning"),
     "he sold his car this morning .", "他今天早上卖了他的车。"),
    # adjectives as predicates
    (looks(some("car", THIS), "big"), "this car is big .", "这辆车很大。"),
    (looks(some("car", THIS), "big", very=True), "this car is very big .", "这辆车很大。"),
    (looks(some("bird", WE), "small"), "our bird is small .", "我们的鸟很小。"),
    (looks(some("book", I, None), "new", DENY), "my books are not new .", "我的书不新。"),
    (looks(some("apple", THAT, 2, "red"), "good", ASK), "are those two red apples good ?", "那两个红苹果好吗？"),
    # what somebody is
    (Identity(HE, some("teacher")), "he is a teacher .", "他是老师。"),
    (Identity(HE, some("teacher", adjective="good")), "he is a good teacher .", "他是一个好老师。"),
    (Identity(SHE, some("doctor"), DENY), "she is not a doctor .", "她不是医生。"),
    (Identity(WE, some("friend", None, None, "good")), "we are good friends .", "我们是好朋友。"),
    (Identity(YOU, some("doctor", I, adjective="new"), ASK), "are you my new doctor ?", "你是我的新医生吗？"),
    (Identity(I, some("student", SHE)), "i am her student .", "我是她的学生。"),
    # old things and old living ones
    (does(WE, "sell", some("chair", None, 7, "old"), PAST), "we sold seven old chairs .", "我们卖了七把旧椅子。"),
    (does(WE, "need", some("friend", THEY, adjective="old")), "we need their old friend .", "我们需要他们的老朋友。"),
    (does(YOU, "love", some("dog", THIS, adjective="old")), "you love this old dog .", "你爱这只老狗。"),
    (looks(some("cat", HE), "old", very=True), "his cat is very old .", "他的猫很老。"),
    (looks(some("hat", HE), "old", ASK), "is his hat old ?", "他的帽子旧吗？"),
]
# fmt: on


@pytest.mark.parametrize(("meaning", "source", "target"), SENTENCES, ids=[row[1] for row in SENTENCES])
def test_both_languages_say_it_right(meaning: Meaning, source: str, target: str) -> None:
    assert english(meaning) == source
    assert chinese(meaning) == target


def test_the_table_has_every_noun_verb_adjective_and_mood() -> None:
    words = {word for _, source, _ in SENTENCES for word in source.split()}
    assert all({noun.singular, noun.plural} & words for noun in NOUNS)
    assert all({verb.base, verb.third, verb.past} & words for verb in VERBS)
    assert {adjective.english for adjective in ADJECTIVES} <= words
    assert {meaning.mood for meaning, _, _ in SENTENCES} == set(Mood)


@pytest.mark.parametrize(
    ("number", "words", "characters"),
    [
        (1, "one", "一"),
        (2, "two", "两"),
        (3, "three", "三"),
        (10, "ten", "十"),
        (11, "eleven", "十一"),
        (12, "twelve", "十二"),
        (19, "nineteen", "十九"),
        (20, "twenty", "二十"),
        (22, "twenty two", "二十二"),
        (40, "forty", "四十"),
        (85, "eighty five", "八十五"),
        (90, "ninety", "九十"),
        (99, "ninety nine", "九十九"),
    ],
)
def test_numbers(number: int, words: str, characters: str) -> None:
    assert number_words(number) == words
    assert numeral(number) == characters


def test_every_number_has_its_own_name_in_both_languages() -> None:
    assert len(set(map(number_words, range(1, 100)))) == len(set(map(numeral, range(1, 100)))) == 99


CLASSIFIERS = {
    "只": "cat dog bird",
    "匹": "horse",
    "本": "book dictionary",
    "个": "apple cup backpack friend teacher student doctor",
    "辆": "car bicycle",
    "张": "table photo",
    "把": "chair umbrella",
    "支": "pen",
    "件": "shirt",
    "顶": "hat",
}


def test_classifiers() -> None:
    assert {noun.singular: noun.classifier for noun in NOUNS} == {
        noun: classifier for classifier, nouns in CLASSIFIERS.items() for noun in nouns.split()
    }
