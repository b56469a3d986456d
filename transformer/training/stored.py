"""The two kinds of files with weights in a run's folder, and the notes in each that say whose they are.

Shapes alone do not tell: a model of 8 heads has the very arrays of one of 4, and reverse has the letters of copy. So
the task and the whole model are noted, and compared before anything is built or used. A digest of everything tells a
file whose length is right and whose bytes are not, as a copy that was cut off and filled up leaves.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg
from minigrad.checkpoint import read_metadata
from transformer.config import TransformerConfig
from transformer.training.config import RunConfig
from transformer.training.errors import RunError

WEIGHTS, STATE = "trained weights", "training state"
DIGEST = "digest"  # a note; files of older releases lack it
Arrays = Mapping[str, npt.NDArray[Any]]


def store(path: Path, kind: str, config: RunConfig, arrays: Arrays, **notes: str) -> None:
    """Write arrays of the run that `config` describes to one file, whole or not at all; `notes` stand beside them."""
    model = json.dumps(asdict(config.model))
    notes = {"format": _format(kind), "task": config.task, "model": model} | notes
    mg.save(path, arrays, notes | {DIGEST: _digest(arrays, notes)})


def read_stored(path: Path, kind: str, config: RunConfig) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """The arrays and notes of a file that `store` wrote for the same kind, task and model.

    Raises CheckpointError or RunError, naming the file, if it is broken, was changed, belongs to something else, or
    holds a number that is not finite.
    """
    notes, arrays = read_metadata(path), mg.load(path)
    if notes.get("format") != _format(kind):
        raise RunError(f"{path}: holds no {kind}")
    digest = notes.pop(DIGEST, None)
    if digest not in (None, _digest(arrays, notes)):
        raise RunError(f"{path}: damaged: it is not as it was written")
    if notes.get("task") != config.task:
        raise RunError(f"{path}: is of the task {notes.get('task')}, config.toml says {config.task}")
    try:
        model = TransformerConfig(**json.loads(notes["model"]))
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{path}: the record of the model it is of is broken") from None
    for name in (field.name for field in fields(model)):
        its, ours = getattr(model, name), getattr(config.model, name)
        if its != ours:
            raise RunError(f"{path}: is of a model with {name} = {its}, config.toml says {ours}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RunError(f"{path}: a number in {name} is infinite or nan")
    return arrays, notes


def _digest(arrays: Arrays, notes: Mapping[str, str]) -> str:
    """A fingerprint of all that a file holds: every array's name, type, shape and bytes, and the notes."""
    found = hashlib.blake2b(json.dumps(notes, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        found.update(f"{name!r} {array.dtype.name} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _format(kind: str) -> str:
    return f"minigrad-transformer {kind} 1"
