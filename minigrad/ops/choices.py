"""Operations that choose by comparison: at a tie or an edge the derivative is a convention, which the row states.

The walk sums each cotangent to the operand's shape.
"""

from typing import Any

import numpy as np

from minigrad.errors import DtypeError
from minigrad.operation import PYTHON_NUMBERS
from minigrad.ops.axes import dtype_of
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers, operations
from minigrad.tensor import Tensor, TensorLike

_abs = Primitive(
    "abs", np.abs, "|x|",
    Rule(lambda g, out, x: np.where(x > 0, g, np.where(x < 0, -g, 0)), "x"),
    kinks="abs'(0) = 0", analytic=False,
)  # fmt: skip
_relu = Primitive(
    "relu", lambda x: np.maximum(x, 0), "max(x, 0)",
    Rule(lambda g, out, x: g * (out > 0), "out"),
    kinks="relu'(0) = 0", analytic=False,
)  # fmt: skip
_maximum = Primitive(
    "maximum", np.maximum, "max(x, y)",
    Rule(lambda g, out, x, y: np.where(x > y, g, np.where(x == y, 0.5 * g, 0)), "x y"),
    Rule(lambda g, out, x, y: np.where(x < y, g, np.where(x == y, 0.5 * g, 0)), "x y"),
    kinks="a tie gives each operand half", analytic=False,
)  # fmt: skip
_minimum = Primitive(
    "minimum", np.minimum, "min(x, y)",
    Rule(lambda g, out, x, y: np.where(x < y, g, np.where(x == y, 0.5 * g, 0)), "x y"),
    Rule(lambda g, out, x, y: np.where(x > y, g, np.where(x == y, 0.5 * g, 0)), "x y"),
    kinks="a tie gives each operand half", analytic=False,
)  # fmt: skip
_where = Primitive(
    "where", np.where, "x where condition, else y",
    None,
    Rule(lambda g, out, condition, x, y: np.where(condition, g, 0), "condition"),
    Rule(lambda g, out, condition, x, y: np.where(condition, 0, g), "condition"),
)  # fmt: skip
_clip = Primitive(
    "clip", lambda x, low, high: np.minimum(np.maximum(x, low), high), "min(max(x, low), high)",
    Rule(lambda g, out, x, low, high: np.where((x >= low) & (x <= high), g, 0), "x low high"),
    Rule(lambda g, out, x, low, high: np.where((x < low) & (low <= high), g, 0), "x low high"),
    Rule(lambda g, out, x, low, high: np.where((x > high) | (low > high), g, 0), "x low high"),
    kinks="clip' = 1 at either edge", analytic=False,
)  # fmt: skip


@answers(np.abs)
def abs(x: TensorLike) -> Tensor:
    """|x|, elementwise. dx = g * sign(x), 0 at 0."""
    return _abs(x)


def relu(x: TensorLike) -> Tensor:
    """max(x, 0), elementwise (the paper's FFN, section 3.3). dx = g where x > 0, else 0, also at 0."""
    return _relu(x)


@answers(np.maximum)
def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """The larger of x and y, elementwise, broadcast. The cotangent goes to the larger; a tie gives each half."""
    return _maximum(x, y)


@answers(np.minimum)
def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """The smaller of x and y, elementwise, broadcast. The cotangent goes to the smaller; a tie gives each half."""
    return _minimum(x, y)


@answers(np.where)
def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """x where condition holds, y elsewhere, broadcast. dx = g where it holds, else 0; dy the other way round."""
    if x.__class__ in PYTHON_NUMBERS and y.__class__ in PYTHON_NUMBERS:
        x = Tensor(x)  # two weak numbers: not the condition but the default dtype says what they become
    return _where(condition, x, y)


def clip(x: TensorLike, a_min: TensorLike | None = None, a_max: TensorLike | None = None) -> Tensor:
    """x kept within [a_min, a_max], elementwise, broadcast; None is no bound. At an edge dx = g, beyond it 0.

    What x loses goes to the bound that it met. Where a_min > a_max the value, and g, are a_max's.
    """
    dtype = dtype_of(x)
    least: TensorLike
    most: TensorLike
    least, most = (-np.inf, np.inf) if dtype.kind not in "iu" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    return _clip(x, least if a_min is None else a_min, most if a_max is None else a_max)


@answers(np.clip)
def _numpy_clip(
    a: TensorLike, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None
) -> Tensor:
    if out is not None:
        raise DtypeError("np.clip(..., out=) is not supported on a Tensor: it would write where none looks")
    return clip(a, a_min if min is None else min, a_max if max is None else max)


operations.abs = _abs
operations.relu = _relu
operations.clip = clip
