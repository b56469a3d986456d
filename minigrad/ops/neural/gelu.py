"""The Gaussian error linear unit, exact and by tanh."""

from typing import Any

import numpy as np

from minigrad.errors import ShapeError
from minigrad.fused import Fused
from minigrad.ops.activations import erf
from minigrad.ops.axes import located
from minigrad.ops.elementwise import tanh
from minigrad.ops.error_function import normal_cdf
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike

HALF_ROOT = float(np.sqrt(0.5))
DENSITY_AT_0 = float(1 / np.sqrt(2 * np.pi))
SLOPE = float(np.sqrt(2 / np.pi))
CUBE = 0.044715


def _definition(x: Tensor, *, approximate: str) -> Tensor:
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(SLOPE * (x + CUBE * (x * x * x))))
    return 0.5 * x * (1 + erf(x * HALF_ROOT))


def _forward(x: Array, *, approximate: str) -> tuple[Array, Array]:
    if approximate == "tanh":
        below = np.asarray(0.5 * (1 + np.tanh(SLOPE * (x + CUBE * (x * x * x)))))
    else:
        below = normal_cdf(x)
    return np.asarray(x * below), below


def _backward(g: Array, out: Array, below: Array, x: Array, *, approximate: str) -> tuple[Any]:
    """dx = g * (cdf + x * density); of the tanh form, the derivative of its own cdf stands for the density."""
    if approximate == "tanh":
        density = 2 * SLOPE * below * (1 - below) * (1 + 3 * CUBE * (x * x))
    else:
        density = DENSITY_AT_0 * np.exp(-0.5 * (x * x))
    return (g * (below + x * density),)


_gelu = Fused(
    "gelu", _definition, _forward, _backward,
    formula="x * P(a standard normal number < x)", reads="x", analytic=False,
)  # fmt: skip


def gelu(x: TensorLike, approximate: str = "none") -> Tensor:
    """x * (1 + erf(x / sqrt(2))) / 2, elementwise. dx = g * (cdf(x) + x * density(x)) of the standard normal.

    approximate: "none", as above, or "tanh": x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3))) / 2.
    Source: Hendrycks and Gimpel 2016.
    """
    if approximate not in ("none", "tanh"):
        raise ShapeError(f"{located('gelu')}: approximate={approximate!r} is neither 'none' nor 'tanh'")
    return _gelu(x, approximate=approximate)
