"""Why a value is not finite: which operand made it, how, and what is usually done about it.

Forward findings go by the operation's name, since each has its own ways to fail; backward findings need no such table:
a rule that is run with a cotangent of ones is the derivative itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.operation import Operation
from minigrad.tape import Array, Node
from minigrad.tensor import Tensor, plain

ELEMENTWISE = frozenset(
    {"alias", "astype", "clip", "erf", "power_constant", "relu", "sigmoid", "silu", "softplus", "where"}
)
"""Operations that act on each element, beside NumPy's ufuncs."""

EPSILON = "choose the divisor before dividing, x / where(y == 0, 1, y), or add an eps"
LOGARITHM = "keep what goes in above 0, log(maximum(x, 1e-12)), or stay in logarithms: log_softmax, cross_entropy"
EXPONENTIAL = "subtract the largest first, as softmax and logsumexp do"
WIDER = "scale it down, or use a wider dtype"
CHOOSE = "where() chooses too late: choose before as well, "
DERIVATIVE_REMEDIES = {
    "sqrt": CHOOSE + "sqrt(where(x > 0, x, 1)), or add an eps, sqrt(x + eps)",
    "log": CHOOSE + "log(where(x > 0, x, 1)), or stay in logarithms: log_softmax, cross_entropy",
    "divide": CHOOSE + "x / where(y == 0, 1, y), or add an eps",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A value that is not finite: whose it is, the value, where, how it came about, what is done about it."""

    subject: str
    value: float
    index: tuple[int, ...]
    cause: str
    remedy: str = ""


def forward_finding(operation: Operation, operands: Sequence[Any], output: Array) -> Finding | None:
    """The first anomaly of an operation's output; None where it only passes on infinities that are taken as meant."""
    arrays = [np.asarray(plain(operand)) for operand in operands]
    bad = np.isnan(output)
    if not bad.any():
        bad = np.isinf(output)
        for operand, array in zip(operands, arrays, strict=True):
            if not is_leaf(operand) and array.dtype.kind in "fc":
                bad = bad & ~meant(operation, np.isinf(array), output.shape)
        if not bad.any():
            return None
    index = position_of(bad)
    value = output[index]
    for position, (operand, array) in enumerate(zip(operands, arrays, strict=True)):
        found = np.isnan(array) if math.isnan(abs(value)) else np.isinf(array) & is_leaf(operand)
        if array.dtype.kind in "fc" and found.any():
            where = position_of(found)
            at = f" at index {where}" if where else ""
            cause = f"{operand_name(operation, position, operand)} is {array[where]}{at} already"
            return Finding("its output", value, index, cause, "look at the data, or at what made this value")
    if elementwise(operation):
        values = [array[aligned(index, array.shape)] for array in arrays]
        cause, remedy = elementwise_cause(operation.name, values, value, output.dtype)
    else:
        cause, remedy = combined_cause(operation, operands, arrays, value, output.dtype)
    return Finding("its output", value, index, cause, remedy)


def meant(operation: Operation, infinite: Array, shape: tuple[int, ...]) -> Array:
    """Where an output may be infinite because an operand is, given or passed on before."""
    if elementwise(operation):
        return np.broadcast_to(infinite, shape)
    return np.full(shape, infinite.any())


def elementwise_cause(name: str, values: Sequence[Any], value: Any, dtype: np.dtype[Any]) -> tuple[str, str]:
    """(how one element became NaN or infinite, the remedy), from the operands' elements."""
    x, y = (*values, 0, 0)[:2]
    if name == "log" and x == 0:
        return "the logarithm of 0", LOGARITHM
    if name == "log":
        return f"the logarithm of a negative number, {shown(x)}", LOGARITHM
    if name == "sqrt" and x < 0:
        return f"the square root of a negative number, {shown(x)}", "keep what goes in at or above 0: maximum(x, 0)"
    if name == "divide" and y == 0:
        return f"{shown(x)} / 0", EPSILON
    if name == "divide" and np.isinf(x) and np.isinf(y):
        return f"{shown(x)} / {shown(y)}", "an infinity went in; keep it out, or choose it away with where() before"
    if name == "multiply" and (x == 0 or y == 0):
        return "0 times inf", "choose with where(mask, x, 0) in place of multiplying by a mask of zeros"
    if name in ("add", "subtract") and np.isinf(x) and np.isinf(y):
        return (
            f"{shown(x)} {'+' if name == 'add' else '-'} {shown(y)}",
            "mask with a large finite number, or with where()",
        )
    if name in ("power", "power_constant") and x == 0:
        return "0 to a negative power", "choose the base before: where(x == 0, 1, x) ** y, or add an eps"
    if name in ("power", "power_constant") and x < 0 and math.isnan(abs(value)):
        return f"a negative number, {shown(x)}, to a power that is no integer", "keep the base at or above 0"
    at = ", ".join(shown(element) for element in values)
    if math.isnan(abs(value)):
        return f"{name}({at}) is not defined", "keep what goes in within the function's domain"
    return overflow(f"{name}({at})", dtype), EXPONENTIAL if name == "exp" else WIDER


def combined_cause(
    operation: Operation, operands: Sequence[Any], arrays: Sequence[Array], value: Any, dtype: np.dtype[Any]
) -> tuple[str, str]:
    """(how an operation over many elements came to NaN or infinity, the remedy)."""
    for position, array in enumerate(arrays):
        if array.dtype.kind in "fc" and np.isinf(array).any():
            where = position_of(np.isinf(array))
            named = operand_name(operation, position, operands[position])
            how = f"{named} is {array[where]} at index {where}, and 0 times inf or inf - inf is nan"
            return how, "mask with where() before, in place of multiplying or adding"
    return overflow(f"what {operation.name} adds up", dtype), WIDER


def backward_finding(node: Node, cotangent: Array, position: int, contribution: Array) -> Finding:
    """Why what `node` hands to its operand at `position` is not finite, though its cotangent is."""
    operation = node.primitive
    assert operation is not None
    bad = ~np.isfinite(contribution)
    index = position_of(bad)
    operand = node.inputs[position]
    subject = f"the gradient of {operand_name(operation, position, operand)}"
    value = contribution[index]
    raw = np.asarray(operation.cotangents(node, cotangent, *node.saved)[position])
    if np.isfinite(raw).all():
        return Finding(subject, value, index, overflow("the sum over broadcast axes", contribution.dtype), WIDER)
    if not elementwise(operation):
        cause = f"the derivative of {operation.name} is not finite there"
        return Finding(
            subject, value, index, cause, "run it within mg.unfused() to see the step inside, if it is fused"
        )
    place = position_of(~np.isfinite(raw))
    ones = np.ones(cotangent.shape, cotangent.dtype)
    derivative = np.broadcast_to(operation.cotangents(node, ones, *node.saved)[position], raw.shape)[place]
    g = np.broadcast_to(cotangent, raw.shape)[place]
    slope = derivative_text(node, position, place)
    remedy = DERIVATIVE_REMEDIES.get(
        operation.name, "keep the operand away from this point: choose with where() before"
    )
    if np.isfinite(derivative):
        cause, remedy = overflow(f"{slope} = {shown(derivative)} times the cotangent {shown(g)}", raw.dtype), WIDER
    elif g == 0 and np.isinf(derivative):
        cause = f"{slope} is {shown(derivative)} and the cotangent there is 0: 0 * inf is nan"
    else:
        cause = f"{slope} is {shown(derivative)}"
    return Finding(subject, value, index, cause, remedy)


def derivative_text(node: Node, position: int, place: tuple[int, ...]) -> str:
    """A derivative as one writes it: sqrt'(0), or the derivative of divide by y at (1, 0)."""
    assert node.primitive is not None
    assert node.args is not None
    values = []
    for entry, arg in zip(node.inputs, node.args, strict=True):
        array = (
            arg if isinstance(arg, np.ndarray | float | int) else getattr(entry, "data", getattr(entry, "value", None))
        )
        values.append("?" if array is None else shown(np.asarray(array)[aligned(place, np.shape(array))]))
    if len(values) == 1 and values[0] == "?" and node.data is not None:
        return f"{node.primitive.name}', where its output is {shown(node.data[place])},"
    if len(values) == 1:
        return f"{node.primitive.name}'({values[0]})"
    name = operand_name(node.primitive, position, None)
    return f"the derivative of {node.primitive.name} by {name} at ({', '.join(values)})"


def seed_finding(node: Node, cotangent: Array) -> Finding:
    """A cotangent that arrives not finite, though all contributions to it are: the first one, or a sum."""
    index = position_of(~np.isfinite(cotangent))
    cause = "the backward pass was started with it, or the sum of the contributions to it overflows"
    return Finding("the cotangent", cotangent[index], index, cause, "scale the loss down")


def elementwise(operation: Operation) -> bool:
    """Whether an output's element depends on the operands' elements of the same place only."""
    forward = getattr(operation, "forward", None)
    if isinstance(forward, np.ufunc):
        return forward.signature is None
    return forward is np.where or operation.name in ELEMENTWISE


def is_leaf(operand: Any) -> bool:
    """Whether an operand is a tensor that asks for a gradient and was made by no operation."""
    return isinstance(operand, Tensor) and operand._node is not None and operand._node.primitive is None


def operand_name(operation: Operation, position: int, operand: Any) -> str:
    """An operand by the rule's name for it, and its own where it has one: x (embedding.weight)."""
    names = getattr(operation, "operands", ())[1:]
    formal = names[position] if position < len(names) else f"operand {position}"
    own = getattr(operand, "name", None)
    return f"{formal} ({own})" if own and own != formal else str(formal)


def position_of(found: Array) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(found)), found.shape))


def aligned(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index in an operand of `shape` that broadcasting reads for `index` of the output."""
    return tuple(0 if size == 1 else i for i, size in zip(index[len(index) - len(shape) :], shape, strict=True))


def overflow(what: str, dtype: np.dtype[Any]) -> str:
    """An overflow, with the limit that was passed."""
    return f"{what} is larger than {dtype}'s largest number, {shown(np.finfo(dtype).max)}"


def shown(number: Any) -> str:
    """A number, short."""
    return f"{number:.6g}"
