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
| report.json | the result; written last, so a run that has one is complete |
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import minigrad as mg
from minigrad.checkpoint import read_metadata, write_atomically
from transformer.model import Transformer
from transformer.tasks import get_task
from transformer.tasks.task import Task
from transformer.training.averaging import RunningAverage
from transformer.training.config import RunConfig, load_config, save_config
from transformer.training.errors import RunError
from transformer.training.state import FORMAT, TrainingState, load_state, load_weights, save_state
from transformer.vocabulary import Vocabulary

RUNS = Path("runs")


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

    def save_last(
        self, model: Transformer, average: RunningAverage, optimizer: mg.optim.Adam, state: TrainingState
    ) -> None:
        """Keep the state after a whole step, in place of the one before."""
        save_state(self.last_file, model, average, optimizer, state)

    def restore(self, model: Transformer, average: RunningAverage, optimizer: mg.optim.Adam) -> TrainingState:
        """Fill all three from the last saved state, and return it; the very beginning if none was saved."""
        return load_state(self.last_file, model, average, optimizer) if self.last_file.exists() else TrainingState()

    def save_best(self, model: Transformer) -> None:
        """Keep the weights as the best so far: a plain state_dict, ready for `load_state_dict(mg.load(...))`."""
        mg.save(self.best_file, model.state_dict())

    def load_model(self) -> Transformer:
        """The trained model: the best weights. Raises CheckpointError or RunError that names the file at fault."""
        model = Transformer(self.config.model)
        if not self.best_file.exists():
            raise RunError(f"{self.path}: has no trained weights yet ({self.best_file.name} is missing)")
        if read_metadata(self.best_file).get("format") == FORMAT:
            raise RunError(f"{self.best_file}: holds a training state, not a model's weights")
        load_weights(self.best_file, model, mg.load(self.best_file))
        return model


def create_run(path: Path, config: RunConfig, task: Task) -> Run:
    """Make the folder of a new run. Raises RunError if there is something at `path`, or it can't be written."""
    try:
        if path.is_dir() and not any(path.iterdir()):
            pass  # an empty folder is as good as none
        else:
            path.mkdir(parents=True)
        run = Run(path, config, task.source_vocabulary, task.target_vocabulary)
        for vocabulary, file in zip(
            (run.source_vocabulary, run.target_vocabulary), _vocabulary_files(path), strict=True
        ):
            write_atomically(file, vocabulary.to_json().encode())
        save_config(config, run.config_file)
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
    config = load_config(path / "config.toml")
    source, target = (_read_vocabulary(file) for file in _vocabulary_files(path))
    for side, vocabulary, size in (
        ("source", source, config.model.source_vocab),
        ("target", target, config.model.target_vocab),
    ):
        if len(vocabulary) != size:
            raise RunError(f"{path}: the {side} vocabulary has {len(vocabulary)} tokens, config.toml says {size}")
    try:
        get_task(config.task)
    except ValueError as error:
        raise RunError(f"{path / 'config.toml'}: {error}") from None
    return Run(path, config, source, target)


def free_path(task: str, root: Path = RUNS) -> Path:
    """Where the next run of a task goes if nothing else was said: runs/TASK, or the first free runs/TASK-2, -3, ..."""
    path, number = root / task, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = root / f"{task}-{number}"
    return path


def newest_run(task: str, root: Path = RUNS) -> Path | None:
    """The folder of the run of `task` (runs/TASK*) whose weights were written last; None if there is none."""
    try:
        folders = [folder for folder in root.iterdir() if re.fullmatch(rf"{re.escape(task)}(-\d+)?", folder.name)]
    except OSError:
        return None
    trained = [folder for folder in folders if (folder / "best.safetensors").is_file()]
    return max(trained, key=lambda folder: (folder / "best.safetensors").stat().st_mtime_ns, default=None)


def _vocabulary_files(path: Path) -> tuple[Path, Path]:
    return path / "source_vocabulary.json", path / "target_vocabulary.json"


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        return Vocabulary.load(path)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise RunError(str(error)) from None
