"""The words: 22 nouns with their classifiers, 12 verbs, 8 adjectives, pronouns, times, places.

Left out where a literal pair would be odd Chinese: a black car (黑车 is an unlicensed taxi), an old bird (老鸟 an old
hand), an old teacher (老老师), and a red or white bag (红包, 白包 are gifts of money; hence a backpack, 背包).

Each word is one object, compared by identity.
"""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a noun stands for; verbs choose their objects by it."""

    THING = "thing"
    ANIMAL = "animal"
    PERSON = "person"


class Tense(Enum):
    """When it happens; a wish ("wants to buy") counts as a tense of its own."""

    PRESENT = "present"
    PAST = "past"
    FUTURE = "future"
    WISH = "wish"


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A person who acts, is acted on, or owns."""

    subject: str
    object: str
    possessive: str
    chinese: str
    be: str
    person: int
    plural: bool = False

    @property
    def third_singular(self) -> bool:
        """Whether a verb takes its -s."""
        return self.person == 3 and not self.plural

    def overlaps(self, other: "Pronoun") -> bool:
        """Whether the two share a person, which would ask for a reflexive: i and me, but also we and me."""
        return self is other or self.person == other.person == 1


@dataclass(frozen=True, eq=False)
class Pointer:
    """This or that."""

    singular: str
    plural: str
    chinese: str


@dataclass(frozen=True, eq=False)
class Adverbial:
    """A time or a place: last in English, before the verb in Chinese."""

    english: str
    chinese: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """A property; `living` is its Chinese word for what is alive, where that differs."""

    english: str
    chinese: str
    living: str = ""


