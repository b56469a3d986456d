"""The competitors take turns at one configuration after another, all in this process."""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from demos.benchmarking.competitors import part
from demos.benchmarking.measured import MINIGRAD, Measured
from demos.problems import UserError
from demos.terminal.progress import progress

WARM_UPS = 3  # steps that are not timed; by their losses it is seen that all competitors compute the same
SAME = 1e-3  # how far losses may be apart, of their size: float32, summed in another order


@dataclass(frozen=True)
class Plan:
    """How to measure. repeats: rounds; None: as each configuration says. deadline: by `time.monotonic()`."""

    repeats: int | None
    threads: int
    seed: int
    deadline: float


def measure_all(configs: Sequence[Any], modules: Mapping[str, ModuleType], plan: Plan) -> list[Measured]:
    """Each configuration for which there is time; the first always."""
    from threadpoolctl import threadpool_limits

    for module in modules.values():
        module.prepare(plan.threads)
    found: list[Measured] = []
    with threadpool_limits(plan.threads, user_api="blas"):
        for config in configs:
            if found and time.monotonic() >= plan.deadline:
                print(f"note: time is up: {config.name} was not measured (--max-seconds)", file=sys.stderr)
            else:
                found.append(measure(config, modules, plan))
    return found


def measure(config: Any, modules: Mapping[str, ModuleType], plan: Plan) -> Measured:
    """One configuration: at least one round, and none that begins after the deadline."""
    turns, repeats, watcher = part("tests.benchmarks.turns"), plan.repeats or config.repeats, progress()
    watcher.start(config.name, repeats)
    with closing(watcher):
        steps = {name: module.build(config, plan.seed)() for name, module in modules.items()}
        require_same(config.name, {name: [step() for _ in range(WARM_UPS)] for name, step in steps.items()})
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        for done, turn in enumerate(turns.rounds(steps, repeats, time.perf_counter), 1):
            for name in steps:
                seconds[name].append(turn[name])
            watcher.update(done)
            if time.monotonic() >= plan.deadline:
                break
    ratios = {name: turns.ratio(seconds, MINIGRAD, name) for name in steps if name != MINIGRAD}
    goals = {name: limit for name, limit in config.goals.items() if name in ratios and plan.threads == 1}
    return Measured(config.name, sizes_of(config), seconds, ratios, goals)


def sizes_of(config: Any) -> dict[str, int]:
    """d_model, heads and so on."""
    return {name: value for name, value in asdict(config).items() if name not in ("name", "repeats", "goals")}


def require_same(config: str, losses: Mapping[str, Sequence[float | None]]) -> None:
    """Raise UserError, status 1, if a competitor's losses are not minigrad's: then it does not make the same step."""
    for name, theirs in losses.items():
        for ours, other in zip(losses[MINIGRAD], theirs, strict=True):
            if ours is not None and other is not None and not abs(ours - other) <= SAME * abs(ours):
                raise UserError(f"{config}: {name}'s step is not minigrad's: its loss is {other}, not {ours}", status=1)
