"""What the tests of drawings draw: a neuron, and modules in a stack."""

import numpy as np

import minigrad as mg


class Block(mg.nn.Module):
    """y + relu(y W + b)."""

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        self.linear = mg.nn.Linear(width, width, rng)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        return x + mg.relu(self.linear(x))


class Stack(mg.nn.Module):
    """Blocks, one after the other, and a head."""

    def __init__(self, count: int, width: int = 8) -> None:
        rng = np.random.default_rng(0)
        self.layers = [Block(width, rng) for _ in range(count)]
        self.head = mg.nn.Linear(width, 3, rng)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def neuron() -> mg.Tensor:
    """tanh(x w + 5)."""
    x = mg.Tensor(2.0, requires_grad=True, name="x")
    w = mg.Tensor(-3.0, requires_grad=True, name="w")
    return mg.tanh(x * w + 5.0)
