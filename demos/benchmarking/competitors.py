"""Who can compete: the modules in the repository's tests/benchmarks that make the step, and what they stand on."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from demos.problems import UserError

STEP = "tests.benchmarks.step"


def part(name: str) -> ModuleType:
    """A module of tests/benchmarks. Raises UserError, status 1, where the repository is not there."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise UserError(
                "the competitors are in tests/benchmarks of the repository, which is not here: "
                "run this command in a clone of it",
                status=1,
            ) from None
        raise


def split_names(option: str, text: str, known: Iterable[str]) -> list[str]:
    """The names in a list like "torch,jax", each once. Raises UserError that suggests the nearest known one."""
    known = list(known)
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            nearest = get_close_matches(name.lower(), known, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"only {', '.join(known)}"
            raise UserError(f"{option}: there is no {name!r} ({hint})")
    if not names:
        raise UserError(f"{option}: names none of {', '.join(known)}")
    return names


def loaded(competitors: dict[str, Any]) -> tuple[dict[str, ModuleType], list[str]]:
    """The modules of those that can be loaded, and a line about each that can't."""
    modules, missing = {}, []
    for name, competitor in competitors.items():
        try:
            modules[name] = competitor.load()
        except ModuleNotFoundError as error:
            if error.name != competitor.package:
                raise
            missing.append(f"{name} is not installed: pip install '.[{competitor.package}]'")
        except (ImportError, OSError) as error:  # a library of the system that it wants
            missing.append(f"{name} is installed but can't be loaded: {' '.join(str(error).split())}")
    return modules, missing
