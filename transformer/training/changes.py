"""What a user changes of a task's recipe: by `a.b=c` on the command line, or with a file like a run's config.toml."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformer.training.config import SECTIONS, Changes
from transformer.training.errors import RunError
from transformer.training.settings import check_sections, read_toml

WHERE = "--set"
WORD = re.compile(r"[A-Za-z_][\w.-]*")
NAME = re.compile(r"[\w-]+\.[\w-]+|[\w-]+")


def parse_changes(settings: Sequence[str]) -> Changes:
    """The changes that texts like `model.layers=3` say. A value is TOML's; a bare word is taken as a string.

    Raises RunError for a text of another form, for a key that is unknown or comes twice, for a value of a wrong type.
    """
    changes: dict[str, dict[str, Any]] = {}
    for text in settings:
        key, equals, written = (part.strip() for part in text.partition("="))
        if not equals or not NAME.fullmatch(key) or key in SECTIONS:
            raise RunError(f"{WHERE} is followed by SECTION.NAME=VALUE, as in model.layers=3, not by {text!r}")
        section, dot, name = key.partition(".")
        check_sections(WHERE, {section: {name: _value(key, written)} if dot else None}, SECTIONS)
        if name in changes.get(section, {}):
            raise RunError(f"{WHERE}: {key} comes twice")
        changes.setdefault(section, {})[name] = _value(key, written)
    return changes


def read_changes(path: Path) -> tuple[str | None, Changes]:
    """(The task that a TOML file names, if it does; its tables [model] and [training], which may be short or missing).

    A run's config.toml is such a file. Raises RunError that names the file, and the key that is wrong.
    """
    content = read_toml(path)
    task = content.pop("task", None)
    if not isinstance(task, str | None):
        raise RunError(f"{path}: task must be a name in quotes, got {task!r}")
    check_sections(path, content, SECTIONS)
    return task, content


def _value(key: str, written: str) -> Any:
    """The value that a text stands for."""
    try:
        read = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        read = {}
    if list(read) == ["value"]:  # and not more lines
        return read["value"]
    if WORD.fullmatch(written):
        return written
    raise RunError(f"{WHERE}: {key} must be as TOML writes it (3, 0.5, true) or a word, got {written!r}")
