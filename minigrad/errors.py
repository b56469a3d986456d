"""Errors that say what was wrong, where, with which shapes, and what to do.

Every error of the package is a `MinigradError` and also the built-in error that a NumPy user would expect.
"""

from collections.abc import Sequence
from typing import Any


class MinigradError(Exception):
    """Whatever minigrad refuses."""


class ShapeError(MinigradError, ValueError):
    """Operands whose shapes or values do not fit the operation."""


class DtypeError(MinigradError, TypeError):
    """Operands of a type that the operation can't take."""


class OutOfRangeError(MinigradError, IndexError):
    """An index or an axis that the operand does not have."""


class GraphError(MinigradError, RuntimeError):
    """The recorded graph can't give what was asked: released, changed since, or never recorded."""


class AnomalyError(MinigradError, FloatingPointError):
    """`detect_anomaly` found the first value that is not finite.

    operation: its name. path: the module it ran in. index: where in the value. source: (file, line) of the user's
    code, or None. direction: "forward" or "backward".
    """

    operation: str = ""
    path: str = ""
    index: tuple[int, ...] = ()
    source: tuple[str, int] | None = None
    direction: str = "forward"


class GradientCheckError(MinigradError, AssertionError):
    """`check_grads` found a derivative that differs from the function's own differences."""


class ModuleError(MinigradError, ValueError):
    """Modules that can't be put together in this way."""


class CheckpointError(MinigradError, ValueError):
    """A file that is no checkpoint, or not the one that was asked for."""


class DrawingError(MinigradError, RuntimeError):
    """A picture that could not be laid out or written."""


REMEDIES = {
    "matmul": "the last axis of the left operand must equal the second-to-last of the right",
    "linear": "x must end in the weight's first dimension, and bias must have its second",
    "reshape": "the sizes must have the same product; one of them may be -1",
    "concatenate": "all shapes must agree but on the axis that is joined",
    "attention": "query and key must end in the same size, key and value must have the same length, "
    "and the mask must broadcast to (..., T_q, T_k)",
    "layer_norm": "gain and bias must have the size of the last axis",
}
BROADCASTING = "shapes are aligned from the right, and two sizes must be equal or one of them 1"


def operation_error(name: str, path: str, operands: Sequence[Any], cause: Exception) -> MinigradError:
    """The error for an operation that failed: its name, the module path, the operand shapes, the cause, the remedy.

    "matmul in decoder.layers.1.cross_attention: (8, 12, 64) @ (32, 64): ...".
    """
    joined = (" @ " if name == "matmul" else ", ").join(describe(operand) for operand in operands)
    where = f" in {path}" if path else ""
    said = str(cause).strip()
    remedy = REMEDIES.get(name) or (BROADCASTING if "broadcast" in said else "")
    if "gufunc signature" in said:  # NumPy's own words, which say the same in its terms
        said, remedy = remedy, ""
    message = f"{name}{where}: {joined}: {said}" + (f" ({remedy})" if remedy else "")
    if isinstance(cause, IndexError):
        return OutOfRangeError(message)
    return DtypeError(message) if isinstance(cause, TypeError) else ShapeError(message)


def describe(operand: Any) -> str:
    """An operand as an error names it: the shape of an array, a plain number as it is."""
    shape = getattr(operand, "shape", None)
    return repr(operand) if shape is None else str(tuple(shape))
