"""The command line: finds the command, reads its options, and ends in an exit status, never in a traceback.

A command is a module of this folder with `SUMMARY` (one line), `add_arguments(parser)` and `run(options)`, which
returns the exit status. It imports what takes long inside `run`, so that listing all commands does not wait for it.
"""

import argparse
import contextlib
import io
import os
import pkgutil
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import demos
from demos.problems import UserError, describe

ORDER = (
    "train",
    "translate",
    "evaluate",
    "study",
    "graph",
    "gallery",
    "micrograd",
    "rules",
    "warmup",
    "lengths",
    "bugs",
    "data",
    "benchmark",
)  # as a newcomer meets them; other commands follow by the alphabet
INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 + the signal's number, as a shell reports it


class Parser(argparse.ArgumentParser):
    """argparse, but a wrong option is a UserError that knows the nearest right one."""

    def error(self, message: str) -> NoReturn:
        """Raise the UserError."""
        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        nearest = get_close_matches(unknown[1].partition("=")[0], self._option_string_actions, n=1) if unknown else []
        hint = f"did you mean {nearest[0]}?" if nearest else f"see {self.prog} --help"
        raise UserError(f"{message} ({hint})")


def module_names() -> list[str]:
    """The modules of this folder; a folder is none."""
    found = pkgutil.iter_modules(demos.__path__)
    return [module.name for module in found if not (module.ispkg or module.name.startswith("_"))]


def command_names() -> list[str]:
    """Those of them that are commands, in their order."""
    commands = [name for name in module_names() if hasattr(import_module(f"demos.{name}"), "SUMMARY")]
    return sorted(commands, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def find_command(name: str) -> ModuleType:
    """The module of a command. Raises UserError that suggests the nearest name."""
    if (
        name.isidentifier()
        and not name.startswith("_")
        and any(name == found.name for found in pkgutil.iter_modules(demos.__path__))
    ):
        module = import_module(f"demos.{name}")
        if hasattr(module, "SUMMARY"):
            return module
    names = command_names()
    nearest = get_close_matches(name.lower(), names, n=1)
    raise UserError(
        f"there is no command {name!r}" + (f": did you mean {nearest[0]}?" if nearest else f", only {', '.join(names)}")
    )


def overview() -> str:
    """All commands, in one screen."""
    names = command_names()
    width = max(map(len, names))
    lines = [f"  {name:<{width}}  {import_module(f'demos.{name}').SUMMARY}" for name in names]
    return "\n".join(
        [
            "usage: python -m demos COMMAND [options]",
            "",
            *lines,
            "",
            "python -m demos COMMAND --help tells the options of a command.",
            "Start with: python -m demos train translate",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status: 0, 1 failed training, 2 the user's error, 130 Ctrl-C."""
    open_streams()
    try:
        status = dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever was reading has seen enough
        with contextlib.suppress(OSError, io.UnsupportedOperation):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains as it exits
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    except OSError as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return 2
    return status


def dispatch(arguments: list[str]) -> int:
    """Find the command and run it with the options that follow its name."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    name, *rest = arguments
    if name.startswith("-"):
        raise UserError(f"a command comes first, not {name} (python -m demos lists them)")
    command = find_command(name)
    parser = Parser(prog=f"python -m demos {name}", description=command.SUMMARY)
    command.add_arguments(parser)
    try:
        options = parser.parse_args(rest)
    except SystemExit as error:  # --help
        return int(error.code or 0)
    status: int = command.run(options)
    return status


def open_streams() -> None:
    """Make output and input UTF-8 where the locale is plain ASCII, and let no character break the program anywhere.

    Where a process was started without output or error stream, what is written to it goes nowhere.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ascii_only = stream.encoding.lower().replace("_", "-") in ("ascii", "us-ascii", "ansi-x3.4-1968", "646")
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")


if __name__ == "__main__":
    sys.exit(main())