@dataclass(frozen=True, eq=False)
class Noun:
    """A countable noun, its Chinese classifier, and the adjectives that go with it."""

    singular: str
    plural: str
    chinese: str
    classifier: str
    kind: Kind
    adjectives: tuple[Adjective, ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A transitive verb.

    An event can be past and has a place; a state ("love", "have") has neither. `present_times` are the times that suit
    its present tense, `denial` is its Chinese "not" there.
    """

    base: str
    third: str
    past: str
    chinese: str
    objects: tuple[Noun, ...]
    tenses: tuple[Tense, ...]
    takes_pronoun: bool = True
    present_times: tuple[Adverbial, ...] = ()
    denial: str = "不"

    @property
    def is_event(self) -> bool:
        """Whether it happens, in place and time."""
        return Tense.PAST in self.tenses


I = Pronoun("i", "me", "my", "我", "am", 1)  # noqa: E741
YOU = Pronoun("you", "you", "your", "你", "are", 2)
HE = Pronoun("he", "him", "his", "他", "is", 3)
SHE = Pronoun("she", "her", "her", "她", "is", 3)
WE = Pronoun("we", "us", "our", "我们", "are", 1, plural=True)
THEY = Pronoun("they", "them", "their", "他们", "are", 3, plural=True)
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)

THIS = Pointer("this", "these", "这")
THAT = Pointer("that", "those", "那")
POINTERS = (THIS, THAT)

NOW = (Adverbial("now", "现在"),)
EVERY = (
    Adverbial("every day", "每天"),
    Adverbial("every morning", "每天早上"),
    Adverbial("every year", "每年"),
)
TIMES: dict[Tense, tuple[Adverbial, ...]] = {
    Tense.PRESENT: NOW + EVERY,
    Tense.WISH: NOW,
    Tense.PAST: (
        Adverbial("yesterday", "昨天"),
        Adverbial("this morning", "今天早上"),
        Adverbial("last week", "上周"),
        Adverbial("last year", "去年"),
    ),
    Tense.FUTURE: (
        Adverbial("tomorrow", "明天"),
        Adverbial("tonight", "今晚"),
        Adverbial("next week", "下周"),
        Adverbial("next year", "明年"),
    ),
}
PLACES = (
    Adverbial("at home", "在家"),
    Adverbial("at school", "在学校"),
    Adverbial("in the park", "在公园"),
    Adverbial("in the shop", "在商店"),
    Adverbial("in beijing", "在北京"),
)

BIG, SMALL = Adjective("big", "大"), Adjective("small", "小")
NEW, OLD = Adjective("new", "新"), Adjective("old", "旧", living="老")
GOOD = Adjective("good", "好")
RED, WHITE, BLACK = Adjective("red", "红"), Adjective("white", "白"), Adjective("black", "黑")
ADJECTIVES = (BIG, SMALL, NEW, OLD, GOOD, RED, WHITE, BLACK)
SIZES, AGES, COLOURS = (BIG, SMALL), (NEW, OLD), (RED, WHITE, BLACK)

ANIMALS = (
    Noun("cat", "cats", "猫", "只", Kind.ANIMAL, (*SIZES, WHITE, BLACK, OLD)),
    Noun("dog", "dogs", "狗", "只", Kind.ANIMAL, (*SIZES, WHITE, BLACK, OLD)),
    Noun("bird", "birds", "鸟", "只", Kind.ANIMAL, (*SIZES, WHITE, BLACK)),
    Noun("horse", "horses", "马", "匹", Kind.ANIMAL, (*SIZES, WHITE, BLACK, OLD)),
)
THINGS = (
    Noun("book", "books", "书", "本", Kind.THING, (*AGES, GOOD)),
    Noun("dictionary", "dictionaries", "词典", "本", Kind.THING, (*SIZES, *AGES, GOOD)),
    Noun("apple", "apples", "苹果", "个", Kind.THING, (*SIZES, RED, GOOD)),
    Noun("cup", "cups", "杯子", "个", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("backpack", "backpacks", "背包", "个", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("car", "cars", "车", "辆", Kind.THING, (*SIZES, RED, WHITE, *AGES, GOOD)),
    Noun("bicycle", "bicycles", "自行车", "辆", Kind.THING, (*SIZES, *COLOURS, *AGES, GOOD)),
    Noun("table", "tables", "桌子", "张", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("photo", "photos", "照片", "张", Kind.THING, (*SIZES, *AGES, GOOD)),
    Noun("chair", "chairs", "椅子", "把", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("umbrella", "umbrellas", "雨伞", "把", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("pen", "pens", "笔", "支", Kind.THING, (*COLOURS, *AGES, GOOD)),
    Noun("shirt", "shirts", "衬衫", "件", Kind.THING, (*SIZES, *COLOURS, *AGES)),
    Noun("hat", "hats", "帽子", "顶", Kind.THING, (*SIZES, *COLOURS, *AGES)),
)
FRIEND = Noun("friend", "friends", "朋友", "个", Kind.PERSON, (*AGES, GOOD))
PEOPLE = (
    FRIEND,
    Noun("teacher", "teachers", "老师", "个", Kind.PERSON, (NEW, GOOD)),
    Noun("student", "students", "学生", "个", Kind.PERSON, (NEW, GOOD)),
    Noun("doctor", "doctors", "医生", "个", Kind.PERSON, (NEW, GOOD)),
)
NOUNS = ANIMALS + THINGS + PEOPLE

_NOT_DRAWN = ("photo",)
_NOT_WASHED = ("bird", "book", "dictionary", "photo", "pen", "umbrella")
_STATE = (Tense.PRESENT, Tense.PRESENT, Tense.FUTURE)  # twice as often as the future
_EVENT = (Tense.PRESENT, Tense.PAST, Tense.FUTURE, Tense.WISH)


def _without(nouns: tuple[Noun, ...], excluded: tuple[str, ...]) -> tuple[Noun, ...]:
    return tuple(noun for noun in nouns if noun.singular not in excluded)


VERBS = (
    Verb("love", "loves", "", "爱", ANIMALS + PEOPLE, _STATE),
    Verb("like", "likes", "", "喜欢", NOUNS, _STATE),
    Verb("know", "knows", "", "认识", PEOPLE, (Tense.PRESENT,)),
    Verb("need", "needs", "", "需要", THINGS + PEOPLE, _STATE, present_times=NOW),
    Verb("have", "has", "", "有", NOUNS, _STATE, takes_pronoun=False, present_times=NOW, denial="没"),
    Verb("see", "", "saw", "看见", NOUNS, (Tense.PAST, Tense.FUTURE)),
    Verb("find", "", "found", "找到", NOUNS, (Tense.PAST, Tense.FUTURE, Tense.WISH)),
    Verb("help", "helps", "helped", "帮助", ANIMALS + PEOPLE, _EVENT, present_times=EVERY),
    Verb("buy", "buys", "bought", "买", ANIMALS + THINGS, _EVENT, takes_pronoun=False, present_times=EVERY),
    Verb("sell", "sells", "sold", "卖", ANIMALS + THINGS, _EVENT, takes_pronoun=False, present_times=EVERY),
    Verb("draw", "draws", "drew", "画", _without(NOUNS, _NOT_DRAWN), _EVENT, present_times=EVERY),
    Verb("wash", "washes", "washed", "洗", _without(ANIMALS + THINGS, _NOT_WASHED), _EVENT, takes_pronoun=False,
         present_times=EVERY),
)  # fmt: skip
