"""The process is held on as many cores as it may have threads: what a library starts beside them shares these cores."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from demos.problems import UserError

if sys.platform == "linux":  # elsewhere Python has no switch for it

    def hold(cores: Iterable[int]) -> bool:
        """Leave only these cores to the process; whether that could be done: a sandbox may forbid it."""
        try:
            os.sched_setaffinity(0, cores)
        except OSError:
            return False
        return True

    @contextmanager
    def held_on_cores(count: int) -> Iterator[list[int] | None]:
        """Within it the process has only `count` cores, which it yields; None if it could not be held.

        Raises UserError if there are not so many.
        """
        allowed = os.sched_getaffinity(0)
        require_cores(count, len(allowed))
        chosen = sorted(allowed)[-count:]  # the system's own work is mostly on the first
        held = hold(chosen)
        try:
            yield chosen if held else None
        finally:
            if held:
                hold(allowed)

else:

    @contextmanager
    def held_on_cores(count: int) -> Iterator[list[int] | None]:
        """Yields None: here a process can't be held. Raises UserError if there are not so many cores."""
        require_cores(count, os.cpu_count() or 1)
        yield None


def require_cores(count: int, there: int) -> None:
    """Raise UserError if `there` are too few."""
    if count > there:
        raise UserError(f"--threads {count}: there {'is 1 core' if there == 1 else f'are {there} cores'} here")


def told(count: int, cores: list[int] | None) -> str:
    """One line for the user about threads and cores."""
    threads = "One thread each" if count == 1 else f"{count} threads each"
    if cores is None:
        return f"{threads}, but here the process can't be held on so many cores: jax may take more."
    which = f"{'core' if count == 1 else 'cores'} {', '.join(map(str, cores))}"
    return f"{threads}; the process is held on {which}, so that none takes more."
