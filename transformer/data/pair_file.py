"""Files of sentence pairs, as Tatoeba and Anki have them: `English<TAB>Target[<TAB>attribution]`, no header.

A line ends at a line feed and nowhere else: Unicode knows eight other characters that `str.splitlines` would split at,
and all of them stand in sentences that people typed. A quotation mark means itself, so no csv reader. Text is brought
to NFC, which looks the same and is the same. Not to NFKC, which makes full-width punctuation ASCII: Chinese punctuation
is full-width. Characters without width are dropped.
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from transformer.data.encoding import decode
from transformer.data.errors import DataError

ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"  # they only look like nothing: two words that look equal are not
_DROPPED = dict.fromkeys(map(ord, ZERO_WIDTH))


class Row(NamedTuple):
    """A pair as it stands in the file: line (from 1), source, target, and in how many columns the line was."""

    line: int
    source: str
    target: str
    columns: int = 2


class Fault(NamedTuple):
    """A line that is no pair: its number, what is wrong with it, and what to do."""

    line: int
    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.wrong}; {self.remedy}"


def read_rows(path: str | Path, encoding: str | None = None) -> list[Row]:
    """Return the pairs of a file, in its order; blank lines are skipped.

    encoding: what the file is in; None: what its byte-order mark says, else UTF-8. Raises DataError that names the file
    and the first line that can't be used; OSError if the file can't be read.
    """
    rows = []
    try:
        for found in scan(decode(Path(path).read_bytes(), encoding).text):
            if isinstance(found, Fault):
                raise DataError(str(found))
            rows.append(found)
        if not rows:
            raise DataError("no pair in it: each line has to be source<TAB>target")
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return rows


def scan(text: str) -> Iterator[Row | Fault]:
    """Yield what each line that is not blank holds: a pair, or what is wrong with it."""
    if "\n" not in text.rstrip("\r") and "\r" in text.rstrip("\r"):
        yield Fault(1, "its lines end in a carriage return alone", "save it with line feeds, as editors do today")
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield read_line(number, line)


def read_line(number: int, line: str) -> Row | Fault:
    """A line as a pair, both sides cleaned; or what is wrong with it."""
    columns = line.split("\t")
    if len(columns) < 2:
        return Fault(number, "no tab in it", "write source<TAB>target, or take the line out")
    source, target = clean(columns[0]), clean(columns[1])
    if not source or not target:
        empty = "both columns are" if not source and not target else f"the {'target' if source else 'source'} is"
        return Fault(number, f"{empty} empty", "write it, or take the line out")
    return Row(number, source, target, len(columns))


def clean(text: str) -> str:
    """Text in NFC, without characters of no width, and without white space at its ends."""
    return unicodedata.normalize("NFC", text.translate(_DROPPED)).strip()
