"""A file of sentence pairs, as a run reads them."""

import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer.tasks import Pair
    from transformer.training.run import Run
    from transformer.vocabulary import Vocabulary

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))  # of no width: they only look like nothing


def read_pairs(path: Path, opened: "Run") -> list["Pair"]:
    """The pairs of a UTF-8 file of `source<TAB>target` lines; a third column, as some collections have, is left out.

    Blank lines are skipped. Raises UserError that names the first line that can't be used, and why.
    """
    with told_plainly(OSError):
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {number}: not UTF-8 text") from None
    pairs, unknown = [], dict[str, None]()
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                pair = read_pair(line, opened)
            except UserError as error:
                raise UserError(f"{path}, line {number}: {error}") from None
            pairs.append(pair)
            unknown |= dict.fromkeys(opened.source_vocabulary.unknown(pair.source))
            unknown |= dict.fromkeys(opened.target_vocabulary.unknown(pair.target))
    if not pairs:
        raise UserError(f"{path}: there is no line of source<TAB>target in it")
    if unknown:
        named = ", ".join(list(unknown)[:10]) + (f" and {len(unknown) - 10} more" if len(unknown) > 10 else "")
        print(f"warning: not in the vocabulary, so never right: {named}", file=sys.stderr)
    return pairs


def read_pair(line: str, opened: "Run") -> "Pair":
    """The tokens of one line. Raises UserError that says what is wrong with it."""
    from transformer.tasks import Pair

    if "\0" in line:
        raise UserError("holds a NUL: is this UTF-16? Save it as UTF-8")
    parts = unicodedata.normalize("NFC", line).translate(INVISIBLE).split("\t")
    if len(parts) < 2:
        raise UserError("no tab between source and target")
    source = opened.task.tokenize_source(parts[0])
    target = split_into_words(parts[1], opened.target_vocabulary)
    for name, tokens, longest in (
        ("source", source, opened.task.max_source_length),
        ("target", target, opened.task.max_target_length),
    ):
        if not tokens:
            raise UserError(f"the {name} is empty")
        if len(tokens) > longest:
            raise UserError(f"the {name} has {len(tokens)} tokens, and the longest this model has learnt is {longest}")
    return Pair(tuple(source), tuple(target))


def split_into_words(text: str, vocabulary: "Vocabulary") -> list[str]:
    """The words of the vocabulary that `text` is made of, the longest first; a sign that starts none stands alone."""
    longest = max(map(len, vocabulary.tokens))
    words, place = [], 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        sizes = range(min(longest, len(text) - place), 1, -1)
        size = next((size for size in sizes if text[place : place + size] in vocabulary), 1)
        words.append(text[place : place + size])
        place += size
    return words
