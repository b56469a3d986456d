import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import DataError, read_rows
from transformer.data.pair_file import ZERO_WIDTH, Fault, Row, clean, scan

sides = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"])).filter(clean)


@pytest.fixture
def file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "pairs.txt"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_pairs_are_read_with_their_lines_and_the_attribution_is_left_out(file):
    text = "Wait!\t等等！\tCC-BY 2.0 #1\r\n\n  \t \nWait!\t等一下！\nGo on.\t继续。\tb\tc"
    rows = [Row(1, "Wait!", "等等！", 3), Row(4, "Wait!", "等一下！", 2), Row(5, "Go on.", "继续。", 4)]
    assert read_rows(file(text)) == rows
    assert read_rows(file(text, "utf-8-sig")) == rows


@given(st.lists(st.tuples(sides, sides), min_size=1))
def test_every_pair_of_strings_comes_back_cleaned_whatever_unicode_it_holds(pairs):
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    rows = list(scan(text))
    assert [row.line for row in rows] == list(range(1, len(pairs) + 1))
    assert [(row.source, row.target) for row in rows] == [(clean(source), clean(target)) for source, target in pairs]


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_lines_end_at_a_line_feed_only(char):
    assert list(scan(f"a{char}b\tc{char}d\n")) == [Row(1, f"a{char}b", f"c{char}d")]


def test_a_quotation_mark_means_itself():
    assert list(scan('"a\tb\n"c"\t""d\n')) == [Row(1, '"a', "b"), Row(2, '"c"', '""d')]


@given(st.text())
def test_text_is_nfc_and_full_width_marks_stay_so(text):
    cleaned = clean(text + "，")
    assert cleaned == unicodedata.normalize("NFC", cleaned)
    assert cleaned.endswith("，")
    assert not set(ZERO_WIDTH) & set(cleaned)
    assert clean(cleaned) == cleaned


def test_a_mark_parted_from_its_letter_by_nothing_visible_is_composed():
    assert clean("cafe\u200b\u0301 ") == "café"


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        ("a\tb\nc d\n", 2, "no tab in it"),
        ("a\tb\n\n\tc\n", 3, "the source is empty"),
        ("a\t\u200b \n", 1, "the target is empty"),
        ("\t\tthird", 1, "both columns are empty"),
        ("a\tb\rc\td\r", 1, "its lines end in a carriage return alone"),
    ],
)
def test_a_line_that_is_no_pair_is_named_with_what_to_do(file, text, line, wrong):
    faults = [found for found in scan(text) if isinstance(found, Fault)]
    assert [(fault.line, fault.wrong) for fault in faults] == [(line, wrong)]
    path = file(text)
    with pytest.raises(DataError) as caught:
        read_rows(path)
    assert str(caught.value) == f"{path}: line {line}: {wrong}; {faults[0].remedy}"


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", " \n\t\n"])
def test_a_file_without_a_pair_is_told_so(file, text):
    with pytest.raises(DataError, match=r"pairs.txt: no pair in it"):
        read_rows(file(text))


def test_an_encoding_error_names_the_file_and_the_line(file):
    with pytest.raises(DataError, match=r"pairs.txt: line 2: not utf-8 text .*--encoding"):
        read_rows(file("a\tb\nc\t嗨\n", "gb18030"))
    assert read_rows(file("a\tb\nc\t嗨\n", "gb18030"), "gb18030") == [Row(1, "a", "b"), Row(2, "c", "嗨")]


@given(st.text(), st.integers(0, 3))
def test_no_text_breaks_the_reader(text, tabs):
    for found in scan(text.replace(" ", "\t" * tabs)):
        assert found.line >= 1
        assert isinstance(found, Fault) or (found.source and found.target)
