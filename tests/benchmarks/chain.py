"""A chain of 50,000 operations: seconds to run it forward, backward, to copy, print and free it.

Nothing may recurse, and each is to take less than 2 seconds.

    python -m tests.benchmarks.chain [--length 50000]
"""

import argparse
import copy
import gc
import time
from collections.abc import Callable
from typing import Any

import minigrad as mg


def timed(what: str, function: Callable[[], Any]) -> Any:
    """What the function gives; its seconds are printed."""
    start = time.perf_counter()
    result = function()
    print(f"{what:28} {time.perf_counter() - start:8.3f} s", flush=True)
    return result


def forward(x: mg.Tensor, length: int) -> mg.Tensor:
    """x + 1 + 1 ... + 1."""
    y = x
    for _ in range(length):
        y = y + 1.0
    return y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=50_000, help="operations (default: %(default)s)")
    length = parser.parse_args().length
    gc.disable()  # freeing must not need it
    x = mg.Tensor(0.0, requires_grad=True)
    start = time.perf_counter()

    held = [timed("forward", lambda: forward(x, length))]
    timed("repr", lambda: repr(held[0]))
    timed("deepcopy", lambda: copy.deepcopy(held[0]))
    timed("backward", lambda: held[0].backward())
    assert x.grad is not None
    assert (float(held[0]), float(x.grad)) == (length, 1.0)
    timed("free", held.clear)
    print(f"{'together':28} {time.perf_counter() - start:8.3f} s")


if __name__ == "__main__":
    main()
