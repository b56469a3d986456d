"""Characters that a file of sentence pairs should not hold, or that stand where others usually do."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from transformer.data.pair_file import ZERO_WIDTH

HALF_WIDTH = dict(zip("，。！？：；（）", ",.!?:;()", strict=True))  # Chinese marks and the ASCII ones of the same use
RARE = 100  # a script is unusual on a side if fewer than one in so many of the side's letters are of it
SPACES = " \u3000"  # the ordinary one and that of Chinese


class Odd(NamedTuple):
    """A kind of odd character, what exactly, how often (`times`), and the lines it is in, each once."""

    kind: str
    what: str
    times: int
    lines: tuple[int, ...]


Texts = Sequence[tuple[int, str]]
"""Line numbers, and what stands in these lines."""


def odd_in_lines(lines: Texts) -> list[Odd]:
    """Characters that are odd anywhere: without width, for control, unassigned or private, and unusual spaces."""
    kinds = {char: kind for char in count_characters(lines) if (kind := kind_of(char)) is not None}
    return found(lines, {char: (kind, code_and_name(char)) for char, kind in kinds.items()})


def kind_of(char: str) -> str | None:
    """What is odd about a character wherever it stands; None: nothing. A tab and a line feed make columns and lines."""
    category = unicodedata.category(char)
    if char in ZERO_WIDTH:
        return "no width, dropped"
    if char == "\ufffd":
        return "lost in an earlier conversion"
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return None if char in "\t\n" else "control"
    if category in ("Cn", "Co", "Cs"):
        return "unassigned or private"
    return "unusual space" if category == "Zs" and char not in SPACES else None


def mixed_width(side: str, texts: Texts) -> list[Odd]:
    """Marks of the width that is the rarer one on a side which has both: "。" in 95 of 100 sentences, and "." in 5.

    ASCII marks within ASCII text ("3.5", "U.S.A.", "10:30") belong to it.
    """
    marks: dict[str, list[tuple[int, str]]] = {"full": [], "half": []}
    for line, text in texts:
        for place, char in enumerate(text):
            if char in HALF_WIDTH:
                marks["full"].append((line, char))
            elif char in HALF_WIDTH.values() and not _within_ascii(text, place):
                marks["half"].append((line, char))
    rarer = min(marks, key=lambda width: len(marks[width]))
    here = marks[rarer]
    names = {char: (f"{rarer} width in the {side}", char) for _, char in here}
    return found(here, names)


def _within_ascii(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return before.isascii() and before.isalnum() and (after.isascii() and after.isalnum())


def unusual_scripts(side: str, texts: Texts) -> list[Odd]:
    """Letters of a script that is rare on a side: a Cyrillic "а" in an English word looks like an "a" and is none."""
    counts = count_characters(texts)
    scripts = {char: script for char in counts if (script := script_of(char)) is not None}
    sizes: Counter[str] = Counter()
    for char, script in scripts.items():
        sizes[script] += counts[char]
    total = sum(sizes.values())
    rare = {script for script, size in sizes.items() if size * RARE < total}
    shown: dict[str, str] = {}
    for script in rare:
        letters = sorted(char for char, of in scripts.items() if of == script)
        shown[script] = f"{script.capitalize()}: {' '.join(letters[:8])}{' ...' if len(letters) > 8 else ''}"
    names = {
        char: (f"unusual script in the {side}", shown[script]) for char, script in scripts.items() if script in rare
    }
    return found(texts, names)


def script_of(char: str) -> str | None:
    """The script of a letter by the first word of its name, as "LATIN"; None for what is no letter or has no name."""
    if unicodedata.category(char)[0] != "L":
        return None
    name = unicodedata.name(char, "")
    return name.replace("-", " ").split()[0].replace("FULLWIDTH", "full-width letters") if name else None


def count_characters(texts: Texts) -> Counter[str]:
    """How often each character occurs."""
    counts: Counter[str] = Counter()
    for _, text in texts:
        counts.update(text)
    return counts


def found(texts: Iterable[tuple[int, str]], odd: Mapping[str, tuple[str, str]]) -> list[Odd]:
    """Where the characters `odd` are, which have a kind and what is told of them, by kind."""
    counts: Counter[tuple[str, str]] = Counter()
    lines: defaultdict[tuple[str, str], dict[int, None]] = defaultdict(dict)
    for line, text in texts if odd else ():
        for char in text:
            if char in odd:
                counts[odd[char]] += 1
                lines[odd[char]][line] = None
    return [Odd(*told, count, tuple(lines[told])) for told, count in sorted(counts.items(), key=lambda item: item[0])]


def code_and_name(char: str) -> str:
    """A character that may not be visible, as text: "U+200B ZERO WIDTH SPACE"."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()
