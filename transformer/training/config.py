"""What a run does, as data: the file config.toml, written once and read back by whoever resumes or judges the run."""

import math
import tomllib
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import tomli_w

from minigrad.atomic import write_atomically
from transformer.config import TransformerConfig
from transformer.tasks.task import Task
from transformer.training.errors import RunError

Settings = TypeVar("Settings")


SCHEDULES = ("linear", "paper")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained.

    The learning rate rises to `peak_rate` at step `warmup`. schedule: from there "linear" goes straight down to 0 after
    the last step; "paper" falls as step^-0.5 (section 5.3), without end.
    batch_size: sentence pairs of a step, on average. window: how many steps' pairs are drawn together, and sorted into
    batches of nearly one length and about as many tokens each; 1 for batches of all lengths, as they are drawn.
    workers: threads, each of which takes its part of every batch.
    clip_norm: gradients longer than this, over all parameters together, are scaled down to it.
    averaging: decay of the running average of the weights, which is what is judged and used; 0 for none.
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

    def __post_init__(self) -> None:
        for name in ("steps", "warmup", "batch_size", "evaluate_every", "validation_size", "window", "workers"):
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
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")


@dataclass(frozen=True)
class RunConfig:
    """A whole run: the task's name, the model, the training."""

    task: str
    model: TransformerConfig
    training: TrainingConfig


def configure(task: Task, **changes: Any) -> RunConfig:
    """The run that a task's recipe describes. changes: fields of TrainingConfig that are to differ from it.

    A run of few steps warms up for a quarter of them at most.
    """
    model = TransformerConfig(
        source_vocab=len(task.source_vocabulary),
        target_vocab=len(task.target_vocabulary),
        max_length=max(task.max_source_length, task.max_target_length) + 1,  # and the end, <eos>
        **task.recipe.model,
    )
    training = {**task.recipe.training, **changes}
    if "warmup" not in changes:
        training["warmup"] = min(training["warmup"], max(1, training["steps"] // 4))
    return RunConfig(task.name, model, TrainingConfig(**training))


def save_config(config: RunConfig, path: Path) -> None:
    """Write `config` as TOML, atomically."""
    write_atomically(path, tomli_w.dumps(asdict(config)).encode())


def load_config(path: Path) -> RunConfig:
    """Read what `save_config` wrote. Raises RunError that names the file and the key for anything else.

    A setting that is missing takes its default. So a new setting must keep, by default, to what was done before it, and
    older runs stay readable.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"{path}: not a TOML file: {error}") from None
    sections = {field.name for field in fields(RunConfig)}
    _check_names(path, "", set(content), sections, sections)
    if not isinstance(content["task"], str):
        raise RunError(f"{path}: task must be a name in quotes, got {content['task']!r}")
    return RunConfig(
        content["task"],
        _read_section(path, "model", TransformerConfig, content["model"]),
        _read_section(path, "training", TrainingConfig, content["training"]),
    )


def _read_section(path: Path, section: str, kind: type[Settings], table: Any) -> Settings:
    """A dataclass from its table: no field unknown, each of its type, and there if it has no default."""
    if not isinstance(table, dict):
        raise RunError(f"{path}: [{section}] must be a table, got {table!r}")
    known = fields(kind)  # type: ignore[arg-type]  # Settings are dataclasses
    required = {field.name for field in known if field.default is MISSING}
    _check_names(path, f"{section}.", set(table), {field.name for field in known}, required)
    hints = get_type_hints(kind)
    for key, value in table.items():
        if hints[key] is float and type(value) is int:
            continue  # a whole number may stand for a float
        if type(value) is not hints[key]:
            raise RunError(f"{path}: {section}.{key} must be of type {hints[key].__name__}, got {value!r}")
    if any(isinstance(value, float) and math.isnan(value) for value in table.values()):
        raise RunError(f"{path}: a number in [{section}] is nan")
    try:
        return kind(**table)
    except (TypeError, ValueError) as error:
        raise RunError(f"{path}: [{section}] {error}") from None


def _check_names(path: Path, prefix: str, found: set[str], known: set[str], required: set[str]) -> None:
    """Refuse what is unknown or missing, naming it."""
    if unknown := sorted(found - known):
        raise RunError(f"{path}: unknown key {prefix}{unknown[0]} (known: {', '.join(sorted(known))})")
    if missing := sorted(required - found):
        raise RunError(f"{path}: the key {prefix}{missing[0]} is missing")
