"""`python -m demos data check FILE`: what is in a file of sentence pairs, before anything is trained on it."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer.data.checks import Report

SUMMARY = "check a file of sentence pairs before anything is trained on it"
MADE_BY = "python -m demos data check"
SHOWN = 10  # rows of a table, where there could be thousands
EXAMPLES = 5
SHOWN_LINES = 6
WIDEST = 60  # characters of a sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("action", choices=("check",), help="what to do: check")
    parser.add_argument("file", type=Path, metavar="FILE", help="lines of source<TAB>target, maybe more columns")
    parser.add_argument("--encoding", metavar="E", help="of the file (default: its byte-order mark's, else UTF-8)")
    parser.add_argument(
        "--limit-words", type=positive_number, metavar="N",
        help="leave out pairs whose source has more words and marks, as training will",
    )  # fmt: skip
    parser.add_argument(
        "--vocabulary", type=positive_number, metavar="N", help="tell which tokens N of each side would not hold"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="of the pairs that are shown (default 0)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE.json", help="also write all that was found, every line number"
    )
    parser.add_argument(
        "--max-seconds", type=positive_real, default=60.0, metavar="S",
        help="look at no more lines than that leaves time for (default 60)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 with what to do if the file can't be used."""
    from transformer.data.checks import check
    from transformer.data.encoding import decode
    from transformer.data.errors import DataError

    enough = time.monotonic() + options.max_seconds / 2  # the other half is for counting what was read
    if options.out is not None:
        refuse_anothers(options.out)
    with told_plainly(OSError):
        data = options.file.read_bytes()
    try:
        decoded = decode(data, options.encoding)
    except DataError as error:
        raise UserError(f"{options.file}: {error}", status=1) from None
    with told_plainly(ValueError):
        report = check(decoded, options.limit_words, options.vocabulary, lambda: time.monotonic() < enough)
    tell(report, options)
    if options.out is not None:
        write(report, options.out)
    if report.problem is not None:
        raise UserError(f"{options.file}: {report.problem}", status=1)
    if report.unread:
        print(f"note: no time for the last {report.unread:,} lines (--max-seconds)", file=sys.stderr)
    print("\nThe file can be used.")
    return 0


def tell(report: "Report", options: argparse.Namespace) -> None:
    """The tables: what the file is, what is wrong, what is odd, how long its sentences are, and some of its pairs."""
    table((str(options.file), ""), summary(report, options.limit_words), ("", "bold"))
    if report.faults:
        table(
            ("line", "is no pair, since", "what to do"),
            [(f"{fault.line:,}", fault.wrong, fault.remedy) for fault in report.faults[:SHOWN]],
            ("", "bold red", ""),
            len(report.faults),
        )
    if report.odd:
        table(
            ("odd characters", "", "times", "in lines"),
            [(odd.kind, odd.what, f"{odd.times:,}", shown_lines(odd.lines)) for odd in report.odd],
            ("", "bold", "", "dim"),
        )
    if report.several:
        table(
            ("sources with most targets", "targets", ""),
            [
                (cut(group.source), str(len(group.targets)), cut(" | ".join(group.targets)))
                for group in report.several[:EXAMPLES]
            ],
            ("", "bold", ""),
            len(report.several),
        )
    if report.lengths:
        table(
            ("lengths", "in", "least", "median", "90%", "99%", "most", "the longest are in lines"),
            [
                (one.side, one.unit, *map(str, one.quantiles), shown_lines([line for line, _ in one.longest]))
                for one in report.lengths
            ],
            ("", "", "", "bold", "", "", "", "dim"),
        )
    if report.outside:
        table(
            ("outside the vocabulary", "different", "of all tokens", "the most frequent"),
            [
                (side, f"{len(one.missing):,}", percent_of(one.outside, one.total), " ".join(list(one.missing)[:SHOWN]))
                for side, one in report.outside.items()
            ],
            ("", "", "bold", ""),
        )
    if report.rows:
        chosen = Random(options.seed).sample(report.rows, min(EXAMPLES, len(report.rows)))
        table(
            ("line", "some pairs", ""),
            [(f"{row.line:,}", cut(row.source), cut(row.target)) for row in sorted(chosen)],
            ("dim", "", ""),
        )


def summary(report: "Report", limit_words: int | None) -> list[tuple[str, str]]:
    """What the file is, in lines of two columns."""
    mark = "with" if report.marked else "without"
    columns = Counter(row.columns for row in report.rows)
    parts = report.parts
    told = [
        ("encoding", f"{report.encoding}, {mark} a byte-order mark"),
        ("lines", f"{report.lines:,}, {report.blank:,} of them blank"),
        ("pairs", f"{len(report.rows):,}"),
        ("columns", ", ".join(f"{number} in {times:,} lines" for number, times in sorted(columns.items())) or "none"),
        ("sources", f"{len(report.groups):,}, {len(report.several):,} of them with several targets"),
        ("pairs that stood before", f"{len(report.duplicates):,} {shown_lines(report.duplicates)}".rstrip()),
        (
            "split by source",
            f"{len(parts.train):,} to train, {len(parts.validation):,} for validation, {len(parts.test):,} to test",
        ),
    ]
    if limit_words is not None:
        told.insert(3, ("left out", f"{report.too_long:,} pairs with more than {limit_words} words and marks"))
    if report.returns:
        told.insert(2, ("line ends", f"{report.returns:,} with a carriage return, which is dropped"))
    return told


def table(header: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str], total: int = 0) -> None:
    """A table and a blank line; total: how many rows there are, if not all are shown."""
    from demos.terminal.tables import print_table

    print_table(header, [[visible(cell) for cell in row] for row in rows], styles)
    if total > len(rows):
        print(f"... and {total - len(rows):,} more")
    print()


def shown_lines(lines: Sequence[int]) -> str:
    """The first line numbers, and how many more there are."""
    more = len(lines) - SHOWN_LINES
    return ", ".join(map(str, lines[:SHOWN_LINES])) + (f" and {more:,} more" if more > 0 else "")


def cut(text: str) -> str:
    """A sentence, without its end if it is long."""
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def visible(text: str) -> str:
    """A text whose control characters are written out: a terminal would obey them."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def percent_of(part: int, whole: int) -> str:
    """A share in per cent."""
    from demos.terminal.tables import percent

    return percent(part / whole if whole else 0.0).strip()


def write(report: "Report", path: Path) -> None:
    """All that was found as JSON."""
    from minigrad.atomic import write_atomically

    content: dict[str, Any] = {
        "made by": MADE_BY,
        "encoding": report.encoding,
        "byte-order mark": report.marked,
        "lines": report.lines,
        "unread": report.unread,
        "blank": report.blank,
        "pairs": len(report.rows),
        "too long": report.too_long,
        "faults": [fault._asdict() for fault in report.faults],
        "duplicates": report.duplicates,
        "several targets": [group._asdict() for group in report.several],
        "odd characters": [odd._asdict() for odd in report.odd],
        "lengths": [one._asdict() for one in report.lengths],
        "outside the vocabulary": {side: one._asdict() for side, one in report.outside.items()},
    }
    with told_plainly(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    print(f"{path}: all of it, with every line number")


def refuse_anothers(path: Path) -> None:
    """Raise UserError if there is a file that this command did not write."""
    if not path.exists():
        return
    try:
        ours = json.loads(path.read_bytes())["made by"] == MADE_BY
    except (ValueError, LookupError, TypeError, OSError):
        ours = False
    if not ours:
        raise UserError(f"{path}: not as this command wrote it, so it stays; move it, or pick another --out")
