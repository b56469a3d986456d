"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from pathlib import Path

PathLike = str | os.PathLike[str]


def write_atomically(path: PathLike, data: bytes) -> None:
    """Write `data` to `path` so that no reader, crash or full disk ever leaves half a file there.

    The bytes go to a new file in the same folder, to the disk (fsync), and under the final name in one step
    (os.replace); then the folder's entry goes to the disk too. A symbolic link stays one. Raises OSError, and then
    leaves no trace.
    """
    target = Path(os.path.realpath(path))
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


def _flush_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk, where the system can (Windows and some network disks can't)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
