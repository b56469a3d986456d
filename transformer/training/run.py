"""A run's folder: everything that a training leaves behind, in files that a person can read.

| file | what |
|---|---|
| config.toml | the task, the model, the training: enough to do it all again |
| source_vocabulary.json, target_vocabulary.json | words and their ids |
| metrics.csv | a row a step: loss, rate, gradient norm, seconds; exact match where evaluated |
| last.safetensors | weights, their average and Adam's memory at the last step that was saved, for `--resume` |
| best.safetensors | the averaged weights with the highest exact match on the validation pairs: what is used |
| samples.txt | what the model writes, beside what is right |
| curve.svg | loss and exact match over the steps |
| report.json | the result; written last, and gone as soon as the weights change: a run that has one is judged |
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.atomic import write_atomically
from transformer.model import Transformer
from transformer.tasks import get_task
from transformer.tasks.task import Task
from transformer.training.averaging import Average
from transformer.training.config import RunConfig, load_config, save_config
from transformer.training.errors import RunError
from transformer.training.metrics import read_metrics
from transformer.training.state import Saved, TrainingState, load_state, load_weights, save_state
from transformer.training.stored import WEIGHTS, read_stored, store
from transformer.vocabulary import Vocabulary

RUNS = Path("runs")
REPORTED = {"stopped_early": bool, "exact_match": float}  # what report.json holds at least


@dataclass(frozen=True)
class Run:
    """A run folder whose configuration and vocabularies have been read."""

    path: Path
    config: RunConfig
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary

    @cached_property
    def task(self) -> Task:
        """The task this run learns."""
        return get_task(self.config.task)

    @property
    def config_file(self) -> Path:
        """See the table above, here and below."""
        return self.path / "config.toml"

    @property
    def metrics_file(self) -> Path:
        """One row a step."""
        return self.path / "metrics.csv"

    @property
    def last_file(self) -> Path:
        """The state to resume from."""
        return self.path / "last.safetensors"

    @property
    def best_file(self) -> Path:
        """The weights to use."""
        return self.path / "best.safetensors"

    @property
    def samples_file(self) -> Path:
        """What the model writes."""
        return self.path / "samples.txt"

    @property
    def curve_file(self) -> Path:
        """Loss and exact match."""
        return self.path / "curve.svg"

    @property
    def report_file(self) -> Path:
        """The result."""
        return self.path / "report.json"

    def save_last(self, model: Transformer, average: Average, optimizer: mg.optim.Adam, state: TrainingState) -> None:
        """Keep the state after a whole step, in place of the one before."""
        self._withdraw_result()
        save_state(self.last_file, self.config, model, average, optimizer, state)

    def load_last(self) -> Saved | None:
        """The last saved state; None if none was saved yet. Raises CheckpointError or RunError that names the file."""
        return load_state(self.last_file, self.config) if self.last_file.exists() else None

    def save_best(self, model: Transformer) -> None:
        """Keep the weights as the best so far: a plain state_dict, ready for `load_state_dict(mg.load(...))`."""
        self._withdraw_result()
        store(self.best_file, WEIGHTS, self.config, model.state_dict())

    def load_model(self) -> Transformer:
        """The trained model: the best weights. Raises CheckpointError or RunError that names the file at fault."""
        if not self.best_file.exists():
            raise RunError(f"{self.path}: has no trained weights yet ({self.best_file.name} is missing)")
        weights, _ = read_stored(self.best_file, WEIGHTS, self.config)
        model = Transformer(self.config.model)
        load_weights(self.best_file, model, weights)
        return model

    def discard_if_unused(self) -> None:
        """Remove the folder of a run that never made a step."""
        if not (self.last_file.exists() or self.best_file.exists() or read_metrics(self.metrics_file)):
            _remove(self.path)

    def _withdraw_result(self) -> None:
        """The weights are about to change: what was said of the ones before is no longer true."""
        for file in (self.report_file, self.samples_file):
            file.unlink(missing_ok=True)


def create_run(path: Path, config: RunConfig, task: Task) -> Run:
    """Make the folder of a new run. Raises RunError if there is something at `path`, or it can't be written."""
    run = Run(path, config, task.source_vocabulary, task.target_vocabulary)
    try:
        if path.is_dir() and not any(path.iterdir()):
            pass  # an empty folder is as good as none
        else:
            path.mkdir(parents=True)
        try:
            for vocabulary, file in zip(
                (run.source_vocabulary, run.target_vocabulary), _vocabulary_files(path), strict=True
            ):
                write_atomically(file, vocabulary.to_json().encode())
            save_config(config, run.config_file)
        except BaseException:
            _remove(path)
            raise
    except FileExistsError:
        known = (path / "config.toml").exists()
        raise RunError(
            f"{path} exists: pick another --out" + (f", or go on with --resume {path}" if known else "")
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RunError(f"{path} can't be written: {reason}") from None
    return run


def open_run(path: Path) -> Run:
    """Read the folder of a run. Raises RunError, naming what is wrong, if it is none or is broken."""
    if not path.is_dir():
        raise RunError(
            f"{path}: there is no such run" if not path.exists() else f"{path}: not a run folder, but a file"
        )
    if not (path / "config.toml").exists():
        raise RunError(f"{path}: not the folder of a run (config.toml is missing)")
    _refuse_links_out(path)
    config = load_config(path / "config.toml")
    source, target = (_read_vocabulary(file) for file in _vocabulary_files(path))
    for side, vocabulary, size in (
        ("source", source, config.model.source_vocab),
        ("target", target, config.model.target_vocab),
    ):
        if len(vocabulary) != size:
            raise RunError(f"{path}: the {side} vocabulary has {len(vocabulary)} tokens, config.toml says {size}")
    run = Run(path, config, source, target)
    try:
        task = run.task
    except ValueError as error:
        raise RunError(f"{path / 'config.toml'}: {error}") from None
    if (task.source_vocabulary, task.target_vocabulary) != (source, target):
        raise RunError(f"{path}: made for other words than the task {task.name} has now")
    return run


def _refuse_links_out(path: Path) -> None:
    """Raise RunError for a file that is a symbolic link out of the run's folder: going on would write over its target.

    Files are written through links, and a folder that came from somebody else may hold one to anything.
    """
    folder = path.resolve()
    for file in sorted(path.iterdir()):
        if file.is_symlink() and folder not in Path(os.path.realpath(file)).parents:
            raise RunError(
                f"{file} is a link to {os.path.realpath(file)}, outside of the run's folder; put a file there"
            )


def free_path(task: str, root: Path = RUNS) -> Path:
    """Where the next run of a task goes if nothing else was said: runs/TASK, or the first free runs/TASK-2, -3, ..."""
    path, number = root / task, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = root / f"{task}-{number}"
    return path


def read_report(path: Path) -> dict[str, Any] | None:
    """The result of the run in a folder; None if its training has not come to its end, or report.json is broken."""
    try:
        report = json.loads((path / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(report, dict) and all(isinstance(report.get(key), kind) for key, kind in REPORTED.items())
    return report if whole and not report["stopped_early"] else None


def newest_run(task: str, root: Path = RUNS) -> Path | None:
    """The run of `task` to use: the newest that came to its end, else the newest that has weights, else None."""
    trained = [folder for folder in runs_of(task, root) if (folder / "best.safetensors").is_file()]
    return next((folder for folder in trained if read_report(folder)), next(iter(trained), None))


def runs_of(task: str, root: Path = RUNS) -> list[Path]:
    """The folders of the runs of `task` that `free_path` named, the one whose files changed last first."""
    try:
        folders = [folder for folder in root.iterdir() if re.fullmatch(rf"{re.escape(task)}(-\d+)?", folder.name)]
    except OSError:
        return []
    ages = {
        folder: max((file.stat().st_mtime_ns for file in folder.glob("*.safetensors")), default=0) for folder in folders
    }
    return sorted((folder for folder in folders if ages[folder]), key=lambda folder: ages[folder], reverse=True)


def _vocabulary_files(path: Path) -> tuple[Path, Path]:
    return path / "source_vocabulary.json", path / "target_vocabulary.json"


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        return Vocabulary.load(path)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise RunError(str(error)) from None


def _remove(path: Path) -> None:
    """Remove what `create_run` and the first moments of a training make, and the folder if nothing else is in it."""
    made = (*_vocabulary_files(path), path / "config.toml", path / "metrics.csv")
    with suppress(OSError):
        for file in made:
            file.unlink(missing_ok=True)
        path.rmdir()
