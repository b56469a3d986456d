"""What a run does, as data: the file config.toml, written once and read back by whoever resumes or judges the run."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from minigrad.atomic import write_atomically
from transformer.config import TransformerConfig
from transformer.tasks.task import Task
from transformer.training.errors import RunError
from transformer.training.settings import check_sections, read_toml, unknown

Settings = TypeVar("Settings")
LARGEST_SIZE = 10**9  # of anything in a model: beyond it, NumPy refuses an array in words of its own
Changes = Mapping[str, Mapping[str, Any]]  # {"model": {"layers": 3}}: settings by section, some or all of them


SCHEDULES = ("linear", "paper")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained.

    The learning rate rises to `peak_rate` at step `warmup`. schedule: from there "linear" goes straight down to 0 after
    the last step; "paper" falls as step^-0.5 (section 5.3), without end.
    batch_size: sentence pairs of a step, on average. window: how many steps' pairs are drawn together, and sorted into
    batches of nearly one length and about as many tokens each; 1 for batches of all lengths, as they are drawn.
    workers: threads, each of which takes its part of every batch.
    accumulate: into how many micro-batches a step's pairs are cut, computed one after another, their gradients added
        up. The gradient is the whole batch's, but for rounding; a step needs about that many times less memory.
    clip_norm: gradients longer than this, over all parameters together, are scaled down to it.
    averaging: decay of the running average of the weights, which is what is judged and used; 0 for none.
    checkpoints: in its place, as in the paper (section 6.1), the mean of the weights of the last so many checkpoints,
        one every `evaluate_every` steps; 0 for the running average.
    seed: of the weights, the data and dropout; the test and validation pairs do not depend on it.
    evaluate_every: steps between two looks at `validation_size` pairs, each with a checkpoint.
    Raises ValueError for a value that makes no sense.
    """

    steps: int
    warmup: int
    peak_rate: float
    schedule: str = "linear"
    batch_size: int = 64
    window: int = 1
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    averaging: float = 0.99
    seed: int = 0
    evaluate_every: int = 100
    validation_size: int = 200
    workers: int = 1
    accumulate: int = 1
    checkpoints: int = 0

    def __post_init__(self) -> None:
        counts = ("steps", "warmup", "batch_size", "window", "workers", "accumulate")
        for name in (*counts, "evaluate_every", "validation_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("peak_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be greater than 0, got {getattr(self, name)}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule is {' or '.join(map(repr, SCHEDULES))}, got {self.schedule!r}")
        if self.schedule == "linear" and self.warmup > self.steps:
            raise ValueError(f"warmup={self.warmup} must not be longer than steps={self.steps}")
        for name in ("label_smoothing", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        if self.peak_rate == float("inf"):
            raise ValueError("peak_rate must be finite, got inf")
        if self.accumulate > self.batch_size:
            raise ValueError(f"accumulate={self.accumulate} must not be more than batch_size={self.batch_size}")
        for name in ("seed", "checkpoints"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")


@dataclass(frozen=True)
class RunConfig:
    """A whole run: the task's name, the model, the training."""

    task: str
    model: TransformerConfig
    training: TrainingConfig


SECTIONS: Mapping[str, type] = {"model": TransformerConfig, "training": TrainingConfig}


def configure(task: Task, *changes: Changes, **training: Any) -> RunConfig:
    """The run that a task's recipe describes, changed by one after another of `changes`.

    training: the last change, of fields of TrainingConfig. Where a change says how many steps but not how long to warm
    up, it is for a quarter of them at most.
    Raises RunError for a setting that is unknown, of a wrong type, makes no sense, or is the task's to decide.
    """
    needed = max(task.max_source_length, task.max_target_length) + 1  # and the end, <eos>
    words = {"source_vocab": len(task.source_vocabulary), "target_vocab": len(task.target_vocabulary)}
    tables = {"model": {**words, "max_length": needed, **task.recipe.model}, "training": dict(task.recipe.training)}
    for change in (*changes, {"training": training}):
        check_sections(task.name, change, SECTIONS)
        for section, values in change.items():
            tables[section].update(values)
        timed = change.get("training", {})
        if "steps" in timed and "warmup" not in timed:
            tables["training"]["warmup"] = min(tables["training"]["warmup"], max(1, timed["steps"] // 4))
    model = tables["model"]
    for name, size in words.items():
        if model[name] != size:
            raise RunError(f"model.{name} is {size}, by the words of {task.name}, and can't be {model[name]}")
    for name, value in model.items():
        if isinstance(value, int) and value > LARGEST_SIZE:
            raise RunError(f"model.{name} must be at most {LARGEST_SIZE}, got {value}")
    if model["max_length"] < needed:
        raise RunError(f"model.max_length must be at least {needed}, for {task.name}, got {model['max_length']}")
    return RunConfig(
        task.name,
        _made("model.", TransformerConfig, model),
        _made("training.", TrainingConfig, tables["training"]),
    )


def save_config(config: RunConfig, path: Path) -> None:
    """Write `config` as TOML, atomically."""
    write_atomically(path, tomli_w.dumps(asdict(config)).encode())


def load_config(path: Path) -> RunConfig:
    """Read what `save_config` wrote. Raises RunError that names the file and the key for anything else.

    A setting that is missing takes its default. So a new setting must keep, by default, to what was done before it, and
    older runs stay readable.
    """
    content = read_toml(path)
    names = {section: {field.name for field in fields(kind)} for section, kind in SECTIONS.items()}
    keys = {"task", *SECTIONS}
    if strange := sorted(set(content) - keys):
        raise unknown(path, strange[0], names, keys)
    _require(path, "", content, keys)
    if not isinstance(content["task"], str):
        raise RunError(f"{path}: task must be a name in quotes, got {content['task']!r}")
    tables = {section: content[section] for section in SECTIONS}
    check_sections(path, tables, SECTIONS)
    for section, kind in SECTIONS.items():
        _require(
            path, f"{section}.", tables[section], {field.name for field in fields(kind) if field.default is MISSING}
        )
    return RunConfig(
        content["task"],
        _made(f"{path}: [model] ", TransformerConfig, tables["model"]),
        _made(f"{path}: [training] ", TrainingConfig, tables["training"]),
    )


def _require(path: Path, prefix: str, found: Mapping[str, Any], needed: Collection[str]) -> None:
    """Refuse a table in which something is missing, naming it."""
    if missing := sorted(set(needed) - set(found)):
        raise RunError(f"{path}: the key {prefix}{missing[0]} is missing")


def _made(prefix: str, kind: type[Settings], table: Mapping[str, Any]) -> Settings:
    """A dataclass of these fields. Raises RunError, `prefix` before what is wrong, if they make no sense."""
    try:
        return kind(**table)
    except (TypeError, ValueError) as error:
        raise RunError(f"{prefix}{error}") from None
