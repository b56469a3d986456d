"""All that a training needs to go on as if it had never stopped: weights, their average, Adam's memory, the step.

The data and dropout of step n are functions of the seed and n, so the step is also the place in both streams.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy.typing as npt

import minigrad as mg
from minigrad.errors import MinigradError
from transformer.model import Transformer
from transformer.training.averaging import Average
from transformer.training.config import RunConfig
from transformer.training.errors import RunError
from transformer.training.stored import STATE, read_stored, store

MODEL, AVERAGE, OPTIMIZER = "model.", "average.", "optimizer."


@dataclass(frozen=True)
class TrainingState:
    """Where a training stands, apart from its arrays.

    cpu_seconds, wall_seconds: spent on learning over all sessions, evaluation not counted.
    evaluation_cpu_seconds: spent on looking at the validation pairs.
    best_step, best_exact_match, best_token_accuracy: of the best evaluation so far, -1 before the first.
    """

    step: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    evaluation_cpu_seconds: float = 0.0
    best_step: int = -1
    best_exact_match: float = -1.0
    best_token_accuracy: float = -1.0


@dataclass(frozen=True)
class Saved:
    """A training that was saved: where it stood, and the arrays it goes on from."""

    path: Path
    state: TrainingState
    arrays: Mapping[str, npt.NDArray[Any]]

    def restore(self, model: Transformer, average: Average, optimizer: mg.optim.Adam) -> TrainingState:
        """Give all three what they had, and return where training stood. Raises RunError if it does not fit them."""
        load_weights(self.path, model, _part(self.arrays, MODEL))
        try:
            average.load_state_dict(_part(self.arrays, AVERAGE))
            optimizer.load_state_dict(_part(self.arrays, OPTIMIZER))
        except (MinigradError, ValueError) as error:
            raise RunError(f"{self.path}: the state does not fit this model: {error}") from None
        return self.state


def save_state(
    path: Path,
    config: RunConfig,
    model: Transformer,
    average: Average,
    optimizer: mg.optim.Adam,
    state: TrainingState,
) -> None:
    """Write everything to one file, whole or not at all."""
    arrays = {MODEL + name: array for name, array in model.state_dict().items()}
    arrays |= {AVERAGE + name: array for name, array in average.state_dict().items()}
    arrays |= {OPTIMIZER + name: array for name, array in optimizer.state_dict().items()}
    store(path, STATE, config, arrays, state=json.dumps(asdict(state)))


def load_state(path: Path, config: RunConfig) -> Saved:
    """What `save_state` wrote for this run. Raises CheckpointError or RunError, naming the file, for anything else."""
    arrays, notes = read_stored(path, STATE, config)
    try:
        content = json.loads(notes["state"])
        types = get_type_hints(TrainingState)
        state = TrainingState(**{name: types[name](value) for name, value in content.items()})
        if state.step < 1:
            raise ValueError("only a training that has begun is saved")
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RunError(f"{path}: the record of where training stood is broken") from None
    return Saved(path, state, arrays)


def load_weights(path: Path, model: Transformer, weights: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give `model` its weights. Raises RunError, naming the file they are from, if they are another model's."""
    try:
        model.load_state_dict(dict(weights))
    except MinigradError as error:
        raise RunError(f"{path}: the weights do not fit the model of config.toml: {error}") from None


def _part(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays under a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
