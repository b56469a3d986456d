import re
import subprocess
import sys
from collections import Counter
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.tasks.dates import DATES, is_unseen, read, show

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905


def from_english(tokens):
    """The day that an English date names; its weekday has to be right."""
    weekday, month, day, year = re.fullmatch(r"(\w+), (\w+) (\d+), (\d+)", show(tokens)).groups()
    meant = date(int(year), MONTHS.index(month) + 1, int(day))
    assert WEEKDAYS[meant.weekday()] == weekday
    return meant


def from_chinese(tokens):
    """The day that a Chinese date names; its weekday has to be right."""
    year, month, day, weekday = re.fullmatch(r"(\d+)年(\d+)月(\d+)日星期(\w)", "".join(tokens)).groups()
    meant = date(int(year), int(month), int(day))
    assert "一二三四五六日"[meant.weekday()] == weekday
    return meant


def test_both_sides_of_a_pair_name_the_same_day_and_none_held_out_is_trained_on():
    rng = np.random.default_rng(0)
    for source, target in [DATES.sample(rng) for _ in range(3000)]:
        assert from_english(source) == from_chinese(target)
        assert not is_unseen(from_english(source))
    for source, target in DATES.test_set(1000)["unseen days"]:
        assert from_english(source) == from_chinese(target)
        assert is_unseen(from_english(source))


def test_the_test_set_holds_distinct_days_of_all_months_and_weekdays_from_1000_to_2999():
    days = [from_english(pair.source) for pair in DATES.test_set(2000)["unseen days"]]
    assert len(set(days)) == 2000
    assert 1000 <= min(day.year for day in days) < 1050
    assert 2950 < max(day.year for day in days) <= 2999
    assert min(Counter(day.month for day in days).values()) > 100  # 153 expected, 28 of 365.25 of 2000 in February
    assert min(Counter(day.weekday() for day in days).values()) > 200  # 286 expected


@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_what_babel_writes_is_in_the_vocabularies_and_reads_back(day):
    from babel.dates import format_date

    english, chinese = format_date(day, "full", locale="en"), format_date(day, "full", locale="zh")
    assert show(read(english)) == english
    assert DATES.source_vocabulary.unknown(read(english)) == DATES.target_vocabulary.unknown(chinese) == []
    assert from_english(read(english)) == from_chinese(chinese) == day
    assert len(read(english)) <= DATES.max_source_length
    assert len(chinese) <= DATES.max_target_length


def test_about_one_day_in_ten_is_held_out():
    days = [date.fromordinal(500_000 + number) for number in range(20_000)]
    assert 0.09 < sum(map(is_unseen, days)) / len(days) < 0.11


@pytest.mark.parametrize("text", ["tuesday,february 7,2045", "TUESDAY , February  7, 2045\n"])
def test_blanks_and_capitals_do_not_matter(text):
    assert show(read(text)) == "Tuesday, February 7, 2045"


def test_without_babel_all_other_tasks_work_and_dates_say_what_to_install():
    program = (
        "import sys; sys.modules['babel'] = sys.modules['babel.dates'] = None\n"
        "import numpy as np\n"
        "from transformer.tasks import TASKS\n"
        "TASKS['copy'].sample(np.random.default_rng(0)); TASKS['dates'].tokenize_source('May 1')\n"
        "for call in (lambda: TASKS['dates'].sample(np.random.default_rng(0)), lambda: TASKS['dates'].test_set(1)):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"the task dates needs Babel \(.*\): pip install '\.\[data\]'", line) for line in lines)
