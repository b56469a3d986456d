"""The model and the batch that are looked at without training: small, in float64, no gain 1 and no bias 0."""

from dataclasses import replace
from itertools import islice

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.batching import Batch
from transformer.model import Transformer
from transformer.study.bugs import lesson
from transformer.tasks.task import Pair

Array = npt.NDArray[np.float64]


def specimen(seed: int, positions: str = "sinusoidal") -> Transformer:
    """A model as `lesson`'s, narrower, with random numbers in every parameter."""
    config = replace(lesson.CONFIG, d_model=12, heads=3, d_ff=20, positions=positions)
    with mg.default_dtype("float64"):
        model = Transformer(config, rng=seed)
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape)
    return model


def strings(seed: int, count: int = 4) -> list[Pair]:
    """So many strings to read and write, of 3 to 5 letters, the first and the last of different lengths."""
    rng = np.random.default_rng(seed)
    while True:
        pairs = list(islice(lesson.drawn(rng, False, shortest=3), count))
        if len(pairs[0].source) != len(pairs[-1].source):
            return pairs


def logits(model: Transformer, batch: Batch) -> Array:
    """What the model says of every next word: (B, T_t, V)."""
    with mg.no_grad(), lesson.in_parts(model):
        found: Array = model(batch.source, batch.target_in).data
    return found
