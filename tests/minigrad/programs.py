"""Random programs: straight lines of 1 to 30 operations on shared values, for any namespace with NumPy's names.

A program is data: its text is a Python function, and `run(namespace, inputs)` evaluates it with numpy, minigrad or
torch (or what adapts its names). Every value in it has one shape, (3, 2), and is scaled to within about +-2; smooth
steps keep away from poles, so that differences can be taken and complex numbers go through. Those in KINKED are drawn
on request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

SHAPE = (3, 2)

UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "sin({0})": lambda m, x: m.sin(x),
    "cos({0})": lambda m, x: m.cos(x),
    "tanh({0})": lambda m, x: m.tanh(x),
    "exp(tanh({0}))": lambda m, x: m.exp(m.tanh(x)),
    "exp({0} * -{0})": lambda m, x: m.exp(x * -x),
    "log({0} * {0} + 1.5)": lambda m, x: m.log(x * x + 1.5),
    "sqrt({0} * {0} + 0.5)": lambda m, x: m.sqrt(x * x + 0.5),
    "1.0 / ({0} * {0} + 1.0)": lambda m, x: 1.0 / (x * x + 1.0),
    "sin({0}) ** 2": lambda m, x: m.sin(x) ** 2,
    "cos({0}) ** 3": lambda m, x: m.cos(x) ** 3,
    "2.0 - {0}": lambda m, x: 2.0 - x,
    "{0} - {0}.sum() * 0.1": lambda m, x: x - x.sum() * 0.1,
    "{0} * {0}.mean()": lambda m, x: x * x.mean(),
    "reverse({0})": lambda m, x: m.reshape(m.reshape(x, (-1,))[[5, 4, 3, 2, 1, 0]], SHAPE),
    "{0}[[0, 0, 2]]": lambda m, x: x[[0, 0, 2]],
    "concatenate({0}[1:], {0}[:1])": lambda m, x: m.concatenate([x[1:], x[:1]], 0),
    "reshape({0}.T)": lambda m, x: m.reshape(m.transpose(x, (1, 0)), SHAPE),
    "{0}[0] * {0}": lambda m, x: x[0] * x,
    "{0} @ ({0}.T @ {0}) * 0.1": lambda m, x: x @ (m.transpose(x, (1, 0)) @ x) * 0.1,
    "cumsum({0}, 0)": lambda m, x: m.cumsum(x, 0),
    "flip({0}, (0,))": lambda m, x: m.flip(x, (0,)),
    "{0} + prod({0}, 0)": lambda m, x: x + m.prod(x, 0),
    "einsum('ij,kj,kl->il', {0}, {0}, {0}) * 0.1": lambda m, x: m.einsum("ij,kj,kl->il", x, x, x) * 0.1,
    "softmax(sin({0}), 0)": lambda m, x: m.exp(m.sin(x)) / m.exp(m.sin(x)).sum(0),
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "{0} + {1}": lambda m, x, y: x + y,
    "{0} - {1}": lambda m, x, y: x - y,
    "{0} * {1}": lambda m, x, y: x * y,
    "{0} / ({1} * {1} + 1.0)": lambda m, x, y: x / (y * y + 1.0),
    "(sin({0}) + 1.5) ** tanh({1})": lambda m, x, y: (m.sin(x) + 1.5) ** m.tanh(y),
    "{0} @ ({1}.T @ {1}) * 0.1": lambda m, x, y: x @ (m.transpose(y, (1, 0)) @ y) * 0.1,
    "where(mask, {0}, {1})": lambda m, x, y: m.where(m.asarray(MASK), x, y),
    "{0} * {1}[1:2]": lambda m, x, y: x * y[1:2],
    "{0}[:, :1] * {1}": lambda m, x, y: x[:, :1] * y,
    "stack({0}[0], {1}[1], {0}[2])": lambda m, x, y: m.stack([x[0], y[1], x[2]]),
    "einsum('ij,ij->i', {0}, {1})[:, None] * {0}": lambda m, x, y: m.einsum("ij,ij->i", x, y)[:, None] * x,
}
KINKED: dict[str, Callable[..., Any]] = {
    "abs({0})": lambda m, x: m.abs(x),
    "amax({0}, 0) - {0}": lambda m, x: m.amax(x, 0) - x,
    "maximum({0}, {1})": lambda m, x, y: m.maximum(x, y),
    "minimum({0}, 0.5 * {1})": lambda m, x, y: m.minimum(x, 0.5 * y),
}
OPERATIONS: dict[str, Callable[..., Any]] = UNARY | BINARY | KINKED
MASK = np.array([[True, False], [False, False], [True, True]])
LARGEST = 2.0


@dataclass(frozen=True)
class Step:
    """One line: an operation of the tables above, the values that it reads, and what its result is multiplied by."""

    operation: str
    reads: tuple[int, ...]
    scale: float


@dataclass(frozen=True)
class Program:
    """Values are numbered: the inputs first, then one a step. The result is the sum of the squares of the last."""

    inputs: int
    steps: tuple[Step, ...]

    def run(self, namespace: Any, inputs: Sequence[Any]) -> Any:
        """The program's result, a scalar. The namespace has NumPy's sin, cos, ..., where, and `asarray`."""
        values = list(inputs)
        for step in self.steps:
            values.append(OPERATIONS[step.operation](namespace, *(values[i] for i in step.reads)) * step.scale)
        return (values[-1] * values[-1]).sum()

    def arrays(self, seed: int) -> list[np.ndarray]:
        """Inputs for it."""
        rng = np.random.default_rng(seed)
        return [rng.uniform(-1.5, 1.5, SHAPE) for _ in range(self.inputs)]

    def __repr__(self) -> str:
        lines = [f"def program({', '.join(f'v{i}' for i in range(self.inputs))}):"]
        for number, step in enumerate(self.steps, self.inputs):
            text = step.operation.format(*(f"v{i}" for i in step.reads))
            lines.append(f"    v{number} = ({text}) * {step.scale}")
        last = f"v{self.inputs + len(self.steps) - 1}"
        return "\n".join([*lines, f"    return ({last} * {last}).sum()"])


@st.composite
def programs(draw, max_steps: int = 30, kinks: bool = False) -> Program:
    """Programs of up to `max_steps` operations; each reads any earlier value, the latest ones oftenest, twice too."""
    operations = [*UNARY, *BINARY, *(KINKED if kinks else ())]
    inputs = draw(st.integers(1, 3))
    steps: list[Step] = []
    trial = Program(inputs, ()).arrays(0)
    for number in range(inputs, inputs + draw(st.integers(1, max_steps))):
        operation = draw(st.sampled_from(operations))
        latest = st.integers(max(0, number - 3), number - 1)
        reads = tuple(draw(latest | st.integers(0, number - 1)) for _ in range(2 if "{1}" in operation else 1))
        value = OPERATIONS[operation](np, *(trial[i] for i in reads))
        largest = float(np.abs(value).max())
        scale = 1.0 if largest <= LARGEST else float(f"{LARGEST / largest:.2g}")
        trial.append(value * scale)
        steps.append(Step(operation, reads, scale))
    return Program(inputs, tuple(steps))
