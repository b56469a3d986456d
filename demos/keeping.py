"""A command writes anew what it wrote itself, and lets every other file be.

Each file ends in a line, a comment of SVG and HTML, that names the command and holds a digest of all before it: a file
from elsewhere has none, and in one that was changed since it is wrong.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from demos.problems import UserError


def refuse_foreign(paths: Iterable[Path], command: str, option: str) -> None:
    """Raise UserError that names those of `paths` which exist and are not as the command wrote them.

    option: the one by which the user can pick another place.
    """
    foreign = [str(path) for path in paths if path.exists() and not ours(path, command)]
    if foreign:
        raise UserError(
            f"{', '.join(foreign)}: not as this command wrote it, so it stays; move it, or pick another {option}"
        )


def keep(path: Path, content: bytes, command: str) -> None:
    """Write the file, with its last line; it is there whole or not at all."""
    from minigrad.atomic import write_atomically

    write_atomically(path, content + f"{mark(command)}{digest(content)} -->\n".encode())


def ours(path: Path, command: str) -> bool:
    """Whether a file is as this command wrote it: a file from elsewhere, or changed since, is not."""
    before, found, rest = path.read_bytes().rpartition(mark(command).encode())
    return bool(found) and rest == f"{digest(before)} -->\n".encode()


def mark(command: str) -> str:
    """How the last line begins."""
    return f"<!-- python -m demos {command}, "


def digest(data: bytes) -> str:
    """A fingerprint of some bytes."""
    return hashlib.blake2s(data, digest_size=8).hexdigest()
