"""Operations that act on each element, with NumPy's broadcasting. Rows of the table of rules, and their public names.

Every rule reads `g`, the cotangent of the output; the walk sums it to the operand's shape.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from minigrad.errors import DtypeError
from minigrad.operation import PYTHON_NUMBERS
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers, operations
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike

_add = Primitive(
    "add", np.add, "x + y",
    Rule(lambda g, out, x, y: g),
    Rule(lambda g, out, x, y: g),
)  # fmt: skip
_subtract = Primitive(
    "subtract", np.subtract, "x - y",
    Rule(lambda g, out, x, y: g),
    Rule(lambda g, out, x, y: -g),
)  # fmt: skip
_multiply = Primitive(
    "multiply", np.multiply, "x * y",
    Rule(lambda g, out, x, y: g * y, "y"),
    Rule(lambda g, out, x, y: g * x, "x"),
)  # fmt: skip
_divide = Primitive(
    "divide", np.divide, "x / y",
    Rule(lambda g, out, x, y: g / y, "y"),
    Rule(lambda g, out, x, y: -g * (out / y), "out y"),
)  # fmt: skip
_negative = Primitive("negative", np.negative, "-x", Rule(lambda g, out, x: -g))
_exp = Primitive("exp", np.exp, "exp(x)", Rule(lambda g, out, x: g * out, "out"))
_log = Primitive("log", np.log, "log(x)", Rule(lambda g, out, x: g / x, "x"), kinks="log'(0) = inf")
_sqrt = Primitive(
    "sqrt", np.sqrt, "sqrt(x)", Rule(lambda g, out, x: g * 0.5 / out, "out"), kinks="sqrt'(0) = inf"
)  # fmt: skip
_tanh = Primitive("tanh", np.tanh, "tanh(x)", Rule(lambda g, out, x: g * (1 - out * out), "out"))
_sin = Primitive("sin", np.sin, "sin(x)", Rule(lambda g, out, x: g * np.cos(x), "x"))
_cos = Primitive("cos", np.cos, "cos(x)", Rule(lambda g, out, x: -g * np.sin(x), "x"))
_astype = Primitive(
    "astype", lambda x, *, dtype: x.astype(dtype), "x in another dtype",
    Rule(lambda g, out, x, *, dtype: g),
    analytic=False,
)  # fmt: skip


def _power_forward(x: Array, *, exponent: Any) -> Array:
    if exponent == 2:
        return x * x
    return x * x * x if exponent == 3 else x**exponent  # a product is several times faster than pow


_power = Primitive(
    "power", np.power, "x ** y",
    Rule(lambda g, out, x, y: g * np.where(y == 0, 0, y * x ** np.where(y == 0, 1, y - 1)), "x y"),
    Rule(lambda g, out, x, y: g * np.where(x == 0, 0, out * np.log(np.where(x == 0, 1, x))), "out x"),
    kinks="d/dx x**0 = 0 and d/dy 0**y = 0, everywhere",
)  # fmt: skip
_power_constant = Primitive(
    "power_constant", _power_forward, "x ** exponent",
    Rule(lambda g, out, x, *, exponent: g * exponent * x ** (exponent - 1) if exponent else 0 * g, "x"),
    kinks="d/dx x**0 = 0 everywhere",
)  # fmt: skip


@answers(np.add)
def add(x: TensorLike, y: TensorLike) -> Tensor:
    """x + y, elementwise, broadcast. dx = g, dy = g."""
    return _add(x, y)


@answers(np.subtract)
def subtract(x: TensorLike, y: TensorLike) -> Tensor:
    """x - y, elementwise, broadcast. dx = g, dy = -g."""
    return _subtract(x, y)


@answers(np.multiply)
def multiply(x: TensorLike, y: TensorLike) -> Tensor:
    """x * y, elementwise, broadcast. dx = g * y, dy = g * x."""
    return _multiply(x, y)


@answers(np.divide)
def divide(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, elementwise, broadcast. dx = g / y, dy = -g * x / y**2."""
    return _divide(x, y)


@answers(np.power)
def power(x: TensorLike, y: TensorLike) -> Tensor:
    """x ** y, elementwise, broadcast. dx = g * y * x**(y - 1), dy = g * x**y * log(x).

    By convention d/dx x**0 is 0 and d/dy 0**y is 0, also at x = 0. A negative x has no derivative in y (NaN); with y
    a plain number it is a constant, and nothing is asked of log(x).
    """
    y = y.item() if isinstance(y, np.generic) else y
    if y.__class__ in PYTHON_NUMBERS and not isinstance(x, np.generic) and x.__class__ not in PYTHON_NUMBERS:
        return _power_constant(x, exponent=y)
    return _power(x, y)


@answers(np.negative)
def negative(x: TensorLike) -> Tensor:
    """-x, elementwise. dx = -g."""
    return _negative(x)


@answers(np.exp)
def exp(x: TensorLike) -> Tensor:
    """e**x, elementwise. dx = g * exp(x)."""
    return _exp(x)


@answers(np.log)
def log(x: TensorLike) -> Tensor:
    """The natural logarithm, elementwise. dx = g / x."""
    return _log(x)


@answers(np.sqrt)
def sqrt(x: TensorLike) -> Tensor:
    """The square root, elementwise. dx = g / (2 sqrt(x)), which is inf at 0."""
    return _sqrt(x)


@answers(np.tanh)
def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent, elementwise. dx = g * (1 - tanh(x)**2)."""
    return _tanh(x)


@answers(np.sin)
def sin(x: TensorLike) -> Tensor:
    """The sine of x in radians, elementwise. dx = g * cos(x)."""
    return _sin(x)


@answers(np.cos)
def cos(x: TensorLike) -> Tensor:
    """The cosine of x in radians, elementwise. dx = -g * sin(x)."""
    return _cos(x)


def astype(x: TensorLike, dtype: npt.DTypeLike) -> Tensor:
    """x in another dtype. The gradient comes back in x's own.

    Raises TypeError where a tensor with a gradient would become integer: its history would end without a word.
    """
    target = np.dtype(dtype)
    if isinstance(x, Tensor):
        if target == x.dtype:
            return x
        if x.requires_grad and target.kind != "f":
            raise DtypeError(f"astype: no gradient goes through {target}; use t.detach().astype({str(target)!r})")
    return _astype(x, dtype=target)


# The bound methods: Python calls them at once, an object that has `__call__` only after a search.
operations.add = _add.__call__
operations.subtract = _subtract.__call__
operations.multiply = _multiply.__call__
operations.divide = _divide.__call__
operations.power = power
operations.negative = _negative.__call__
operations.exp = _exp.__call__
operations.log = _log.__call__
operations.sqrt = _sqrt.__call__
operations.tanh = _tanh.__call__
operations.astype = astype
