"""Memory that training uses again and again stays with the process.

glibc gives every big block back to the system when it is freed, and the next array of that size pays for its pages
anew: a fifth of a training step. Told once to keep them, it does. Where the C library has no such switch, nothing
happens.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # the names in glibc's malloc.h


def keep_freed_memory() -> None:
    """Ask the C library to keep blocks up to a gigabyte for later use instead of returning them; for good."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 1 << 30)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(M_TOP_PAD, 1 << 26)
