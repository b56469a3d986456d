"""The ledger of a gradient: what each use of a tensor adds to it, by name.

dL/dx is the sum over all uses of x of what comes back through that use: "residual", "query", "key", "value", ... The
walk makes these contributions, and here they are read off it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.study.figures import Bars, Words
from transformer.study.uses import Use, names_of

Array = npt.NDArray[np.float64]

START = Words("start", "起点")


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one use of a tensor adds to its gradient.

    words: what the use is called, in two languages; no two of a ledger are alike. path: of the module that it stands
    in, "" outside. operation: its name and the operand's, "linear x". value: of the tensor's shape, summed over what
    it was broadcast along.
    """

    words: Words
    path: str
    operation: str
    value: Array

    @property
    def name(self) -> str:
        """What the use is called, in English."""
        return self.words.en

    @property
    def norm(self) -> float:
        """The root of the sum of squares."""
        return float(np.linalg.norm(self.value))


@dataclass(frozen=True, eq=False)
class Ledger:
    """A tensor's gradient and what it is made of.

    contributions: in the order in which the forward pass used the tensor; they add up to `total`. total: the gradient,
    as the walk gave it. tensor: its name, or "".
    """

    contributions: list[Contribution]
    total: Array
    tensor: str = ""

    def __getitem__(self, name: str) -> Contribution:
        for contribution in self.contributions:
            if contribution.name == name:
                return contribution
        raise KeyError(
            f"no contribution {name!r}; there are: {', '.join(c.name for c in self.contributions) or 'none'}"
        )

    @property
    def difference(self) -> float:
        """The largest of |sum of the contributions - total|, divided by the largest number in any of them."""
        parts = [contribution.value for contribution in self.contributions]
        largest = max(float(np.abs(part).max(initial=0)) for part in (*parts, self.total))
        error = float(np.abs(sum(parts, np.zeros_like(self.total)) - self.total).max(initial=0))
        return error / largest if largest else error

    def figure(self, of: str = "") -> Bars:
        """The norm of each contribution, and of their sum. of: what the tensor is called, if not by its own name."""
        name = of or self.tensor
        title = (
            Words(f"What the gradient of {name} is made of", f"{name} 的梯度由哪些部分相加而成")
            if name
            else Words("What the gradient is made of", "梯度由哪些部分相加而成")
        )
        labels = [*(contribution.words for contribution in self.contributions), Words("sum", "总和")]
        norms = [*(contribution.norm for contribution in self.contributions), float(np.linalg.norm(self.total))]
        return Bars(title, labels, {Words("norm", "范数"): norms})


def ledger(loss: mg.Tensor, tensor: mg.Tensor) -> Ledger:
    """The contributions to d loss / d tensor, one for each use of the tensor. See `ledgers`."""
    return ledgers(loss, [tensor])[0]


def ledgers(loss: mg.Tensor, tensors: Sequence[mg.Tensor]) -> list[Ledger]:
    """A ledger for each of `tensors`, leaves or not, in order, from one walk back from `loss`, a single number.

    The loss's own gradient is 1, where the walk starts. A tensor that the loss does not depend on has no contributions,
    and 0 for its gradient. Values are float64 whatever was recorded; they add up to 1e-12 where it was float64.
    Nothing is written to any tensor, and nothing is released. Raises GraphError for a tensor that has no history and
    asks for no gradient, for a graph that was released, and as `mg.walk` does.
    """
    nodes = [_node(position, tensor) for position, tensor in enumerate(tensors)]
    totals: dict[mg.Node, Array] = {}
    found: dict[mg.Node, list[tuple[Use, Array]]] = {node: [] for node in nodes}
    following: dict[mg.Node, Use] = {}
    start: mg.Node | None = None
    for step in mg.walk(loss):
        start = start or step.node
        if step.node in found:
            totals[step.node] = np.asarray(step.cotangent, np.float64)
        for position, value in enumerate(step.contributions):
            operand = step.node.inputs[position]
            if value is None or not isinstance(operand, mg.Node):
                continue
            use = following[operand] = Use(step.node, position)
            if operand in found:
                found[operand].append((use, np.asarray(value, np.float64)))
    books: list[Ledger] = []
    for node, tensor in zip(nodes, tensors, strict=True):
        total = totals.get(node, np.zeros(node.shape))
        begun = [Contribution(START, "", "", total)] if node is start else []
        books.append(Ledger(begun + _contributions(found[node], following), total, tensor.name or ""))
    return books


def _contributions(found: list[tuple[Use, Array]], following: dict[mg.Node, Use]) -> list[Contribution]:
    """In the order in which the forward pass ran, each with its name."""
    found = sorted(found, key=lambda each: (each[0].node.number, each[0].position))
    names = names_of([use for use, _ in found], following)
    return [
        Contribution(words, use.node.path, f"{use.operation} {use.operand}", value)
        for words, (use, value) in zip(names, found, strict=True)
    ]


def _node(position: int, tensor: mg.Tensor) -> mg.Node:
    """The tensor's node: where a walk from it starts."""
    if not tensor.requires_grad:
        raise mg.GraphError(
            f"ledger: tensor {position} of shape {tensor.shape} has no history and asks for no gradient "
            "(was it made under no_grad, or from plain arrays?)"
        )
    return next(mg.walk(tensor, np.zeros(tensor.shape))).node
