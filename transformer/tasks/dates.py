"""Dates from English to Chinese: "Tuesday, February 7, 2045" is 2045年2月7日星期二.

Both sides are the full format of Unicode's CLDR, as Babel writes it (`pip install '.[data]'`). The parts change places,
names of months become numbers, digits are copied. A word is a token, a number goes digit by digit. Days are drawn from
the years 1000 to 2999, each as likely as any other; one in ten is held out.
"""

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DIGITS = "0123456789"
CHARACTERS = "年月日星期一二三四五六"  # 日 is the day and Sunday, too
FIRST, LAST = date(1000, 1, 1).toordinal(), date(2999, 12, 31).toordinal()
ONE_IN = 10


def full(day: date, language: str) -> str:
    """The date in CLDR's full format. Raises ImportError that says what to do if there is no Babel."""
    try:
        from babel.dates import format_date
    except ImportError as error:
        raise ImportError(f"the task dates needs Babel ({error}): pip install '.[data]'") from error
    return format_date(day, "full", locale=language)


def is_unseen(day: date) -> bool:
    """Whether this day is held out from training."""
    return held_out(f"dates:{day.isoformat()}", ONE_IN)


def sample(rng: np.random.Generator) -> Pair:
    """Draw a training pair. Raises ImportError if there is no Babel."""
    while is_unseen(day := _draw(rng)):
        pass
    return _pair(day)


def draw_test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Draw `size` distinct unseen days. Raises ImportError if there is no Babel."""
    rng = np.random.default_rng(seed)
    unseen: dict[date, None] = {}
    while len(unseen) < size:
        if is_unseen(day := _draw(rng)):
            unseen[day] = None
    return {"unseen days": [_pair(day) for day in unseen]}


def _draw(rng: np.random.Generator) -> date:
    return date.fromordinal(FIRST + int(rng.random() * (LAST - FIRST + 1)))


def _pair(day: date) -> Pair:
    return Pair(tuple(read(full(day, "en"))), tuple(full(day, "zh")))


def read(text: str) -> list[str]:
    """Split an English date into words, commas and digits; capitals do not matter."""
    return [token.capitalize() for token in re.findall(r"[A-Za-z]+|\S", text)]


def show(tokens: Sequence[str]) -> str:
    """Write an English date: no blank before a comma, nor within a number."""
    return re.sub(r" (?=,)|(?<=\d) (?=\d)", "", " ".join(tokens))


DATES = Task(
    name="dates",
    title="English dates to Chinese: Tuesday, February 7, 2045 -> 2045年2月7日星期二",
    source_vocabulary=Vocabulary([*WEEKDAYS, *MONTHS, *DIGITS, ","]),
    target_vocabulary=Vocabulary([*DIGITS, *CHARACTERS]),
    sample=sample,
    test_set=draw_test_set,
    test_size=10_000,
    tokenize_source=read,
    render_source=show,
    render_target="".join,
    example="Tuesday, February 7, 2045",
    max_source_length=10,  # weekday , month 1 0 , 2 0 4 5
    max_target_length=14,  # 2045年12月10日星期二
    recipe=Recipe(
        model={"d_model": 64, "heads": 4, "layers": 1, "d_ff": 256, "dropout": 0.0},
        training={"steps": 1000, "warmup": 200, "peak_rate": 3e-3, "window": 8},
    ),
    goal=0.999,
    budget=60,
)
