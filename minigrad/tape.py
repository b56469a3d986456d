"""What is recorded: nodes, each of which says how a value was made.

A graph is made of `Node`s, one a leaf or an operation; a node holds its inputs' nodes, never a Tensor, so that a
tensor (and its array, where no derivative reads it) is gone as soon as the last user of it lets go.
Nothing here recurses. Whether anything is recorded is the state's business (state.py).
"""

from collections.abc import Iterable
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from minigrad.hooks import Handle, Hook, register

if TYPE_CHECKING:
    from minigrad.operation import Operation
    from minigrad.tensor import Tensor

Array: TypeAlias = npt.NDArray[Any]
Number: TypeAlias = bool | int | float | complex
Operand: TypeAlias = Union["Node", "Constant", Number]


class Constant:
    """An operand that no gradient flows to, as the graph remembers it: shape, dtype, name, a small array's value."""

    __slots__ = ("dtype", "name", "shape", "value")
    __array_ufunc__ = None

    def __init__(self, array: Array, name: str | None) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self.name = name
        self.value = small(array)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Constant({self.name or ''} {self.shape} {self.dtype})"


SMALL = 16
"""Arrays of at most so many elements are kept for drawings though no rule reads them."""


def small(array: Array) -> Array | None:
    """A small array as it is kept for drawings; a copy where it is a view, which would keep all that it looks at."""
    if array.size > SMALL:
        return None
    if array.base is not None:
        array = array.copy()
        array.setflags(write=False)
    return array


next_number = count().__next__


class Node:
    """A vertex of the graph: a leaf (`primitive` is None) or one operation's output.

    inputs: one entry an operand: a Node, a Constant, or a plain number.
    args: what the rules are called with, aligned with `inputs`: the array where a rule reads it, else the entry of
        `inputs` itself, which has a shape and a dtype and no arithmetic. None once released.
    data: a leaf's array; an operation's output where a rule reads it or it is small, else None.
    residuals: what a fused kernel keeps for its backward.
    stamp: the versions of the leaves among `args`, added up, when the operation ran; None where no leaf is read.
    version: how often a leaf's array was replaced.
    number: the order of creation; inputs come before outputs, so it is a topological order.
    hooks: who wants to see this node's cotangent in a backward pass.
    source: (file, line) of the user's code that made it; set only under `detect_anomaly`, else there is none.
    """

    __slots__ = (
        "__weakref__", "args", "data", "dtype", "grad", "hooks", "inputs", "name", "number", "params", "path",
        "primitive", "residuals", "retains", "shape", "source", "stamp", "version",
    )  # fmt: skip
    __array_ufunc__ = None  # a rule that reads what its row does not declare fails, it does not get an object array

    primitive: "Operation | None"
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    args: tuple[Any, ...] | None
    data: Array | None
    residuals: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    path: str
    number: int
    stamp: int | None
    version: int
    name: str | None
    grad: "Tensor | None"
    retains: bool
    hooks: tuple[Handle, ...]
    source: tuple[str, int]

    @staticmethod
    def leaf(data: Array, name: str | None) -> "Node":
        """The node of a tensor that asks for a gradient and was made by no operation."""
        return make_node(None, {}, (), (), data, None, data, "", None, name)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def released(self) -> bool:
        """Whether a backward pass has let go of the arrays that this node's derivative reads."""
        return self.args is None

    @property
    def saved(self) -> tuple[Any, tuple[Any, ...]]:
        """(out, args), which the rules are called with: arrays, each as far as a rule reads it."""
        assert self.args is not None
        return self if self.data is None else self.data, self.args

    @property
    def saved_bytes(self) -> int:
        """The bytes of the arrays kept for backward, parameters too, each counted once; 0 for a leaf."""
        if self.primitive is None or self.args is None:
            return 0
        kept = [*self.args, *arrays_within(self.residuals), self.data if self.primitive.reads_output else None]
        for value in self.params.values():
            kept.extend(arrays_within(value))
        return sum({id(array): array.nbytes for array in kept if isinstance(array, np.ndarray)}.values())

    def release(self) -> None:
        """Let go of everything that backward needed. What a drawing needs but for values stays."""
        if self.primitive is not None:
            self.args = self.data = self.residuals = None
            if self.params:
                self.params = {name: without_values(value) for name, value in self.params.items()}

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook(cotangent)` whenever a backward pass reaches this node; see `Tensor.register_hook`."""
        return register(self, hook)

    def __repr__(self) -> str:
        what = "leaf" if self.primitive is None else self.primitive.name
        label = f" {self.name}" if self.name else ""
        return f"Node({what}{label} {self.shape} {self.dtype}{' in ' + self.path if self.path else ''})"


def make_node(
    primitive: "Operation | None",
    params: dict[str, Any],
    inputs: tuple[Operand, ...],
    args: tuple[Any, ...],
    data: Array | None,
    residuals: Any,
    output: Array,
    path: str,
    stamp: int | None,
    name: str | None = None,
) -> Node:
    """A new node for `output`."""
    node = Node()
    node.primitive = primitive
    node.params = params
    node.inputs = inputs
    node.args = args
    node.data = data
    node.residuals = residuals
    node.shape = output.shape
    node.dtype = output.dtype
    node.path = path
    node.number = next_number()
    node.stamp = stamp
    node.version = 0
    node.name = name
    node.grad = None
    node.retains = False
    node.hooks = ()
    return node


def arrays_within(kept: Any) -> Iterable[Any]:
    """What a kernel left behind, or a parameter such as an index holds, one by one; tuples may hold tuples."""
    if not isinstance(kept, tuple):
        return (kept,)
    return [array for part in kept for array in arrays_within(part)]


def without_values(param: Any) -> Any:
    """A parameter as a released node has it: arrays that are not small as Constants, which still have a shape."""
    if isinstance(param, np.ndarray) and param.size > SMALL:
        return Constant(param, None)
    return tuple(map(without_values, param)) if param.__class__ is tuple else param


def topological_order(roots: Iterable[Node], stop: frozenset[Node] = frozenset()) -> list[Node]:
    """All nodes that `roots` were made from, inputs before outputs. Nodes in `stop` are in it, those behind not."""
    order = list(dict.fromkeys(roots))
    waiting, seen = list(order), set(order)
    while waiting:
        node = waiting.pop()
        if stop and node in stop:
            continue
        for operand in node.inputs:
            if operand.__class__ is Node and operand not in seen:
                seen.add(operand)
                order.append(operand)
                waiting.append(operand)
    order.sort(key=attrgetter("number"))  # found in nearly the reverse order: a list sorts that faster than a set
    return order
