"""The walk: one loop back through the graph, a stream of steps. `gradients` and `backward` are its readers.

The walk does, once, what rules never do: it sums a cotangent to its operand's shape, keeps the operand's dtype, and
adds contributions where a value was used more than once, knowing which buffers are its own to add into.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.errors import DtypeError, GraphError, ShapeError, describe
from minigrad.fused import Fused
from minigrad.primitive import Primitive, alias_of
from minigrad.registry import operations
from minigrad.state import current, setting
from minigrad.tape import Array, Node, topological_order
from minigrad.tensor import Tensor, TensorLike, wrap


class Step(NamedTuple):
    """One step of the walk: a node has its whole cotangent, and hands its contributions on.

    node: the node, a leaf or an operation.
    cotangent: d output / d node, of the node's shape; read-only.
    contributions: one entry an operand of `node.inputs`: what this node adds to that operand's cotangent, or None
        where no gradient flows. Empty for a leaf. Read-only.
    """

    node: Node
    cotangent: Any
    contributions: Sequence[Any]


def walk(output: Tensor, gradient: TensorLike | None = None) -> Iterator[Step]:
    """The backward pass from `output` as a stream of steps, outputs before inputs, without side effects.

    It writes no `.grad`, frees nothing, and holds no context across a yield.
    gradient: the cotangent of `output`, of its shape; 1 for a tensor of one element.
    Raises GraphError and ShapeError as `Tensor.backward` does.

    >>> x = Tensor(3.0, requires_grad=True)
    >>> [(step.node.primitive and step.node.primitive.name, float(step.cotangent)) for step in walk(x * x)]
    [('multiply', 1.0), (None, 6.0)]
    """
    root, seed = start(output, gradient)
    return _under_errstate(steps(root, seed.data))


def _under_errstate(stream: Iterator[tuple[Node, Any, Sequence[Any]]]) -> Iterator[Step]:
    while True:
        with np.errstate(all="ignore"):
            step = next(stream, None)
        if step is None:
            return
        for contribution in step[2]:
            if isinstance(contribution, np.ndarray):
                contribution.setflags(write=False)
        yield Step(*step)


def gradients(
    output: Tensor,
    tensors: Sequence[Tensor],
    gradient: TensorLike | None = None,
    create_graph: bool = False,
) -> list[Tensor]:
    """d output / d tensor for each of `tensors`, leaves or not, in order. Writes no `.grad`, frees nothing.

    gradient: the cotangent of `output`, of its shape; 1 for a tensor of one element.
    create_graph: the gradients are themselves on the tape, for higher derivatives.
    A tensor that `output` does not depend on has gradient 0. Raises GraphError for a tensor that has no history and
    asks for none, and as `Tensor.backward` does.
    """
    root, seed = start(output, gradient, create_graph)
    for position, tensor in enumerate(tensors):
        if tensor._node is None:
            raise GraphError(f"gradients: tensor {position} of shape {tensor.shape} does not require a gradient")
    nodes = [tensor._node for tensor in tensors if tensor._node is not None]
    wanted = frozenset(nodes)
    found: dict[Node, Any] = {}
    with np.errstate(all="ignore"):
        for node, cotangent, _ in steps(root, seed if create_graph else seed.data, record=create_graph):
            if node.hooks:
                call_hooks(node, cotangent)
            if node in wanted:
                found[node] = cotangent
    last = {node: position for position, node in enumerate(nodes)}  # where a cotangent may be handed over uncopied
    results: list[Tensor] = []
    for position, node in enumerate(nodes):
        cotangent = found.pop(node, None) if last[node] == position else found.get(node)
        results.append(delivered(cotangent, node))
    return results


def delivered(cotangent: Any, node: Node) -> Tensor:
    """A gradient as its receiver gets it: a Tensor that shares no memory with another gradient, or is on the tape."""
    if isinstance(cotangent, Tensor):
        # Off the tape it may be a Tensor that somebody holds.
        return cotangent if cotangent._node is not None else Tensor(cotangent._data)
    if cotangent is None:
        cotangent = np.zeros(node.shape, node.dtype)
    elif cotangent.base is not None or references(cotangent) > UNSHARED:
        cotangent = np.array(cotangent)
    cotangent.setflags(write=False)
    return wrap(cotangent, None)


def call_hooks(node: Node, cotangent: Any) -> None:
    """Show a node's cotangent to its hooks: a Tensor, on the tape where the backward pass is."""
    for handle in node.hooks:
        handle.call(cotangent if isinstance(cotangent, Tensor) else wrap(cotangent, None))


def references(array: Array) -> float:
    """How many references to an array there are, those of the two callers counted; infinite where nobody counts."""
    return sys.getrefcount(array) if sys.implementation.name == "cpython" else math.inf


