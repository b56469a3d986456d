"""A source may have several right targets ("Wait!": 等等！ and 等一下！): found together, and all of them right."""

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from transformer.data.pair_file import Row, clean

_ONE_SPELLING = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})


class Group(NamedTuple):
    """A source as it was first written, all its right targets in the file's order, each once, and all its lines."""

    source: str
    targets: tuple[str, ...]
    lines: tuple[int, ...]


def group_by_source(rows: Iterable[Row]) -> list[Group]:
    """Return a group for each source, in the file's order; sources are equal if `normalised` says so."""
    members: dict[str, list[Row]] = {}
    for row in rows:
        members.setdefault(normalised(row.source), []).append(row)
    return [
        Group(same[0].source, tuple(dict.fromkeys(row.target for row in same)), tuple(row.line for row in same))
        for same in members.values()
    ]


def normalised(source: str) -> str:
    """What makes two sources one: the text without case, with single spaces, and with typewriter's quotes."""
    folded = unicodedata.normalize("NFD", clean(source).translate(_ONE_SPELLING)).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def wording(source: str) -> str:
    """The words of a source alone, normalised: "Stop!" and "stop." have the same. If it has none: all of it."""
    text = normalised(source)
    words = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in text.replace("'", ""))
    return " ".join(words.split()) or text
