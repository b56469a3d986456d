from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.drawing.text import clean, escape, shorten, width


@given(st.text())
def test_escaped_text_is_valid_xml_and_says_what_clean_says(text: str) -> None:
    read = ElementTree.fromstring(f"<t>{escape(text)}</t>").text or ""
    assert read.replace("\\\\", "\\") == clean(text)


@given(st.text())
def test_cleaning_twice_changes_nothing_more_and_keeps_the_length(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert len(clean(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\0b\x1bc\n", "a␀b␛c␊"),
        ("\ud800\uffff", "��"),
        (" a  b ", "\u00a0a\u00a0\u00a0b\u00a0"),
        ("<lambda> <map>", "<lambda> <map>"),
        ("猫\\", "猫\\"),
        (" ", "\u00a0"),
        ("", ""),
    ],
)
def test_what_xml_forbids_is_made_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_long_text_loses_its_middle() -> None:
    assert shorten("x" * 20 + "end", 12) == "xxxxxxx…xend"
    assert len(shorten("x" * 100, 40)) == 40
    assert shorten("short", 40) == "short"


def test_width_knows_helvetica_and_chinese() -> None:
    assert width("The quick brown fox!", 14) == pytest.approx(129.17, abs=0.05)
    assert width("abc", 10, bold=True) > width("abc", 10)
    assert width("你好", 10) == 20.0
    assert width("e\u0301", 10) == width("e", 10)
