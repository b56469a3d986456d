"""English number words to Chinese numerals, 0 to 999,999,999: "twenty-one" is 二十一.

English counts in thousands, Chinese in ten thousands (万) and their square (亿), so the digits are cut at other places:
"twelve million three hundred thousand" is 一千二百三十万. Chinese also says 零 where places in between are empty, once
for each gap; English says nothing there.

Every number of digits from 1 to 9 is as likely as any other, and a digit is 0 more often than by chance, since gaps are
what is hard. One number in ten is held out.
"""

import re
from collections.abc import Sequence

import numpy as np

from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary

BELOW_TWENTY = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
THOUSANDS = {1_000_000: "million", 1_000: "thousand"}
DIGITS = "零一二三四五六七八九"
PLACES = ("", "十", "百", "千")
MYRIADS = {100_000_000: "亿", 10_000: "万"}

MOST_DIGITS = 9
SHORT = 1_000  # numbers below are reported apart
SHARE_OF_ZEROS = 0.25  # of the digits after the first, beyond those that are 0 by chance
ONE_IN = 10


def english(number: int) -> list[str]:
    """The words for a number below 10^9, the American way, without "and"."""
    words: list[str] = []
    for size, name in THOUSANDS.items():
        if number >= size:
            words += [*_below_a_thousand(number // size), name]
            number %= size
    return words + _below_a_thousand(number) if number or not words else words


def _below_a_thousand(number: int) -> list[str]:
    if number >= 100:
        return [BELOW_TWENTY[number // 100], "hundred", *(_below_a_thousand(number % 100) if number % 100 else [])]
    if number < 20:
        return [BELOW_TWENTY[number]]
    return [TENS[number // 10 - 2], *([BELOW_TWENTY[number % 10]] if number % 10 else [])]


def chinese(number: int) -> str:
    """The numeral for a number below 10^9.

    零 stands where empty places lie between two digits, once for each gap: 三千万零四百, 一亿零六千. Zeros that end a
    group of four are no gap if the next group is full: 三千万四千. A numeral that starts with 一十 loses its 一: 十二.
    """
    if number == 0:
        return DIGITS[0]
    written, gap = "", False
    for size, name in (*MYRIADS.items(), (1, "")):
        group = number // size % 10_000
        if group:
            zero = DIGITS[0] if written and (gap or group < 1_000) else ""
            written += zero + _below_ten_thousand(group) + name
        gap = not group
    return written.removeprefix(DIGITS[1]) if written.startswith(DIGITS[1] + PLACES[1]) else written


def _below_ten_thousand(group: int) -> str:
    """A group of four digits, not 0: 零 for each gap between digits, none before the first or after the last."""
    digits = [int(digit) for digit in str(group)]
    written = "".join(
        DIGITS[digit] + PLACES[len(digits) - 1 - place] if digit else DIGITS[0] for place, digit in enumerate(digits)
    )
    return re.sub(f"{DIGITS[0]}+", DIGITS[0], written).rstrip(DIGITS[0])


def is_unseen(number: int) -> bool:
    """Whether this number is held out from training."""
    return held_out(f"numbers:{number}", ONE_IN)


def sample(rng: np.random.Generator) -> Pair:
    """Draw a training pair."""
    while is_unseen(number := _draw(rng)):
        pass
    return _pair(number)


def draw_test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Draw `size` distinct unseen numbers of 4 to 9 digits, and up to `size` of the unseen ones of 1 to 3 digits.

    Short numbers are reported apart because they are few: who has never read "six" alone may stumble over it.
    """
    rng = np.random.default_rng(seed)
    long: dict[int, None] = {}
    while len(long) < size:
        number = _draw(rng)
        if number >= SHORT and is_unseen(number):
            long[number] = None
    short = [int(number) for number in rng.permutation(SHORT) if is_unseen(int(number))][:size]
    return {"4-9 digits": [_pair(number) for number in long], "1-3 digits": [_pair(number) for number in short]}


def _draw(rng: np.random.Generator) -> int:
    length = 1 + int(rng.random() * MOST_DIGITS)
    first, *others = (rng.random(length) * 10).astype(int).tolist()
    kept = rng.random(length - 1) >= SHARE_OF_ZEROS
    return int("".join(map(str, (first, *(digit * keep for digit, keep in zip(others, kept.tolist(), strict=True))))))


def _pair(number: int) -> Pair:
    return Pair(tuple(english(number)), tuple(chinese(number)))


def read(text: str) -> list[str]:
    """Split English number words; "and", commas and hyphens are left out, as they say nothing."""
    return [word for word in re.split(r"[\s,-]+", text.lower()) if word and word != "and"]


def show(tokens: Sequence[str]) -> str:
    """Write English words with the hyphen that belongs into twenty-one."""
    pattern = rf"\b({'|'.join(TENS)}) ({'|'.join(BELOW_TWENTY[1:10])})\b"
    return re.sub(pattern, r"\1-\2", " ".join(tokens))


NUMBERS = Task(
    name="numbers",
    title="English number words to Chinese numerals: twenty-one -> 二十一",
    source_vocabulary=Vocabulary([*BELOW_TWENTY, *TENS, "hundred", *reversed(THOUSANDS.values())]),
    target_vocabulary=Vocabulary([*DIGITS, *PLACES[1:], *reversed(MYRIADS.values())]),
    sample=sample,
    test_set=draw_test_set,
    test_size=10_000,
    tokenize_source=read,
    render_source=show,
    render_target="".join,
    example="two hundred five million seventeen",
    max_source_length=14,  # nine hundred ninety-nine million nine hundred ninety-nine thousand nine hundred ninety-nine
    max_target_length=17,  # 九亿九千九百九十九万九千九百九十九
    recipe=Recipe(
        model={"d_model": 64, "heads": 4, "layers": 2, "d_ff": 256, "dropout": 0.0},
        training={"steps": 2000, "warmup": 200, "peak_rate": 3e-3, "window": 8},
    ),
    goal=0.999,
    budget=120,
)
