"""All that a training needs to go on as if it had never stopped: weights, their average, Adam's memory, the step.

The data and dropout of step n are functions of the seed and n, so the step is also the place in both streams.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy.typing as npt

import minigrad as mg
from minigrad.checkpoint import read_metadata
from minigrad.errors import MinigradError
from transformer.model import Transformer
from transformer.training.averaging import RunningAverage
from transformer.training.errors import RunError

FORMAT = "minigrad-transformer training state 1"
MODEL, AVERAGE, OPTIMIZER = "model.", "average.", "optimizer."


@dataclass(frozen=True)
class TrainingState:
    """Where a training stands, apart from its arrays.

    cpu_seconds, wall_seconds: spent on learning over all sessions, evaluation not counted.
    best_step, best_exact_match, best_token_accuracy: of the best evaluation so far, -1 before the first.
    """

    step: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    best_step: int = -1
    best_exact_match: float = -1.0
    best_token_accuracy: float = -1.0


def save_state(
    path: Path, model: Transformer, average: RunningAverage, optimizer: mg.optim.Adam, state: TrainingState
) -> None:
    """Write everything to one file, whole or not at all."""
    arrays = {MODEL + name: array for name, array in model.state_dict().items()}
    arrays |= {AVERAGE + name: array for name, array in average.state_dict().items()}
    arrays |= {OPTIMIZER + name: array for name, array in optimizer.state_dict().items()}
    mg.save(path, arrays, {"format": FORMAT, "state": json.dumps(asdict(state))})


def load_state(path: Path, model: Transformer, average: RunningAverage, optimizer: mg.optim.Adam) -> TrainingState:
    """Give model, average and optimiser what `save_state` wrote, and return where training stood.

    Raises CheckpointError or RunError, naming the file, if it is broken or belongs to something else.
    """
    metadata, arrays = read_metadata(path), mg.load(path)
    if metadata.get("format") != FORMAT:
        raise RunError(f"{path}: holds no training state that could be resumed")
    try:
        content = json.loads(metadata["state"])
        state = TrainingState(**{field.name: field.type(content[field.name]) for field in fields(TrainingState)})  # type: ignore[operator]
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{path}: the record of where training stood is broken") from None
    load_weights(path, model, _part(arrays, MODEL))
    try:
        average.load_state_dict(_part(arrays, AVERAGE))
        optimizer.load_state_dict(_part(arrays, OPTIMIZER))
    except (MinigradError, ValueError) as error:
        raise RunError(f"{path}: the state does not fit this model: {error}") from None
    return state


def load_weights(path: Path, model: Transformer, weights: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give `model` its weights. Raises RunError, naming the file they are from, if they are another model's."""
    try:
        model.load_state_dict(dict(weights))
    except MinigradError as error:
        raise RunError(f"{path}: the weights do not fit the model of config.toml: {error}") from None


def _part(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays under a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
