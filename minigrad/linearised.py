"""A function linearised where it was called: its value, and its Jacobian as what can be pulled back through.

What the transforms are made of. The walk ends at aliases of the inputs, so that a transform inside another costs
nothing that is not its own, and needs no state to tell whose derivative is whose.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backprop import call_hooks, delivered, start, steps
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops import concatenate, reshape
from minigrad.primitive import alias_of
from minigrad.state import current, enable_grad, setting
from minigrad.tape import topological_order
from minigrad.tensor import Tensor
from minigrad.trees import aligned, filled, kind_of, leaves

Function = Callable[..., Any]


class Linearised:
    """A call of `f`, recorded on aliases of its arguments' leaves, ready to be walked back to these.

    numbers: which arguments of the user's function these are, for errors; None: all.
    value: what f gave, a tree of Tensors; on the tape where something outside asks for it.
    inputs, outputs: the leaves, as they are on the tape.
    nested: whether f's output has a history beyond `inputs`.
    """

    def __init__(self, name: str, f: Function, args: Sequence[Any], numbers: Sequence[int] | None = None) -> None:
        self.args = tuple(args)
        called = range(len(self.args)) if numbers is None else numbers
        with enable_grad():
            self.inputs = [
                own_leaf(name, path, leaf)
                for number, arg in zip(called, self.args, strict=True)
                for path, leaf in leaves(arg, f"argument {number}")
            ]
            result = f(*filled(self.args, self.inputs))
        self.outputs = [real_output(name, path, leaf) for path, leaf in leaves(result, "the output")]
        self.nested = has_history_beyond(self.outputs, self.inputs)
        keep = self.nested and current().recording
        self.value = filled(result, self.outputs if keep else [output.detach() for output in self.outputs])

    def pulled_back(self, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """J^T u, leaf by leaf."""
        record = current().recording and (self.nested or tracked(cotangents))
        return pull(self.outputs, self.inputs, cotangents, record)


def linearised(
    name: str, f: Function, args: Sequence[Any], numbers: Sequence[int] | None = None, cotangents: str = "the cotangent"
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(f(*args), pullback), with errors that begin with `name` and call what is pulled back `cotangents`."""
    call = Linearised(name, f, args, numbers)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        u = conforming(name, cotangent, call.value, call.outputs, cotangents)
        return tuple(filled(call.args, call.pulled_back(u)))

    return call.value, pullback


def pull(outputs: list[Tensor], inputs: list[Tensor], cotangents: Sequence[Tensor], record: bool) -> list[Tensor]:
    """sum over outputs of J^T u, for each of `inputs`, in one walk that ends at these.

    Several outputs are joined to one vector, which is linear and exact.
    """
    live = [(output, u) for output, u in zip(outputs, cotangents, strict=True) if output.requires_grad]
    found: dict[Any, Any] = {}
    nodes = [tensor._node for tensor in inputs if tensor._node is not None]
    if live:
        output, cotangent = live[0]
        if len(live) > 1:
            with enable_grad():
                output = concatenate([reshape(one, -1) for one, _ in live])
            with setting(recording=record):
                cotangent = concatenate([reshape(u, -1) for _, u in live])
        root, seed = start(output, cotangent, record)
        wanted = frozenset(nodes)
        with np.errstate(all="ignore"):
            for node, cotangent, _ in steps(root, seed if record else seed.data, record, stop=wanted):
                if node.hooks:
                    call_hooks(node, cotangent)
                if node in wanted:
                    found[node] = cotangent
    return [delivered(found.get(node), node) for node in nodes]


def has_history_beyond(outputs: list[Tensor], inputs: list[Tensor]) -> bool:
    """Whether somebody else may derive `outputs`, or the gradients by `inputs`: there are other leaves behind them."""
    own = frozenset(tensor._node for tensor in inputs if tensor._node is not None)
    if any(node.primitive is not None for node in own):
        return True
    roots = [output._node for output in outputs if output._node is not None]
    return any(node.primitive is None and node not in own for node in topological_order(roots, own))


def tracked(tensors: Sequence[Tensor]) -> bool:
    """Whether one of them has a history, or is a leaf that wants one."""
    return any(tensor.requires_grad for tensor in tensors)


def own_leaf(name: str, path: str, leaf: Any) -> Tensor:
    """A tensor to derive by: an alias on the tape of one that has a history, a new leaf for anything else."""
    if isinstance(leaf, Tensor) and leaf.requires_grad:
        return alias_of(leaf)
    tensor = as_real(name, path, leaf)
    return Tensor(tensor.data, requires_grad=True, dtype=tensor.dtype, name=tensor.name)


def as_real(name: str, path: str, leaf: Any) -> Tensor:
    """A leaf as a Tensor of a floating dtype. Raises DtypeError for any other."""
    if not isinstance(leaf, Tensor | np.ndarray | np.generic | int | float | complex):
        raise DtypeError(
            f"{name}: {path} is {kind_of(leaf)}; leaves are Tensors, arrays and floats, in dicts, lists and tuples"
        )
    tensor = leaf if isinstance(leaf, Tensor) else Tensor(leaf)
    if tensor.dtype.kind != "f":
        raise DtypeError(
            f"{name}: {path} is {tensor.dtype}, which has no derivative; "
            "make it floating (write 3.0 for 3), leave it out by argnums, or close over it"
        )
    return tensor


def real_output(name: str, path: str, leaf: Any) -> Tensor:
    """What a function gave, as a Tensor of a floating dtype. Raises DtypeError for any other."""
    if not isinstance(leaf, Tensor | np.ndarray | np.generic):
        raise DtypeError(f"{name}: {path} must be a Tensor, not {kind_of(leaf)}; was it made by item() or float()?")
    tensor = leaf if isinstance(leaf, Tensor) else Tensor(leaf)
    if tensor.dtype.kind != "f":
        raise DtypeError(f"{name}: {path} is {tensor.dtype}, which has no derivative; let the function not return it")
    return tensor


def conforming(name: str, tree: Any, like: Any, tensors: list[Tensor], what: str) -> list[Tensor]:
    """The leaves of `tree`, a tree as `like`, in the shapes and dtypes of `tensors`. Raises ShapeError."""
    found = []
    for (path, leaf), tensor in zip(aligned(name, tree, like, what), tensors, strict=True):
        given = leaf if isinstance(leaf, Tensor) else Tensor(leaf)
        if given.shape != tensor.shape:
            raise ShapeError(f"{name}: {path} has shape {given.shape}, but must have {tensor.shape}")
        if given.dtype.kind not in "biuf":
            raise DtypeError(f"{name}: {path} is {given.dtype}; it must be real")
        found.append(given if given.dtype == tensor.dtype else given.astype(tensor.dtype))
    return found
