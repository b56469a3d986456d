"""The report on a file: each finding with its lines, and nothing found where nothing is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.checks import check
from transformer.data.encoding import decode

CLEAN = "Hi.\t嗨。\tCC\nWait!\t等等！\tCC\nWait!\t等一下！\tCC\nIt's 3.5 km.\t三点五公里。\tCC\n"


def report(text, **options):
    return check(decode(text.encode()), **options)


def odd(text):
    return {(one.kind, one.what): (one.times, one.lines) for one in report(text).odd}


def test_nothing_odd_is_found_in_a_clean_file():
    found = report(CLEAN)
    assert (found.encoding, found.marked, found.lines, found.blank, found.returns) == ("utf-8", False, 4, 0, 0)
    assert (found.faults, found.odd, found.duplicates, found.problem) == ((), (), (), None)
    assert (len(found.rows), len(found.groups), found.too_long, found.unread) == (4, 3, 0, 0)
    assert [(group.source, group.targets) for group in found.several] == [("Wait!", ("等等！", "等一下！"))]
    assert sum(map(len, found.parts)) == 3


def test_lines_are_counted_blank_ones_and_carriage_returns_too():
    found = report("\ufeffa\tb\r\n\r\n   \nc\td")
    assert (found.marked, found.lines, found.blank, found.returns, len(found.rows)) == (True, 4, 2, 2, 2)
    assert found.odd == ()


def test_pairs_that_stood_before_are_named_by_their_lines():
    assert report("A.\tb\na.\tc\nx\ty\na.\tb\nA.\tc\n").duplicates == (4, 5)


def test_all_lines_that_are_no_pair_are_found_and_the_first_is_the_problem():
    found = report("a\tb\nno tab\n\tc\nd\t\n")
    assert [(fault.line, fault.wrong) for fault in found.faults] == [
        (2, "no tab in it"), (3, "the source is empty"), (4, "the target is empty")
    ]  # fmt: skip
    assert found.problem.startswith("line 2: no tab in it; ")
    assert found.problem.endswith("and 2 more lines are no pair")
    assert "no pair in it" in report("\n").problem


@pytest.mark.parametrize(
    ("char", "kind", "what"),
    [
        ("\u200b", "no width, dropped", "U+200B ZERO WIDTH SPACE"),
        ("\ufeff", "no width, dropped", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\x07", "control", "U+0007"),
        ("\r", "control", "U+000D"),
        ("\u2028", "control", "U+2028 LINE SEPARATOR"),
        ("\u202e", "control", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\ufffd", "lost in an earlier conversion", "U+FFFD REPLACEMENT CHARACTER"),
        ("\ue000", "unassigned or private", "U+E000"),
        ("\u00a0", "unusual space", "U+00A0 NO-BREAK SPACE"),
    ],
)
def test_an_odd_character_is_counted_with_its_lines_in_any_column(char, kind, what):
    text = f"a\tb\nc{char}{char}d\te{char}f\ng\th\n\tx{char}y\ni\tj\tC{char}C\n"
    assert odd(text)[kind, what] == (5, (2, 4, 5))


def test_marks_of_the_rarer_width_are_odd_on_their_side():
    text = "a.\t甲。\nb.\t乙。\nc，\t丙!\nd.\t丁，3.5 U.S 10:30\n"
    assert odd(text) == {
        ("half width in the target", "!"): (1, (3,)), ("full width in the source", "，"): (1, (3,))
    }  # fmt: skip


def test_letters_of_a_rare_script_are_odd_on_their_side():
    ordinary = "".join(f"the cat number {'x' * n}\t第{'一' * 40}只猫\n" for n in range(1, 10))
    assert odd(ordinary) == {}
    found = odd(ordinary + "the c\u0430t\tアQ\n")
    assert found == {
        ("unusual script in the source", "Cyrillic: а"): (1, (10,)),
        ("unusual script in the target", "Katakana: ア"): (1, (10,)),
        ("unusual script in the target", "Latin: Q"): (1, (10,)),
    }


def test_lengths_are_those_of_rows_with_the_longest_named():
    text = "".join(f"{'a ' * n}.\t{'字' * (2 * n)}\n" for n in range(1, 102))
    words, characters, target = report(text).lengths
    assert words[:3] == ("source", "words", (2, 52, 92, 101, 102))
    assert words.longest == ((101, 102), (100, 101), (99, 100))
    assert characters.quantiles == (3, 103, 183, 201, 203)
    assert target.quantiles == (2, 102, 182, 200, 202)


def test_a_limit_leaves_long_sources_out_and_marks_count():
    text = "a b c.\tx\nA, b!\ty\na b c d e\tz\n"
    found = report(text, limit_words=4)
    assert [row.target for row in found.rows] == ["x", "y"]
    assert found.too_long == 1
    assert "all 3 are longer than the limit" in report(text, limit_words=1).problem


def test_a_vocabulary_is_the_most_frequent_tokens_and_the_rest_is_told():
    found = report("a a a b\t甲甲\na b c\t乙甲\nd\t丙乙\n", vocabulary=6)
    words, characters = found.outside.values()
    assert words == (8, 2, {"c": 1, "d": 1})
    assert characters == (6, 1, {"丙": 1})
    assert report("a\tb\n").outside == {}
    with pytest.raises(ValueError, match="its size is at least 5, not 4"):
        report("a\tb\n", vocabulary=4)


def test_out_of_time_the_rest_is_left_unread():
    left = iter([True, True, False])
    found = report(CLEAN, in_time=lambda: next(left))
    assert (found.lines, found.unread, len(found.rows)) == (2, 2, 2)


@given(st.text(), st.none() | st.integers(1, 5), st.none() | st.integers(5, 9))
def test_no_text_breaks_the_report(text, limit, vocabulary):
    text = text.replace("\0", "\t").replace("0", "\t").replace("1", "\n")
    found = report(text, limit_words=limit, vocabulary=vocabulary)
    assert len(found.rows) + found.too_long + len(found.faults) + found.blank == found.lines or "\r" in text
    assert (found.problem is None) == bool(found.rows and not found.faults)
