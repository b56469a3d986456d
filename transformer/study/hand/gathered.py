"""What the boxes found, under the names that the model has for it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from transformer.study.hand import embedding, stack
from transformer.study.hand.arrays import Array


class Activation(NamedTuple):
    """An activation and the gradient of the loss with respect to it, of one shape."""

    value: Array
    gradient: Array


class Gathered:
    """Gradients of the parameters, which begin at 0, and activations in the order in which they were made."""

    def __init__(self, parameters: Mapping[str, Array]) -> None:
        self.parameters = {name: np.zeros_like(array) for name, array in parameters.items()}
        self.activations: dict[str, Activation] = {}

    def add(self, name: str, gradient: Array) -> None:
        """One contribution to a parameter: a table that stands in several places gets the sum of all.

        That of a bias which the model has not is left out.
        """
        if name in self.parameters:
            self.parameters[name] = self.parameters[name] + gradient

    def note(self, name: str, value: Array, gradient: Array) -> None:
        """An activation and its gradient."""
        self.activations[name] = Activation(value, gradient)

    def embedding(self, side: str, table: str, kept: embedding.Kept, gradients: embedding.Gradients) -> None:
        """Of the word vectors and places of a side, "source" or "target". Without dropout `out` is `sum`."""
        value, gradient = kept.activations, gradients.activations
        self.note(f"{side}_embedding.out", value.out, gradient.out)
        self.note(f"{side}_positions.sum", value.sum, gradient.sum)
        self.note(f"{side}_positions.out", value.sum, gradient.sum)
        self.add(table, gradients.table)

    def stack(self, path: str, run: stack.Stack, kept: stack.Kept, gradients: stack.Gradients) -> None:
        """Of every step and of the last norm."""
        for step, inside, found in zip(run.steps, kept.steps, gradients.steps, strict=True):
            self._step(step.path, inside, found)
        if gradients.last is not None:
            self._weights(f"{path}.norm", gradients.last)

    def _step(self, path: str, kept: Any, gradients: Any) -> None:
        """Of a sub-layer, and of the residual connection around it: what comes before it was made before it."""
        self._weights(path, gradients.inner.weights)
        self._weights(f"{path}_norm", gradients.norm)
        inner = _pairs(kept.inner.activations, gradients.inner.activations)
        outer = _pairs(kept.activations, gradients.activations)
        before = {name: pair for name, pair in outer.items() if name == "normal"}
        for where, pairs in ((f"{path}_norm", before), (path, inner), (f"{path}_norm", outer)):
            self.activations |= {f"{where}.{name}": pair for name, pair in pairs.items()}

    def _weights(self, path: str, gradients: Any) -> None:
        for name, gradient in gradients.named().items():
            self.add(f"{path}.{name}", gradient)


def _pairs(values: Any, gradients: Any) -> dict[str, Activation]:
    """Two NamedTuples of one kind, whose fields are called as the model calls what they hold."""
    return {name: Activation(*pair) for name, *pair in zip(values._fields, values, gradients, strict=True)}
