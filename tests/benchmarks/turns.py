"""Timing competitors fairly on a busy machine: they take turns, and only the ratio of neighbours counts.

The clock is the process's own, which stands still while another program has the core.
"""

import statistics
import time
from collections.abc import Callable


def side_by_side(competitors: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """{name: seconds of each turn}; the order within a round changes from round to round."""
    names = list(competitors)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        for _ in range(5):
            competitors[name]()
    for round_ in range(repeats):
        for name in names if round_ % 2 else names[::-1]:
            start = time.process_time()
            competitors[name]()
            seconds[name].append(time.process_time() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], name: str, against: str) -> float:
    """The median of `name`'s time divided by that of `against` in the same round."""
    return statistics.median(one / other for one, other in zip(seconds[name], seconds[against], strict=True))
