"""What is in a file of sentence pairs, before anything is trained on it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transformer.data.encoding import Decoded
from transformer.data.grouping import Group, group_by_source, normalised
from transformer.data.odd import Odd, mixed_width, odd_in_lines, unusual_scripts
from transformer.data.pair_file import Fault, Row, scan
from transformer.data.split import Split, split
from transformer.data.tokenisers import (
    CharacterTokeniser,
    Coverage,
    Tokeniser,
    WordTokeniser,
    count_tokens,
    coverage,
    limited_vocabulary,
)

SHARES = (0.0, 0.5, 0.9, 0.99, 1.0)  # of the quantiles: least, median, ..., greatest
LONGEST = 3


class Lengths(NamedTuple):
    """Lengths of one side: in which unit, its quantiles at SHARES, and the longest rows with their lengths."""

    side: str
    unit: str
    quantiles: tuple[int, ...]
    longest: tuple[tuple[int, int], ...]  # (line, length)


@dataclass(frozen=True)
class Report:
    """What was found. All lines are counted from 1.

    lines: that were looked at; unread: those after them, for which there was no time.
    faults: lines that are no pair. duplicates: lines whose pair stood before. several: sources with several targets.
    too_long: pairs left out for a source of more than the limit of words; `rows` and all below it are without them.
    outside: of each side, how much a vocabulary of the limited size does not know; empty if there is no limit.
    """

    encoding: str
    marked: bool
    lines: int
    unread: int
    blank: int
    returns: int
    faults: tuple[Fault, ...]
    too_long: int
    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    parts: Split
    duplicates: tuple[int, ...]
    odd: tuple[Odd, ...]
    lengths: tuple[Lengths, ...]
    outside: dict[str, Coverage]

    @property
    def several(self) -> tuple[Group, ...]:
        """The groups with more than one right target, those with the most first."""
        many = [group for group in self.groups if len(group.targets) > 1]
        return tuple(sorted(many, key=lambda group: -len(group.targets)))

    @property
    def problem(self) -> str | None:
        """Why the file can't be used as it is; None if it can."""
        if self.faults:
            more = f", and {len(self.faults) - 1:,} more lines are no pair" if len(self.faults) > 1 else ""
            return f"{self.faults[0]}{more}"
        if not self.rows:
            limited = f" (all {self.too_long:,} are longer than the limit)" if self.too_long else ""
            return f"no pair in it{limited}: each line has to be source<TAB>target"
        return None


def check(
    decoded: Decoded,
    limit_words: int | None = None,
    vocabulary: int | None = None,
    in_time: Callable[[], bool] = lambda: True,
) -> Report:
    """Return the report on a decoded file.

    limit_words: of a source, marks count too. vocabulary: the size of each side's, specials too. in_time: asked before
    each line; what comes after its first no is left unread.

    Raises ValueError for a vocabulary without place for a token.
    """
    lines = decoded.text.split("\n")
    if lines[-1] == "":  # the last line ends in a line feed, as it should
        lines.pop()
    total = len(lines)
    faults: list[Fault] = []
    every: list[Row] = []
    words: dict[int, list[str]] = {}
    for item in scan(decoded.text):
        if not in_time():
            del lines[item.line - 1 :]
            break
        if isinstance(item, Fault):
            faults.append(item)
        else:
            every.append(item)
            words[item.line] = words_of(item.source)
    rows = [row for row in every if limit_words is None or len(words[row.line]) <= limit_words]
    groups = group_by_source(rows)
    sides = {
        "source": [(row.line, row.source) for row in rows],
        "target": [(row.line, row.target) for row in rows],
    }
    numbered = [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]
    odd = odd_in_lines(numbered)
    for side, texts in sides.items():
        odd += mixed_width(side, texts) + unusual_scripts(side, texts)
    source = [words[row.line] for row in rows]
    target = [CharacterTokeniser().encode(row.target) for row in rows]
    return Report(
        encoding=decoded.encoding,
        marked=decoded.marked,
        lines=len(lines),
        unread=total - len(lines),
        blank=sum(not line.strip() for line in lines),
        returns=sum(line.endswith("\r") for line in lines),
        faults=tuple(faults),
        too_long=len(every) - len(rows),
        rows=tuple(rows),
        groups=tuple(groups),
        parts=split(groups),
        duplicates=duplicates(rows),
        odd=tuple(odd),
        lengths=(
            *lengths("source", "words", rows, map(len, source)),
            *lengths("source", "characters", rows, (len(row.source) for row in rows)),
            *lengths("target", "characters", rows, map(len, target)),
        ),
        outside={}
        if vocabulary is None
        else {"source words": outside(source, vocabulary), "target characters": outside(target, vocabulary)},
    )


def words_of(text: str, tokeniser: Tokeniser = WordTokeniser()) -> list[str]:  # noqa: B008 - it can't change
    """The words and marks of a text, without the tokens that say how these were spaced."""
    return [token for token in tokeniser.encode(text) if len(token) == 1 or token[0] != "<"]


def duplicates(rows: Iterable[Row]) -> tuple[int, ...]:
    """The lines of pairs that stood before: the same source as it is normalised, and the same target."""
    seen: set[tuple[str, str]] = set()
    again = []
    for row in rows:
        pair = normalised(row.source), row.target
        if pair in seen:
            again.append(row.line)
        seen.add(pair)
    return tuple(again)


def lengths(side: str, unit: str, rows: Sequence[Row], sizes: Iterable[int]) -> list[Lengths]:
    """The quantiles of lengths, each a length that occurs; nothing for no rows."""
    by_size = sorted(((size, row.line) for size, row in zip(sizes, rows, strict=True)), key=lambda item: item[0])
    if not by_size:
        return []
    quantiles = tuple(by_size[round(share * (len(by_size) - 1))][0] for share in SHARES)
    return [Lengths(side, unit, quantiles, tuple((line, size) for size, line in by_size[: -LONGEST - 1 : -1]))]


def outside(texts: Sequence[Sequence[str]], size: int) -> Coverage:
    """How many of the texts' tokens are outside the vocabulary of their most frequent ones."""
    counts = count_tokens(texts)
    return coverage(counts, limited_vocabulary(counts, size))
