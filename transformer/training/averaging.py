"""The weights that are judged and used: not the last step's, but their running average.

At a learning rate that still moves, single steps jitter around what they have found: a model that reverses letters
wrote 63% of all strings right after one step, while the average of its last hundred steps wrote all of them right. The
paper averages its last checkpoints for the same reason (section 6.1); a running average needs none of them kept.
Source: Polyak and Juditsky 1992, with exponential weights.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg
from minigrad.errors import CheckpointError


class RunningAverage:
    """average <- average + max(1 - decay, 1 / step) * (weights - average), for every parameter of `model`.

    decay: 0.99 averages over about the last hundred steps, 0 keeps the weights themselves. The first steps are averaged
    evenly, so the initial weights leave no trace.
    """

    def __init__(self, model: mg.nn.Module, decay: float) -> None:
        self._parameters = dict(model.named_parameters())
        self._decay = decay
        self._average = {name: parameter.data.copy() for name, parameter in self._parameters.items()}

    def update(self, step: int) -> None:
        """Take in the weights after `step`, counted from 1."""
        share = max(1 - self._decay, 1 / step)
        for name, parameter in self._parameters.items():
            average = self._average[name]
            average += (parameter.data - average) * average.dtype.type(share)

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """{dotted name: array}, as a model's own; the arrays change with the next update."""
        return self._average

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state_dict` gave. Raises CheckpointError if it is another model's."""
        expected = {name: parameter.shape for name, parameter in self._parameters.items()}
        if expected != {name: array.shape for name, array in state.items()}:
            raise CheckpointError("these averages are another model's")
        self._average = {name: np.array(array, self._parameters[name].dtype) for name, array in state.items()}
