"""Files that are written whole or not at all."""

import contextlib
import errno
import os
import re
import secrets
from pathlib import Path

PathLike = str | os.PathLike[str]
TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")  # the names that passing files have


def write_atomically(path: PathLike, data: bytes) -> None:
    """Write `data` to `path` so that no reader, crash or full disk ever leaves half a file there.

    The bytes go to a new file in the same folder, to the disk (fsync), and under the final name in one step
    (os.replace); then the folder's entry goes to the disk too. A symbolic link stays one: what it leads to is replaced.
    The new file is never opened through a link that someone put in its place. Raises OSError, and then leaves no trace;
    also for a pipe or a device, which would be gone if a file took its name.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):  # a folder is refused by os.replace
        raise OSError(errno.EINVAL, "Not a file that can be replaced", os.fspath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None  # the file that was asked for, not the passing one
        raise
    _flush_folder(target.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove the passing files that processes left when they were killed amid `write_atomically`.

    Only for a folder that nobody else is writing to now.
    """
    for file in folder.iterdir():
        if TEMPORARY.fullmatch(file.name):
            with contextlib.suppress(OSError):
                file.unlink()


def _flush_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk, where the system can (Windows and some network disks can't)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
