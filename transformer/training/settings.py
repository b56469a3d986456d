"""Settings by their names, as config.toml and the command line have them: `model.layers`, `training.peak_rate`.

A name that is not known is refused with the nearest that is, and a value that is not of its setting's type with what
it must be. Every message is one line that begins with where the setting stands.
"""

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from transformer.config import CHOICES
from transformer.training.errors import RunError

TYPES = {int: "a whole number", float: "a number", bool: "true or false", str: "a name in quotes"}
LARGEST = 2**63  # in size, of a whole number that stands for a float


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises RunError, naming the file, if there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # neither text nor TOML; or nested without end
        raise RunError(f"{path}: not a TOML file: {error}") from None


def check_sections(where: object, content: Mapping[str, Any], sections: Mapping[str, type]) -> None:
    """Refuse what is not a table of known settings with values of their types.

    sections: the dataclass that a section's settings are the fields of. Raises RunError that begins with `where`.
    """
    names = {section: {field.name for field in fields(kind)} for section, kind in sections.items()}
    for section, table in content.items():
        if section not in names:
            raise unknown(where, section, names, names)
        if not isinstance(table, Mapping):
            raise RunError(f"{where}: [{section}] must be a table, got {table!r}")
        hints = get_type_hints(sections[section])
        for name, value in table.items():
            if name not in names[section]:
                raise unknown(where, f"{section}.{name}", names, names[section])
            _check_type(where, f"{section}.{name}", hints[name], value)


def unknown(where: object, key: str, names: Mapping[str, Collection[str]], instead: Collection[str]) -> RunError:
    """The error for a key that is none: with the nearest, or if none is near with those there are `instead`.

    names: of the settings, by section.
    """
    dotted = [f"{section}.{name}" for section, members in names.items() for name in sorted(members)]
    moved = [known for known in dotted if known.rpartition(".")[2] == key.rpartition(".")[2]]
    near = moved or get_close_matches(key.lower(), [*dotted, *names], n=1)
    if not near and "." not in key:  # the section was left out, and the name mistyped
        members = get_close_matches(key.lower(), [name for members in names.values() for name in members], n=1)
        near = [known for known in dotted if known.rpartition(".")[2] in members]
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(instead))}"
    return RunError(f"{where}: unknown key {key} ({hint})")


def _check_type(where: object, key: str, kind: type, value: Any) -> None:
    """Refuse a value of another type than `kind`; but a whole number may stand for a float."""
    right = type(value) is kind or (kind is float and type(value) is int)
    if not right:
        raise RunError(f"{where}: {key} must be {_allowed(key, kind)}, got {value!r}")
    if kind is float and (math.isnan(value) if isinstance(value, float) else abs(value) > LARGEST):
        raise RunError(f"{where}: {key} must be a number, got {value!r:.20}")


def _allowed(key: str, kind: type) -> str:
    """What a setting may be, in words."""
    choices = CHOICES.get(key.partition(".")[2])
    return " or ".join(map(repr, choices)) if choices else TYPES[kind]
