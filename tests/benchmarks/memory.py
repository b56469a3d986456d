"""The peak memory of one training step: minigrad's and torch's, the same model, each in a process of its own. Linux.

The step `small` of `step/configs.py`, which `python -m demos benchmark` times. The least model is trained first, that
code loaded at its first use may not count. Then: memory after that, after the model is built, and the highest during
the steps (ru_maxrss).

    python -m tests.benchmarks.memory [--steps 5] [--engines minigrad,torch]
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.step.competitors import COMPETITORS, MINIGRAD
from tests.benchmarks.step.configs import CONFIGS, Step, StepConfig

SMALL, LEAST = CONFIGS["small"], StepConfig("least", 8, 2, 1, 16, 2, 3, 9)
MIB = 2**20

Build = Callable[[StepConfig, int], Callable[[], Step]]


def minigrad_alone() -> Build:
    """minigrad in a process that gives freed memory back."""
    return MINIGRAD.load().build


def minigrad_training() -> Build:
    """minigrad as `demos train` runs it: freed memory stays with the process."""
    module = MINIGRAD.load()
    module.prepare(1)
    return module.build


def torch_alone() -> Build:
    """torch, one thread."""
    module = COMPETITORS["torch"].load()
    module.prepare(1)
    return module.build


ENGINES = {"minigrad": minigrad_alone, "minigrad-training": minigrad_training, "torch": torch_alone}


def resident() -> float:
    """MiB of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def measure(engine: str, steps: int) -> dict[str, float]:
    """MiB: with the libraries loaded, with the model, and the peak of the steps."""
    build = ENGINES[engine]()
    build(LEAST, 0)()()
    gc.collect()
    loaded = resident()
    begin = build(SMALL, 0)
    gc.collect()
    built = resident()
    step = begin()
    losses = [step() for _ in range(steps)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"loaded": loaded, "built": built, "peak": peak, "loss": losses[-1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="training steps (default: %(default)s)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which, in order (default: %(default)s)")
    parser.add_argument("--measure", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.steps)))
        return
    print(f"{'MiB':18} {'loaded':>8} {'built':>8} {'peak':>8} {'steps':>8} {'model and steps':>16}")
    for engine in options.engines.split(","):
        command = [sys.executable, "-m", "tests.benchmarks.memory", "--measure", engine, "--steps", str(options.steps)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        loaded, built, peak = (found[name] for name in ("loaded", "built", "peak"))
        print(
            f"{engine:18} {loaded:8.1f} {built:8.1f} {peak:8.1f} {peak - built:8.1f} {peak - loaded:16.1f}", flush=True
        )


if __name__ == "__main__":
    main()
