"""Random programs with fused operations and operands that broadcast: 1 to 30 operations on shared values.

They stand beside those of tests/minigrad/programs.py, which are of one shape and for any namespace. Every value
broadcasts to (3, 4). An operation keeps numbers within about their operands' size, so that 30 of them in a row stay
comparable to 1e-9.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch.nn import functional as F

import minigrad as mg
from tests.minigrad.strategies import Shape

WHOLE = (3, 4)
SHAPES: tuple[Shape, ...] = (WHOLE, (1, 4), (3, 1), (4,), ())
CONDITION = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
SEEN = np.array([[True, False, False], [True, True, False], [False, True, True]])


class Torch:
    """torch under the names and signatures that the operations below use."""

    exp, log, sqrt, tanh, sin, broadcast_to = (
        torch.exp,
        torch.log,
        torch.sqrt,
        torch.tanh,
        torch.sin,
        torch.broadcast_to,
    )
    relu, maximum, swapaxes, concatenate = torch.relu, torch.maximum, torch.swapaxes, torch.concatenate
    softmax, log_softmax = staticmethod(F.softmax), staticmethod(F.log_softmax)
    sum = staticmethod(lambda x, axis, keepdims: torch.sum(x, axis, keepdim=keepdims))
    mean = staticmethod(lambda x, axis, keepdims: torch.mean(x, axis, keepdim=keepdims))
    max = staticmethod(lambda x, axis, keepdims: torch.amax(x, axis, keepdim=keepdims))
    logsumexp = staticmethod(lambda x, axis, keepdims: torch.logsumexp(x, axis, keepdim=keepdims))
    where = staticmethod(lambda condition, x, y: torch.where(torch.tensor(condition), x, y))
    layer_norm = staticmethod(lambda x, gain, bias: F.layer_norm(x, (4,), gain, bias))
    attention = staticmethod(
        lambda query, key, value, mask: (
            (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~torch.tensor(mask), -torch.inf).softmax(-1) @ value
        )
    )


def whole(lib: Any, x: Any) -> Any:
    return lib.broadcast_to(x, WHOLE)


UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "negative": lambda lib, x: -x,
    "exp": lambda lib, x: lib.exp(lib.tanh(x)),
    "log": lambda lib, x: lib.log(1.5 + x * x),
    "sqrt": lambda lib, x: lib.sqrt(0.5 + x * x),
    "sin": lambda lib, x: lib.sin(x),
    "tanh": lambda lib, x: lib.tanh(x),
    "relu": lambda lib, x: lib.relu(x),
    "power": lambda lib, x: (1 + x**2) ** 0.5,
    "square": lambda lib, x: lib.sin(x) ** 2,
    "sum": lambda lib, x: 0.3 * lib.sum(whole(lib, x), -1, keepdims=True),
    "mean": lambda lib, x: lib.mean(whole(lib, x), 0, keepdims=True),
    "max": lambda lib, x: lib.max(lib.sin(whole(lib, x)), (0, 1), keepdims=False),
    "logsumexp": lambda lib, x: lib.logsumexp(whole(lib, x), 1, keepdims=True) - 1.0,
    "softmax": lambda lib, x: lib.softmax(whole(lib, x), 0),
    "log_softmax": lambda lib, x: 0.3 * lib.log_softmax(whole(lib, x), -1),
    "rows": lambda lib, x: whole(lib, x)[[2, 0, 0]],
    "reshape": lambda lib, x: whole(lib, x).reshape((4, 3)).T,
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda lib, x, y: 0.5 * (x + y),
    "subtract": lambda lib, x, y: 0.5 * (x - y),
    "multiply": lambda lib, x, y: lib.tanh(x) * y,
    "divide": lambda lib, x, y: x / (1.0 + y * y),
    "maximum": lambda lib, x, y: lib.maximum(x, y + 0.0625),
    "where": lambda lib, x, y: lib.where(CONDITION, x, y),
    "matmul": lambda lib, x, y: lib.sin(whole(lib, x)) @ lib.swapaxes(whole(lib, y), 0, 1) @ lib.sin(whole(lib, x)) / 9,
    "concatenate": lambda lib, x, y: lib.concatenate([whole(lib, x)[1:], whole(lib, y)[:1]], 0),
    "attention": lambda lib, x, y: lib.attention(whole(lib, x), whole(lib, y), whole(lib, y), SEEN),
    "layer_norm": lambda lib, x, y: lib.layer_norm(whole(lib, x), whole(lib, y)[0], whole(lib, x)[1]),
}  # fmt: skip
OPERATIONS = UNARY | BINARY


@dataclass(frozen=True)
class Program:
    """Instructions (operation, numbers of its operands): values are numbered from the inputs on."""

    inputs: int
    instructions: tuple[tuple[str, tuple[int, ...]], ...]

    def __call__(self, lib: Any, *values: Any) -> Any:
        """The last value plus a share of every one that nothing used."""
        made = list(values)
        for name, operands in self.instructions:
            made.append(OPERATIONS[name](lib, *(made[i] for i in operands)))
        used = {i for _, operands in self.instructions for i in operands}
        result = made[-1]
        for i, value in enumerate(made[:-1]):
            if i not in used:
                result = result + 0.1 * value
        return result

    def __str__(self) -> str:
        lines = (f"v{self.inputs + i} = {name}({', '.join(f'v{j}' for j in operands)})"
                 for i, (name, operands) in enumerate(self.instructions))  # fmt: skip
        return "; ".join(lines)


@st.composite
def programs(draw: Any, longest: int = 30) -> Program:
    """From one operation to `longest`; operands are drawn from all values, recent ones as often as old ones."""
    inputs = draw(st.integers(1, 3))
    names = draw(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=longest))
    instructions = []
    for i, name in enumerate(names):
        operand = st.integers(0, inputs + i - 1)
        instructions.append((name, tuple(draw(operand) for _ in range(2 if name in BINARY else 1))))
    return Program(inputs, tuple(instructions))


def minigrad_and_torch(program: Program) -> tuple[Callable[..., mg.Tensor], Callable[..., Any]]:
    """The program as a function of minigrad's tensors, and of torch's."""
    return lambda *values: program(mg, *values), lambda *values: program(Torch, *values)
