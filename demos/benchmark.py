"""`python -m demos benchmark`: minigrad's training step by turns with torch's, jax's and its own matrix products."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from demos.benchmarking.measured import Measured

SUMMARY = "time a training step against torch, jax and its own matrix products"
NUMBERS, PICTURE = "benchmark.json", "benchmark.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--against", metavar="NAMES", help="of torch, jax and floor, with commas (default: all that are installed)"
    )
    parser.add_argument(
        "--config", metavar="NAMES", help="of micro, tiny, small and paper, with commas (default: all four)"
    )
    parser.add_argument(
        "--repeats", type=positive_number, metavar="N", help="rounds of each configuration (default: 100 to 6, by size)"
    )
    parser.add_argument(
        "--threads", type=positive_number, default=1, metavar="N", help="threads of each, and cores (default 1)"
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="of the weights and the batch (default 0)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder to write to (default runs/benchmark; never overwritten)"
    )
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=600.0,
        metavar="S",
        help="begin no more rounds after so many seconds (default 600)",
    )


def run(options: argparse.Namespace) -> int:
    """Measure, print the table, write the picture and the numbers."""
    from demos.benchmarking.competitors import STEP, loaded, part, split_names
    from demos.benchmarking.cores import held_on_cores, told
    from demos.benchmarking.measured import MINIGRAD
    from demos.benchmarking.measuring import Plan, measure_all
    from transformer.training.errors import RunError

    deadline = time.monotonic() + options.max_seconds
    competitors, sizes = part(f"{STEP}.competitors"), part(f"{STEP}.configs").CONFIGS
    known = competitors.COMPETITORS
    names = list(known) if options.against is None else split_names("--against", options.against, known)
    chosen = list(sizes) if options.config is None else split_names("--config", options.config, sizes)
    with held_on_cores(options.threads) as cores, new_folder(options.out) as folder:  # held before torch has threads
        modules, missing = loaded({MINIGRAD: competitors.MINIGRAD} | {name: known[name] for name in names})
        for line in missing:
            print(f"note: {line}", file=sys.stderr)
        plan = Plan(options.repeats, options.threads, options.seed, deadline)
        with told_plainly(RunError, MemoryError):
            found = measure_all([sizes[name] for name in chosen], modules, plan)
        against = {name: known[name].what for name in modules if name != MINIGRAD}
        tell(found, against, told(options.threads, cores))
        with told_plainly(OSError):
            save(folder, found, against, settings(options, cores, [known[name].package for name in against]))
    return 0


@contextmanager
def new_folder(out: Path | None) -> Iterator[Path]:
    """Make the folder for what will be written; if it is new and nothing was, it is gone at the end.

    Raises UserError if it is used.

    out: where; None for the first free one of runs/benchmark, runs/benchmark-2, ...
    """
    from transformer.training.run import RUNS, free_path

    path = out if out is not None else free_path("benchmark")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UserError(f"{path} exists: pick another --out")
    theirs = path.exists()
    with told_plainly(OSError):
        path.mkdir(parents=True, exist_ok=True)
    try:
        if out is None and path != RUNS / "benchmark":
            print(f"{RUNS / 'benchmark'} exists and is kept: this goes to {path}.")
        yield path
    finally:
        with suppress(OSError):  # it is not empty: as it should be
            if not theirs:
                path.rmdir()


def tell(found: Sequence["Measured"], against: dict[str, str], threads: str) -> None:
    """Print the table, before it what is needed to read it, after it the goals.

    against: what each competitor is, in words.
    """
    from demos.benchmarking.measured import goals_reached, print_measured

    print(f"\nOne training step, float32: the median of turns taken in one process.\n{threads}")
    for name, what in against.items():
        print(f"  {name}: {what}")
    if against:
        print("Ratio: minigrad's time by the other's in the same round, the median; below 1 minigrad is faster.")
    print()
    print_measured(found, list(against))
    if goals := goals_reached(found):
        print(f"\n{goals}")


def settings(options: argparse.Namespace, cores: list[int] | None, packages: Sequence[str]) -> dict[str, Any]:
    """How and with what it was measured."""
    from importlib.metadata import version

    import minigrad as mg

    versions = {"python": platform.python_version(), "minigrad": mg.__version__}
    versions |= {package: version(package) for package in ("numpy", *packages)}
    return {"threads": options.threads, "cores": cores, "seed": options.seed, "versions": versions}


def save(folder: Path, found: Sequence["Measured"], against: dict[str, str], how: dict[str, Any]) -> None:
    """Write the numbers, and the picture if there is anything to compare; say where."""
    from demos.pictures.ratios import draw_ratios
    from minigrad.atomic import write_atomically

    numbers = how | {"configs": {measured.name: measured.as_json() for measured in found}}
    write_atomically(folder / NUMBERS, (json.dumps(numbers, indent=1) + "\n").encode())
    print(f"\nsaved in {folder}: {NUMBERS}", end="")
    if against:
        write_atomically(folder / PICTURE, draw_ratios(found, against, how["threads"]).encode())
        print(f", and {PICTURE} for your browser", end="")
    print()
