"""One elementwise operation, forward and backward, on 4 elements: minigrad and torch eager, by turns in one process.

Once the operation alone, with its sum and `backward()`, and once a chain of 200 on one leaf, whose time is divided by
200. So small arrays show what an engine costs, not what arithmetic does.

    python -m tests.benchmarks.elementwise [--repeats 300]
"""

import argparse
import itertools
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import minigrad as mg
from tests.benchmarks.turns import ratio, side_by_side

LENGTHS, SIZE = (1, 200), 4

STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x * constant": lambda x, w, library: x * 1.01,
    "x + constant": lambda x, w, library: x + 0.01,
    "x * tensor with gradient": lambda x, w, library: x * w,
    "x + tensor with gradient": lambda x, w, library: x + w,
    "tanh(x)": lambda x, w, library: library.tanh(x),
    "exp(-x)": lambda x, w, library: library.exp(-x),
}


def chain(step: Callable[[Any, Any, Any], Any], x: Any, w: Any, library: Any, length: int) -> Callable[[], None]:
    """One turn: forward through the chain, backward from its sum, gradients forgotten."""

    def turn() -> None:
        y = x
        for _ in range(length):
            y = step(y, w, library)
        y.sum().backward()
        x.grad = w.grad = None

    return turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=300, help="rounds for each row (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(0.5, 1.5, SIZE).astype(np.float32) for _ in range(2))
    print(f"{'us an operation, forward and backward':45} {'minigrad':>9} {'torch':>9} {'ratio':>6}")
    for (name, step), length in itertools.product(STEPS.items(), LENGTHS):
        competitors = {
            "minigrad": chain(step, mg.Tensor(x, requires_grad=True), mg.Tensor(w, requires_grad=True), mg, length),
            "torch": chain(
                step, torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True), torch, length
            ),
        }
        seconds = side_by_side(competitors, options.repeats)
        mine, theirs = (statistics.median(seconds[who]) / length * 1e6 for who in competitors)
        label = f"{name}, {'alone' if length == 1 else f'in a chain of {length}'}"
        print(f"{label:45} {mine:9.2f} {theirs:9.2f} {ratio(seconds, 'minigrad', 'torch'):6.2f}", flush=True)


if __name__ == "__main__":
    main()
