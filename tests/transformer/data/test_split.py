"""Grouping by source and splitting: nothing that judges was ever trained on."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import Row, group_by_source, split
from transformer.data.grouping import normalised, wording
from transformer.data.pair_file import clean

SUBJECTS = ["I", "you", "Tom", "we", "they", "my sister", "the dog", "nobody"]
VERBS = ["see", "want", "lost", "sold", "like", "need", "found", "took"]
THINGS = ["it", "a book", "two cats", "the red car", "this", "some tea", "your hat", "everything"]


def many():
    """Look-alike rows, sorted by length as such files are; each source in two spellings."""
    sources = sorted((f"{s} {v} {t}" for s in SUBJECTS for v in VERBS for t in THINGS), key=len)
    texts = [text for source in sources for text in (f"{source}.", f"{source.upper()} !")]
    return [Row(line, text, f"译{line % 7}") for line, text in enumerate(texts, start=1)]


texts = st.text(st.characters(exclude_categories=["Cs"])).filter(clean)
rows = st.lists(st.tuples(texts | st.sampled_from(["a b", "A  b", "A b!", "'", "’"]), texts)).map(
    lambda pairs: [Row(line, clean(source), clean(target)) for line, (source, target) in enumerate(pairs, start=1)]
)


def test_targets_of_one_source_are_all_found_each_once_in_order():
    found = group_by_source([Row(1, "Wait!", "b"), Row(2, "Go.", "c"), Row(4, "wait!", "a"), Row(5, "Wait!", "b")])
    assert found == [("Wait!", ("b", "a"), (1, 4, 5)), ("Go.", ("c",), (2,))]


@pytest.mark.parametrize(
    ("one", "other"), [("I’m  in", "i'm in"), ("Café", "cafe\u0301"), ("“A”", '"a"'), ("STRASSE", "straße")]
)
def test_spellings_of_one_source_are_one(one, other):
    assert normalised(one) == normalised(other)
    assert wording(one) == wording(other)


def test_a_mark_makes_another_source_but_the_words_are_the_same():
    assert normalised("Stop!") != normalised("Stop.")
    assert wording("Stop!") == wording("stop .") == "stop"
    assert wording("ना!") != wording("नी!")  # vowel signs are part of words
    assert wording("?!") == "?!"


@given(rows, st.integers(2, 4))
def test_parts_share_no_source_and_lose_none(rows, one_in):
    groups = group_by_source(rows)
    parts = split(groups, one_in)
    assert sorted(group for part in parts for group in part) == sorted(groups)
    assert sorted(line for part in parts for group in part for line in group.lines) == [row.line for row in rows]
    words = [{wording(row.source) for group in part for row in rows if row.line in group.lines} for part in parts]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert not words[first] & words[second]


def test_the_split_depends_on_the_source_alone():
    rows = many()
    parts = split(group_by_source(rows))
    shuffled = rows[::-1]
    random.Random(3).shuffle(shuffled)
    for part, again in zip(parts, split(group_by_source(shuffled[:700])), strict=True):
        assert {wording(group.source) for group in again} <= {wording(group.source) for group in part}


def test_the_shares_are_about_what_was_asked():
    rows = many()
    train, validation, test = map(len, split(group_by_source(rows), one_in=8))
    assert train + validation + test == len(rows)
    for part in (validation, test):
        assert 0.5 * len(rows) / 8 < part < 1.5 * len(rows) / 8


def test_each_part_is_shuffled():
    for part in split(group_by_source(many()), one_in=4):
        lines = [group.lines[0] for group in part]
        half = len(lines) // 2
        assert abs(sum(lines[:half]) / half - sum(lines[half:]) / (len(lines) - half)) < 150  # sorted: 512


def test_a_split_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="one_in has to be at least 2"):
        split([], 1)
