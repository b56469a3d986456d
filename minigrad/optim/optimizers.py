"""SGD, Adam and AdamW, on one flat array of all parameters.

A step computes the new values of all parameters block by block, each block small enough for a core's cache, into a new
flat array, and hands each parameter its slice through the one door by which parameters change. What the next step
starts from is then flat already. A graph that still holds the old values keeps them: no array is written again.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from minigrad.errors import CheckpointError, GraphError
from minigrad.tape import Array
from minigrad.tensor import Tensor

BLOCK = 65536
"""Elements of a block: five such arrays of float32 fit the outer caches, and Python's share of the time is small."""

Rate = float | Callable[[int], float]


class Piece(NamedTuple):
    """Elements `start` to `stop` of one parameter, by its position in the list."""

    parameter: int
    start: int
    stop: int


class Block(NamedTuple):
    """A run of elements of the flat arrays that are updated together: whole small parameters, or part of a big one.

    missed: in how many steps its parameters had no gradient.
    """

    where: slice
    pieces: list[Piece]
    missed: int


class Optimizer:
    """What the optimisers share: the parameters, the rate, the count of steps, and the flat arrays.

    parameters: tensors that require a gradient, of one dtype; each is updated once, however often it is listed. After a
        step their arrays are views of one flat array: who keeps one of them keeps the memory of all.
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
        self._wide = np.result_type(self._dtype, np.float32)  # float16 has no room for sums of squares
        self._ends: list[int] = np.cumsum([parameter.size for parameter in self.parameters]).tolist()
        self._state = {name: np.zeros(self._ends[-1], self._wide) for name in self.moments}
        self._missed = [0] * len(self.parameters)
        self._plan: tuple[list[int | None], list[Block]] = [], []
        self._flat = np.empty(0, self._dtype)
        self._handed_out: list[Array | None] = [None] * len(self.parameters)

    def update(self, new: Array, old: Array, g: Array, moments: Sequence[Array], count: int) -> None:
        """Write the new values of one block, and its moments, in the `count`th step that it takes part in."""
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
        grads = [None if p.grad is None else p.grad.data.reshape(-1) for p in self.parameters]
        self._missed = [missed + (g is None) for missed, g in zip(self._missed, grads, strict=True)]
        old = self._values()
        new = np.empty_like(old)
        for where, pieces, missed in self._blocks([g is not None for g in grads]):
            parts: list[Any] = [grads[position][start:stop] for position, start, stop in pieces]  # type: ignore[index]
            g = parts[0] if len(parts) == 1 else np.concatenate(parts)
            moments = [moment[where] for moment in self._state.values()]
            if self._wide == self._dtype:
                self.update(new[where], old[where], g, moments, self.step_count - missed)
            else:
                wide, before, g = np.empty(len(g), self._wide), old[where].astype(self._wide), g.astype(self._wide)
                self.update(wide, before, g, moments, self.step_count - missed)
                new[where] = wide
        self._keep_the_others(new, grads)
        new.setflags(write=False)
        self._hand_out(new, grads)

    def _values(self) -> Array:
        """All parameters' values, flat: the array of the last step if nobody else has changed a parameter since."""
        arrays = [parameter._data for parameter in self.parameters]
        if all(array is handed for array, handed in zip(arrays, self._handed_out, strict=True)):
            return self._flat
        return np.concatenate([array.reshape(-1) for array in arrays])

    def _keep_the_others(self, new: Array, grads: Sequence[Array | None]) -> None:
        """Write the values of parameters without a gradient into the new flat array, which is then whole."""
        for parameter, end, g in zip(self.parameters, self._ends, grads, strict=True):
            if g is None:
                new[end - parameter.size : end] = parameter._data.reshape(-1)

    def _hand_out(self, new: Array, grads: Sequence[Array | None]) -> None:
        """Give each parameter that had a gradient its slice."""
        start = 0
        for position, (parameter, end) in enumerate(zip(self.parameters, self._ends, strict=True)):
            if grads[position] is not None:
                parameter._replace(new[start:end].reshape(parameter.shape))
            self._handed_out[position] = parameter._data
            start = end
        self._flat = new

    def _blocks(self, graded: Sequence[bool]) -> list[Block]:
        """The blocks of one step. They stay the same while the same parameters have a gradient."""
        key = [missed if has else None for missed, has in zip(self._missed, graded, strict=True)]
        if key != self._plan[0]:
            self._plan = key, self._cut(key)
        return self._plan[1]

    def _cut(self, key: Sequence[int | None]) -> list[Block]:
        """Cut the flat arrays into blocks whose parameters have taken part in the same number of steps."""
        blocks: list[Block] = []
        for missed, run in groupby(range(len(key)), key=key.__getitem__):
            if missed is not None:
                blocks += self._cut_run(list(run), missed)
        return blocks

    def _cut_run(self, run: Sequence[int], missed: int) -> list[Block]:
        starts = [0, *self._ends]
        blocks: list[Block] = []
        pieces: list[Piece] = []
        begin = at = starts[run[0]]
        for position in run:
            size = starts[position + 1] - starts[position]
            done = 0
            while done < size:
                taken = min(size - done, BLOCK - (at - begin))
                pieces.append(Piece(position, done, done + taken))
                done, at = done + taken, at + taken
                if at - begin == BLOCK:
                    blocks.append(Block(slice(begin, at), pieces, missed))
                    pieces, begin = [], at
        return [*blocks, Block(slice(begin, at), pieces, missed)] if pieces else blocks

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def state_dict(self) -> dict[str, Array]:
        """The count of steps, in how many each parameter had no gradient, and the moments: what a checkpoint holds."""
        counts = {"step": np.array(self.step_count, np.int64), "missed": np.array(self._missed, np.int64)}
        return counts | {name: moment.copy() for name, moment in self._state.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken. Raises CheckpointError for another optimiser's or model's state."""
        expected = {name: value.shape for name, value in self.state_dict().items()}
        found = {name: np.shape(value) for name, value in state.items()}
        if found != expected:
            raise CheckpointError(
                f"this optimiser state is another's, or an older release's: it holds {found}, not {expected}"
            )
        self.step_count = int(state["step"])
        self._missed = np.asarray(state["missed"]).tolist()
        for name in self._state:
            self._state[name] = np.array(state[name], self._wide)


class SGD(Optimizer):
    """velocity = momentum * velocity + g; p -= lr * velocity."""

    moments = ("velocity",)

    def __init__(self, parameters: Iterable[Tensor], lr: Rate, momentum: float = 0.0) -> None:
        super().__init__(parameters, lr)
        self.momentum = share_that_stays("momentum", momentum)

    def update(self, new: Array, old: Array, g: Array, moments: Sequence[Array], count: int) -> None:
        """See the class."""
        (velocity,) = moments
        velocity *= self.momentum
        velocity += g
        np.multiply(velocity, -self.rate, out=new)
        new += old


class Adam(Optimizer):
    """m and v, running means of g and g**2, corrected for their start at 0; p -= lr * m / (sqrt(v) + eps).

    betas: how much of m and v stays at each step. The defaults are the paper's (section 5.3).
    The state holds m / (1 - beta_1) and v / (1 - beta_2), decayed sums in place of means: two products less a step, and
    the factors go into the step's two constants.
    Source: Kingma and Ba 2015.
    """

    moments = ("sum", "sum_of_squares")

    def __init__(
        self, parameters: Iterable[Tensor], lr: Rate, betas: tuple[float, float] = (0.9, 0.98), eps: float = 1e-9
    ) -> None:
        super().__init__(parameters, lr)
        self.betas = share_that_stays("betas[0]", betas[0]), share_that_stays("betas[1]", betas[1])
        self.eps = eps

    def update(self, new: Array, old: Array, g: Array, moments: Sequence[Array], count: int) -> None:
        """See the class."""
        total, squares = moments
        b1, b2 = self.betas
        total *= b1
        total += g
        np.multiply(g, g, out=new)
        squares *= b2
        squares += new
        np.sqrt(squares, out=new)
        # m / (sqrt(v) + eps), both corrected, is total / (sqrt(squares) + eps / root) times the last constant.
        root = math.sqrt((1 - b2) / (1 - b2**count))
        new += self.eps / root
        np.divide(total, new, out=new)
        new *= -self.rate * (1 - b1) / (1 - b1**count) / root
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

    def update(self, new: Array, old: Array, g: Array, moments: Sequence[Array], count: int) -> None:
        """See the class."""
        super().update(new, old, g, moments, count)
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
