"""Memory that training uses again and again stays with the process.

glibc gives every big block back to the system when it is freed, and the next array of that size pays for its pages
anew: a fifth of a training step. Told once to keep them, it does. No number depends on it.

`MINIGRAD_KEEP_MEMORY=0` leaves glibc as it is, for a process that must give memory back. It is a variable of the
environment, not an option: it says something about the machine and the whole process, nothing about a run, so no run
keeps it, and a program that calls `train` has it too. With another C library (musl, macOS, Windows) nothing is done:
the switches are glibc's own, and where others have a function of that name it does something else or nothing.
"""

import ctypes
import os
import sys

from transformer.training.errors import RunError

VARIABLE = "MINIGRAD_KEEP_MEMORY"
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # the names in glibc's malloc.h


def keep_freed_memory() -> None:
    """Ask glibc to keep blocks up to a gigabyte for later use instead of returning them; for good.

    Raises RunError if MINIGRAD_KEEP_MEMORY is neither 0 nor 1.
    """
    if not wanted():
        return
    library = glibc()
    if library is not None:
        if not library.mallopt(M_MMAP_THRESHOLD, 1 << 30):  # more than glibc before 2.35 takes
            library.mallopt(M_MMAP_THRESHOLD, 1 << 25)
        library.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
        library.mallopt(M_TOP_PAD, 1 << 26)


def wanted() -> bool:
    """Whether freed memory is to be kept: unless the environment says no."""
    value = os.environ.get(VARIABLE) or "1"
    if value not in ("0", "1"):
        raise RunError(f"{VARIABLE} is 0 or 1, not {value!r}")
    return value == "1"


def glibc() -> ctypes.CDLL | None:
    """The C library of this process if it is glibc, else None. No other one has `gnu_get_libc_version`."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
