"""Timing competitors fairly on a busy machine: they take turns, and only the ratio of neighbours counts.

The usual clock is the process's own, which stands still while another program has the core.
"""

import statistics
import time
from collections.abc import Callable, Iterator

Competitors = dict[str, Callable[[], object]]
Seconds = dict[str, list[float]]
WARM_UPS = 5


def rounds(
    competitors: Competitors, repeats: int, clock: Callable[[], float] = time.process_time
) -> Iterator[dict[str, float]]:
    """{name: seconds of its turn} of each round; the order within a round changes from round to round."""
    names = list(competitors)
    for round_ in range(repeats):
        seconds = {}
        for name in names if round_ % 2 else names[::-1]:
            start = clock()
            competitors[name]()
            seconds[name] = clock() - start
        yield {name: seconds[name] for name in names}


def side_by_side(competitors: Competitors, repeats: int) -> Seconds:
    """{name: seconds of each turn}, after some turns that are not counted."""
    for competitor in competitors.values():
        for _ in range(WARM_UPS):
            competitor()
    found = list(rounds(competitors, repeats))
    return {name: [seconds[name] for seconds in found] for name in competitors}


def ratio(seconds: Seconds, name: str, against: str) -> float:
    """The median of `name`'s time divided by that of `against` in the same round."""
    return statistics.median(one / other for one, other in zip(seconds[name], seconds[against], strict=True))