def _references_to_a_new_array() -> float:
    """What `delivered` sees of an array that only its caller holds: the same calls as there, on one."""

    def callee(array: Any) -> float:
        return references(array)

    array = np.empty(1)
    return callee(array)


UNSHARED = 0 if sys.gettrace() or sys.getprofile() else min(_references_to_a_new_array(), 4)
"""`references` to an array that nobody else holds. A rule may hand out one array twice, or keep it: that is copied.

A debugger or profiler may hold more while this is measured; 0 then, so that all is copied. 4 is CPython 3.11's number.
"""


def backward(output: Tensor, gradient: TensorLike | None, retain_graph: bool, create_graph: bool) -> None:
    """See `Tensor.backward`. Gradients are written only once the whole walk has gone through."""
    root, seed = start(output, gradient, create_graph)
    release = not (retain_graph or create_graph)
    found: list[tuple[Node, Any]] = []
    with np.errstate(all="ignore"):
        for node, cotangent, _ in steps(root, seed if create_graph else seed.data, record=create_graph):
            if node.hooks:
                call_hooks(node, cotangent)
            if node.primitive is None or node.retains:
                found.append((node, cotangent))
            if release:
                node.release()
        while found:
            node, cotangent = found.pop()
            new = delivered(cotangent, node)
            node.grad = new if node.grad is None else added(node.grad, new, create_graph, "")


operations.backward = backward


def start(output: Tensor, gradient: TensorLike | None, create_graph: bool = False) -> tuple[Node, Tensor]:
    """The node to walk from and its cotangent."""
    if output._node is None:
        raise GraphError(
            "this tensor was made by no recorded operation on a tensor that requires a gradient "
            "(was it made under no_grad, or from plain arrays?)"
        )
    if gradient is None:
        if output.size != 1:
            raise GraphError(
                f"backward from a tensor of shape {output.shape} needs a cotangent of that shape; "
                "did you mean output.sum().backward()?"
            )
        ones = np.ones(output.shape, output.dtype)
        ones.setflags(write=False)
        return output._node, wrap(ones, None)
    seed = gradient if isinstance(gradient, Tensor) else Tensor(gradient)
    if seed.shape != output.shape:
        raise ShapeError(f"the cotangent's shape {seed.shape} must be the output's, {output.shape}")
    if seed.dtype.kind not in "biuf":
        raise DtypeError(f"a cotangent is real, not {seed.dtype}")
    if seed.dtype == output.dtype and (seed._node is None or not create_graph):
        return output._node, seed
    with setting(recording=create_graph):
        # A gradient may be the seed itself, and must not change when the caller's leaf does.
        return output._node, alias_of(seed) if seed.dtype == output.dtype else seed.astype(output.dtype)


def steps(
    root: Node, seed: Any, record: bool = False, stop: frozenset[Node] = frozenset()
) -> Iterator[tuple[Node, Any, Sequence[Any]]]:
    """The loop itself: (node, cotangent, contributions) as in `Step`. Nodes in `stop` are treated as leaves.

    With `record`, cotangents are Tensors and the rules' own operations go onto the tape.
    """
    order = topological_order([root], stop)
    cotangents: dict[Node, Any] = {root: seed}
    owned: set[Node] = set()
    watch = current().watch
    while order:
        node = order.pop()
        cotangent = cotangents.pop(node, None)
        if cotangent is None:
            continue
        if cotangent.__class__ is np.ndarray:
            cotangent.setflags(False)  # type: ignore[call-arg]  # write=False takes three times as long
        if node.primitive is None or (stop and node in stop):
            yield node, cotangent, ()
            continue
        contributions = contribute(node, cotangent, record)
        inputs: Any = node.inputs  # Nodes, where there is a contribution
        for position, operand in enumerate(inputs):
            contribution = contributions[position]
            if contribution is None:
                continue
            # As a rule a contribution is in its operand's form already, and this costs least.
            if (
                contribution.__class__ is not np.ndarray
                or operand.__class__ is not Node
                or contribution.shape != operand.shape
                or contribution.dtype is not operand.dtype
            ):
                contribution = contributions[position] = conform(contribution, operand, node)
                if contribution is None:
                    continue
            so_far = cotangents.get(operand)
            if so_far is None:
                cotangents[operand] = contribution
            elif operand in owned:
                so_far += contribution
            elif record:
                cotangents[operand] = added(so_far, contribution, True, operand.path)
            else:
                cotangents[operand] = np.asarray(so_far + contribution)
                owned.add(operand)
        if watch is not None:
            watch.step(node, cotangent, contributions)
        yield node, cotangent, contributions


