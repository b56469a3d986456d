"""SGD, Adam and AdamW, on one flat array of all parameters.

A step reads the gradients, computes new values for all parameters in one pass over cache-sized blocks, into a new
array, and hands each parameter its slice through the one door by which parameters change.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minigrad.errors import CheckpointError, GraphError
from minigrad.tape import Array
from minigrad.tensor import Tensor

BLOCK = 16384
"""Elements of a block: a few such arrays of float32 fit a core's cache."""

Rate = float | Callable[[int], float]


class Optimizer:
    """What the optimisers share: the parameters, the rate, the count of steps, and the flat arrays.

    parameters: tensors that require a gradient, of one dtype; each is updated once, however often it is listed.
    lr: the learning rate, or a function of the step number (from 1).
    """

    moments: tuple[str, ...] = ()

    def __init__(self, parameters: Iterable[Tensor], lr: Rate) -> None:
        self.parameters = list({id(parameter): parameter for parameter in parameters}.values())
        if not self.parameters:
            raise ValueError("an optimiser needs at least one parameter")
        for position, parameter in enumerate(self.parameters):
            if parameter._node is None or parameter._node.primitive is not None:
                raise GraphError(
                    f"parameter {position} ({parameter.name or 'unnamed'}) is no leaf that requires a gradient"
                )
        dtypes = {parameter.dtype for parameter in self.parameters}
        if len(dtypes) > 1:
            raise ValueError(f"an optimiser's parameters must have one dtype, not {sorted(map(str, dtypes))}")
        self.lr = lr
        self.step_count = 0
        self.rate = 0.0
        self._dtype = dtypes.pop()
        self._ends = np.cumsum([parameter.size for parameter in self.parameters]).tolist()
        self._state = {name: np.zeros(self._ends[-1], self._dtype) for name in self.moments}

    def update(self, new: Array, old: Array, g: Array, moments: list[Array]) -> None:
        """Write the new values of one block, and its moments. Subclasses define it."""
        raise NotImplementedError

    def step(self) -> None:
        """Change every parameter that has a gradient; one that has none stays as it is, and so do its moments.

        Raises ValueError for a learning rate that is negative or not finite.
        """
        rate = self.lr(self.step_count + 1) if callable(self.lr) else self.lr
        if not 0 <= rate < math.inf:
            raise ValueError(f"the learning rate of step {self.step_count + 1} must be finite and not negative: {rate}")
        self.step_count += 1
        self.rate = rate
        for start, end in self._runs():
            first, last = self._position(start), self._position(end - 1)
            together = self.parameters[first : last + 1]
            old = np.concatenate([parameter.data.reshape(-1) for parameter in together])
            g = np.concatenate(
                [parameter.grad.data.reshape(-1) for parameter in together if parameter.grad is not None]
            )
            new = np.empty_like(old)
            for low in range(0, end - start, BLOCK):
                part = slice(low, min(low + BLOCK, end - start))
                whole = slice(start + part.start, start + part.stop)
                self.update(new[part], old[part], g[part], [self._state[name][whole] for name in self.moments])
            new.setflags(write=False)
            offset = 0
            for parameter in together:
                parameter._replace(new[offset : offset + parameter.size].reshape(parameter.shape))
                offset += parameter.size

    def _position(self, element: int) -> int:
        """The parameter that holds the flat arrays' element."""
        return int(np.searchsorted(self._ends, element, side="right"))

    def _runs(self) -> list[tuple[int, int]]:
        """The (start, end) of each longest run of parameters that have a gradient, in the flat arrays."""
        runs: list[tuple[int, int]] = []
        start = 0
        for parameter, end in zip(self.parameters, self._ends, strict=True):
            if parameter.grad is not None and end > start:
                if runs and runs[-1][1] == start:
                    runs[-1] = (runs[-1][0], end)
                else:
                    runs.append((start, end))
            start = end
        return runs

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def state_dict(self) -> dict[str, Array]:
        """The count of steps and the moments, as arrays that a checkpoint can hold."""
        return {"step": np.array(self.step_count, np.int64)} | {k: v.copy() for k, v in self._state.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken. Raises CheckpointError for another optimiser's or model's state."""
        expected = {"step": ()} | {name: moment.shape for name, moment in self._state.items()}
        found = {name: np.shape(value) for name, value in state.items()}
        if found != expected:
            raise CheckpointError(f"this optimiser state is another's: it holds {found}, not {expected}")
        self.step_count = int(state["step"])
        for name in self._state:
            self._state[name] = np.array(state[name], self._dtype)


class SGD(Optimizer):
    """velocity = momentum * velocity + g; p -= lr * velocity."""

    moments = ("velocity",)

    def __init__(self, parameters: Iterable[Tensor], lr: Rate, momentum: float = 0.0) -> None:
        super().__init__(parameters, lr)
        self.momentum = share_that_stays("momentum", momentum)

    def update(self, new: Array, old: Array, g: Array, moments: list[Array]) -> None:
        """See the class."""
        (velocity,) = moments
        velocity *= self.momentum
        velocity += g
        np.multiply(velocity, -self.rate, out=new)
        new += old


class Adam(Optimizer):
    """m and v, running means of g and g**2, corrected for their start at 0; p -= lr * m / (sqrt(v) + eps).

    betas: how much of m and v stays at each step. The defaults are the paper's (section 5.3).
    Source: Kingma and Ba 2015.
    """

    moments = ("mean", "square")

    def __init__(
        self, parameters: Iterable[Tensor], lr: Rate, betas: tuple[float, float] = (0.9, 0.98), eps: float = 1e-9
    ) -> None:
        super().__init__(parameters, lr)
        self.betas = share_that_stays("betas[0]", betas[0]), share_that_stays("betas[1]", betas[1])
        self.eps = eps

    def update(self, new: Array, old: Array, g: Array, moments: list[Array]) -> None:
        """See the class."""
        mean, square = moments
        b1, b2 = self.betas
        np.multiply(g, 1 - b1, out=new)
        mean *= b1
        mean += new
        np.multiply(g, g, out=new)
        new *= 1 - b2
        square *= b2
        square += new
        np.sqrt(square, out=new)
        new *= 1 / math.sqrt(1 - b2**self.step_count)
        new += self.eps
        np.divide(mean, new, out=new)
        new *= -self.rate / (1 - b1**self.step_count)
        new += old


class AdamW(Adam):
    """Adam, and p -= lr * decay * p beside its own step. Source: Loshchilov and Hutter 2019."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: Rate,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(parameters, lr, betas, eps)
        self.weight_decay = weight_decay

    def update(self, new: Array, old: Array, g: Array, moments: list[Array]) -> None:
        """See the class."""
        super().update(new, old, g, moments)
        new -= self.rate * self.weight_decay * old


def share_that_stays(name: str, value: float) -> float:
    """The share of a running mean that stays at each step. Raises ValueError outside [0, 1)."""
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), not {value}")
    return value


def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients so that their joint Euclidean norm is at most `max_norm`; returns the norm before that.

    A parameter counts once, however often it is listed. Raises ValueError for a `max_norm` that is not positive.
    """
    if not max_norm > 0:
        raise ValueError(f"max_norm must be positive, not {max_norm}")
    each = {id(parameter): parameter for parameter in parameters}.values()
    graded = [parameter for parameter in each if parameter.grad is not None]
    total = math.sqrt(sum(_square_norm(p.grad.data) for p in graded if p.grad is not None))
    if total > max_norm:
        for parameter in graded:
            if parameter.grad is not None:
                parameter.grad = Tensor(parameter.grad.data * (max_norm / total))
    return total


def _square_norm(g: Array) -> float:
    """The sum of squares; in float64 where it is beyond g's own range."""
    with np.errstate(over="ignore"):
        square = float(np.vdot(g, g))
    return square if math.isfinite(square) else float(np.vdot(g.astype(np.float64), g.astype(np.float64)))
