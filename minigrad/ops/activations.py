"""Smooth functions that networks bend numbers with. None of them overflows, however large x is."""

import numpy as np

from minigrad.ops.error_function import erf_of
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def _decay(x: Array) -> Array:
    """e**-|x|, for complex numbers too (by the sign of the real part), where a complex step may go."""
    return np.asarray(np.exp(np.where(x.real < 0, x, -x)))


def _sigmoid_forward(x: Array) -> Array:
    e = _decay(x)
    return np.asarray(np.where(x.real < 0, e, 1) / (1 + e))


_sigmoid = Primitive(
    "sigmoid", _sigmoid_forward, "1 / (1 + exp(-x))", Rule(lambda g, out, x: g * out * (1 - out), "out")
)  # fmt: skip


def sigmoid_of(x: Array | Tensor) -> Array | Tensor:
    """The sigmoid inside a rule."""
    found: Array | Tensor = _sigmoid.in_kind(x)
    return found


_silu = Primitive(
    "silu", lambda x: x * _sigmoid_forward(x), "x / (1 + exp(-x))",
    Rule(lambda g, out, x: g * (sigmoid_of(x) * (1 + x * sigmoid_of(-x))), "x"),
)  # fmt: skip
_softplus = Primitive(
    "softplus", lambda x: np.where(x.real < 0, 0, x) + np.log1p(_decay(x)), "log(1 + exp(x))",
    Rule(lambda g, out, x: g * sigmoid_of(x), "x"),
)  # fmt: skip
_logaddexp = Primitive(
    "logaddexp", np.logaddexp, "log(exp(x) + exp(y))",
    Rule(lambda g, out, x, y: g * sigmoid_of(np.where((x == y) & (abs(x) == np.inf), 0, x - y)), "x y"),
    Rule(lambda g, out, x, y: g * sigmoid_of(np.where((x == y) & (abs(x) == np.inf), 0, y - x)), "x y"),
    kinks="two equal infinities give each operand half", analytic=False,
)  # fmt: skip
_erf = Primitive(
    "erf", erf_of, "2 / sqrt(pi) * integral of exp(-t**2) from 0 to x",
    Rule(lambda g, out, x: g * (2 / float(np.sqrt(np.pi))) * np.exp(-x * x), "x"),
    analytic=False,
)  # fmt: skip


def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x)), elementwise. dx = g * out * (1 - out)."""
    return _sigmoid(x)


def silu(x: TensorLike) -> Tensor:
    """x * sigmoid(x), elementwise. dx = g * s * (1 + x * (1 - s)), s = sigmoid(x). Source: Elfwing et al. 2017."""
    return _silu(x)


def softplus(x: TensorLike) -> Tensor:
    """log(1 + exp(x)), elementwise. dx = g * sigmoid(x)."""
    return _softplus(x)


@answers(np.logaddexp)
def logaddexp(x: TensorLike, y: TensorLike) -> Tensor:
    """log(exp(x) + exp(y)), elementwise, broadcast. dx = g * sigmoid(x - y), dy = g * sigmoid(y - x).

    Two equal infinities share g evenly.
    """
    return _logaddexp(x, y)


def erf(x: TensorLike) -> Tensor:
    """The error function 2 / sqrt(pi) * integral of exp(-t**2) from 0 to x, elementwise, to float64's last places.

    dx = g * 2 / sqrt(pi) * exp(-x**2). Real numbers only.
    """
    return _erf(x)
