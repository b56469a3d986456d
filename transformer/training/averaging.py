"""The weights that are judged and used: not the last step's, but an average.

At a learning rate that still moves, single steps jitter around what they have found: a model that reverses letters
wrote 63% of all strings right after one step, while the average of its last hundred steps wrote all of them right. The
paper averages its last checkpoints for the same reason (section 6.1): `CheckpointMean`. A running average needs none of
them kept, and is what the recipes use. Source: Polyak and Juditsky 1992, with exponential weights.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import minigrad as mg
from minigrad.errors import CheckpointError

Arrays = Mapping[str, npt.NDArray[Any]]


class Average(Protocol):
    """What a training is told to judge: it sees the weights after each step, and goes on from what was saved of it."""

    def update(self, step: int) -> None:
        """Take in the weights after `step`, counted from 1."""

    def weights(self) -> Arrays:
        """The average after that step, {dotted name: array}, as a model's own; it may change with the next update."""

    def state_dict(self) -> Arrays:
        """All that has to be kept to go on."""

    def load_state_dict(self, state: Arrays) -> None:
        """Go on from what `state_dict` gave. Raises CheckpointError if it is another model's."""


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

    def weights(self) -> Arrays:
        """{dotted name: array}, as a model's own; the arrays change with the next update."""
        return self._average

    def state_dict(self) -> Arrays:
        """The average itself: it is all that has to be kept."""
        return self._average

    def load_state_dict(self, state: Arrays) -> None:
        """Go on from what `state_dict` gave. Raises CheckpointError if it is another model's."""
        expected = {name: parameter.shape for name, parameter in self._parameters.items()}
        if expected != {name: array.shape for name, array in state.items()}:
            raise CheckpointError("these averages are another model's")
        self._average = {name: np.array(array, self._parameters[name].dtype) for name, array in state.items()}


class CheckpointMean:
    """The mean of the weights of `count` checkpoints: those of now, and of the last `count` - 1 before (section 6.1).

    every: steps from one checkpoint to the next. As long as there are fewer than `count`, it is the mean of these.
    The paper took 5 of its base models, written every 10 minutes, and 20 of its big ones.
    """

    def __init__(self, model: mg.nn.Module, count: int, every: int) -> None:
        self._parameters = dict(model.named_parameters())
        self._count, self._every = count, every
        self._kept: list[Arrays] = []  # of the last checkpoints, `count` at most, the oldest first
        self._now_is_kept = False

    def update(self, step: int) -> None:
        """Take in the weights after `step`, counted from 1."""
        self._now_is_kept = step % self._every == 0
        if self._now_is_kept:
            self._kept = self._with_now()

    def weights(self) -> Arrays:
        """{dotted name: array}, as a model's own."""
        chosen = self._kept if self._now_is_kept else self._with_now()
        return {name: np.mean([weights[name] for weights in chosen], axis=0) for name in self._parameters}

    def _with_now(self) -> list[Arrays]:
        """What is kept and the weights of now, `count` at most; parameters replace arrays, so none has to be copied."""
        now = {name: parameter.data for name, parameter in self._parameters.items()}
        return [*self._kept, now][-self._count :]

    def state_dict(self) -> Arrays:
        """{"0.dotted name": array} of the oldest checkpoint that is kept, "1. ..." of the next, and so on."""
        return {f"{place}.{name}": kept[name] for place, kept in enumerate(self._kept) for name in kept}

    def load_state_dict(self, state: Arrays) -> None:
        """Go on from what `state_dict` gave. Raises CheckpointError if it is another model's."""
        places = range(len(state) // len(self._parameters))
        expected = {f"{place}.{name}": p.shape for place in places for name, p in self._parameters.items()}
        if expected != {name: array.shape for name, array in state.items()} or len(places) > self._count:
            raise CheckpointError("these checkpoints are another model's")
        self._kept = [
            {name: np.array(state[f"{place}.{name}"], p.dtype) for name, p in self._parameters.items()}
            for place in places
        ]
