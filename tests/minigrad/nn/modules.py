"""Modules that the tests attach, call and save."""

import numpy as np

from minigrad.nn import LayerNorm, Linear, Module, Parameter
from minigrad.tape import topological_order


class Scale(Module):
    """x * weight, in one node."""

    def __init__(self, value=2.0):
        self.weight = Parameter([value])

    def forward(self, x):
        return x * self.weight


class Stack(Module):
    """Layers in a list, a dictionary, a tuple and one alone."""

    def __init__(self):
        self.layers = [Scale(), Scale()]
        self.named = {"a": Scale(), "b": Scale()}
        self.pair = (Scale(),)
        self.last = Scale()

    def forward(self, x):
        for layer in (*self.layers, *self.named.values(), *self.pair, self.last):
            x = layer(x)
        return x


def paths(output):
    """The paths of the operations behind an output, in the order of creation."""
    return [node.path for node in topological_order([output._node]) if node.primitive is not None]


def model_of(seed):
    class Model(Module):
        def __init__(self):
            generator = np.random.default_rng(seed)
            self.first = Linear(3, 4, generator)
            self.norms = [LayerNorm(4), LayerNorm(4)]
            self.last = Linear(4, 2, generator, bias=False)

        def forward(self, x):
            for norm in self.norms:
                x = norm(self.first(x) if norm is self.norms[0] else x)
            return self.last(x)

    return Model()


NAMES = ["first.weight", "first.bias", "norms.0.gain", "norms.0.bias", "norms.1.gain", "norms.1.bias", "last.weight"]