def added(so_far: Any, contribution: Any, recording: bool, path: str) -> Any:
    """The sum of two contributions, on the tape if the backward pass is."""
    with setting(recording=recording, path=path):
        return so_far + contribution


def contribute(node: Node, cotangent: Any, record: bool) -> list[Any]:
    """What the rules of `node` give for each of its operands, as they give it."""
    if node.args is None or node.stamp is not None:
        check_fresh(node)
    operation = node.primitive
    assert operation is not None
    try:
        if record:
            # Operations of the rule are recorded, and belong to the module whose backward pass they are.
            with setting(recording=True, inside_rule=True, path=node.path):
                contributions = recorded_cotangents(node, cotangent)
        else:
            out, args = node.data, node.args
            contributions = operation.cotangents(node, cotangent, node if out is None else out, args or ())
    except Exception as error:
        operands = ", ".join(describe(operand) for operand in node.inputs)
        error.add_note(f"in the derivative of {located(node)}: {operands}")
        raise
    if len(contributions) != len(node.inputs):
        raise ShapeError(
            f"the rule of {located(node)} gave {len(contributions)} cotangents for {len(node.inputs)} operands"
        )
    return contributions


def recorded_cotangents(node: Node, cotangent: Tensor) -> list[Any]:
    """The contributions of `node` as Tensors: a primitive's rules run on Tensors, a fused definition is walked."""
    operation = node.primitive
    if isinstance(operation, Fused):
        output, aliases = operation.replay(node)
        stop = frozenset(alias._node for alias in aliases if alias is not None and alias._node is not None)
        if output._node is None:
            return [None] * len(aliases)
        found = {leaf: whole for leaf, whole, _ in steps(output._node, cotangent, True, stop) if leaf in stop}
        return [None if alias is None or alias._node is None else found.get(alias._node) for alias in aliases]
    assert isinstance(operation, Primitive)
    assert node.args is not None
    out = node if node.data is None else wrap(node.data, node)
    args = [
        wrap(arg, entry) if isinstance(entry, Node) and isinstance(arg, np.ndarray) else arg
        for entry, arg in zip(node.inputs, node.args, strict=True)
    ]
    return operation.cotangents(node, cotangent, out, args)


def check_fresh(node: Node) -> None:
    """Raise GraphError where what `node` saved is released, or a leaf that it read has changed since."""
    if node.args is None:
        raise GraphError(
            f"{located(node)}: its saved arrays were released by an earlier backward pass, "
            "or by one that failed; use retain_graph=True there if a second pass is meant"
        )
    if node.stamp is None:
        return
    versions = 0
    for entry, arg in zip(node.inputs, node.args, strict=True):
        if arg is not entry and isinstance(entry, Node):
            versions += entry.version
    if versions != node.stamp:
        read = [e for e, arg in zip(node.inputs, node.args, strict=True) if isinstance(e, Node) and arg is not e]
        names = ", ".join(entry.name or f"a leaf of shape {entry.shape}" for entry in read if entry.version)
        raise GraphError(
            f"{located(node)}: {names} was changed after this operation read it, so its derivative would be of other "
            "values; run the forward pass again, or change parameters only after backward()"
        )


def located(node: Node) -> str:
    """An operation as an error names it: with its module path, where it has one."""
    name = "leaf" if node.primitive is None else node.primitive.name
    return f"{name} in {node.path}" if node.path else name


def conform(contribution: Any, operand: Any, node: Node) -> Any:
    """A contribution in its operand's dtype, summed over the axes that broadcasting added; None to a constant."""
    if operand.__class__ is not Node:
        return None
    if not isinstance(contribution, np.ndarray | Tensor):
        contribution = np.asarray(contribution)
    if contribution.shape != operand.shape:
        contribution = unbroadcast(contribution, operand.shape, node)
    return contribution if contribution.dtype == operand.dtype else contribution.astype(operand.dtype)


def unbroadcast(contribution: Any, shape: tuple[int, ...], node: Node) -> Any:
    """The sum over the axes by which `contribution` is larger than `shape`: the adjoint of broadcasting.

    Raises ShapeError where `shape` does not broadcast to the contribution's: the rule is wrong.
    """
    added = contribution.ndim - len(shape)
    axes = tuple(range(added)) if added > 0 else ()
    stretched = tuple(
        axis + added for axis, size in enumerate(shape) if size == 1 and contribution.shape[axis + added] != 1
    ) if added >= 0 else ()  # fmt: skip
    summed = contribution.sum(axis=axes + stretched, keepdims=True)
    if added < 0 or summed.shape[added:] != shape:
        raise ShapeError(
            f"the rule of {located(node)} gave a cotangent of shape {contribution.shape} for an operand of {shape}"
        )
    return summed.reshape(shape)
