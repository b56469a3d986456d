"""Tokenisers as JSON files."""

import json
from pathlib import Path
from typing import Any

from transformer.data.tokenisers.byte_pairs import BytePairTokeniser
from transformer.data.tokenisers.characters import CharacterTokeniser
from transformer.data.tokenisers.words import WordTokeniser

FORMAT = "minigrad-transformer tokeniser 1"
AnyTokeniser = WordTokeniser | CharacterTokeniser | BytePairTokeniser


def to_json(tokeniser: AnyTokeniser) -> str:
    """Return a JSON text that `from_json` reads."""
    content: dict[str, Any] = {"format": FORMAT}
    match tokeniser:
        case WordTokeniser(lower=lower):
            content |= {"kind": "words", "lower": lower}
        case CharacterTokeniser():
            content |= {"kind": "characters"}
        case BytePairTokeniser(merges=merges):
            content |= {"kind": "byte pairs", "merges": merges}
    return json.dumps(content, ensure_ascii=False) + "\n"


def from_json(text: str) -> AnyTokeniser:
    """Return the tokeniser that `to_json` wrote; raises ValueError for any other text."""
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a tokeniser: broken JSON ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'not a tokeniser: no "format": "{FORMAT}" in it')
    match content:
        case {"kind": "words", "lower": bool(lower)}:
            return WordTokeniser(lower)
        case {"kind": "characters"}:
            return CharacterTokeniser()
        case {"kind": "byte pairs", "merges": list(merges)}:
            try:
                return BytePairTokeniser(tuple(tuple(merge) if isinstance(merge, list) else merge for merge in merges))
            except ValueError as error:
                raise ValueError(f"not a tokeniser: {error}") from None
    raise ValueError(f"not a tokeniser: its kind is {content.get('kind')!r}, or what belongs to this kind is missing")


def save(tokeniser: AnyTokeniser, path: str | Path) -> None:
    """Write the tokeniser to `path` as UTF-8 JSON."""
    Path(path).write_text(to_json(tokeniser), encoding="utf-8", newline="\n")


def load(path: str | Path) -> AnyTokeniser:
    """Read what `save` wrote; raises ValueError that names the file if it holds anything else."""
    try:
        return from_json(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a tokeniser: not UTF-8 text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
