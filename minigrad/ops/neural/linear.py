"""The affine map x @ W + b, and dropout: the two that surround every layer."""

import math

import numpy as np

from minigrad.errors import ShapeError
from minigrad.fused import Fused
from minigrad.ops.axes import as_mask, dtype_of, located, shape_of
from minigrad.ops.buffers import add_into, column_sums
from minigrad.ops.products import matmul
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def as_rows(x: Array) -> Array:
    """x as a matrix: all axes but the last made one."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def affine(rows: Array, weight: Array, bias: Array) -> Array:
    """rows @ weight + bias, of a matrix."""
    return add_into(rows @ weight, bias)


def no_bias(weight: TensorLike) -> Array:
    """The bias of an affine map that has none: zeros, of the weight's second size."""
    return np.zeros(shape_of(weight)[-1:], dtype_of(weight))


def _linear_definition(x: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
    product = matmul(x, weight)
    return product + bias[0] if bias else product


def _linear_forward(x: Array, weight: Array, *bias: Array) -> tuple[Array, None]:
    rows = as_rows(x)
    out = affine(rows, weight, bias[0]) if bias else rows @ weight
    return out.reshape(*x.shape[:-1], weight.shape[1]), None


def _linear_backward(
    g: Array, out: Array, residuals: None, x: Array, weight: Array, *bias: Array
) -> tuple[Array | None, ...]:
    rows = as_rows(g)
    dx = (rows @ weight.T).reshape(x.shape)
    dweight = as_rows(x).T @ rows
    return (dx, dweight, column_sums(rows)) if bias else (dx, dweight)


_linear = Fused(
    "linear", _linear_definition, _linear_forward, _linear_backward, formula="x @ weight + bias", reads="x weight"
)


def linear(x: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """x @ weight + bias: (..., n), (n, m), (m,) -> (..., m). dx = g @ W^T, dW = x^T @ g, db = g summed over rows."""
    a, w = shape_of(x), shape_of(weight)
    b = None if bias is None else shape_of(bias)
    if len(w) != 2 or not a or a[-1] != w[0] or (b is not None and b != w[1:]):
        raise ShapeError(
            f"{located('linear')}: x {a}, weight {w}, bias {b}: x must end in the weight's first size, "
            "and bias must have its second"
        )
    return _linear(x, weight) if bias is None else _linear(x, weight, bias)


def _dropout_definition(x: Tensor, *, keep: Array, scale: float) -> Tensor:
    return x * keep * scale


def _dropout_forward(x: Array, *, keep: Array, scale: float) -> tuple[Array, None]:
    out = np.asarray(x * scale)
    out *= keep
    return out, None


def _dropout_backward(g: Array, out: Array, residuals: None, x: Array, *, keep: Array, scale: float) -> tuple[Array]:
    return (_dropout_forward(g, keep=keep, scale=scale)[0],)


_dropout = Fused(
    "dropout", _dropout_definition, _dropout_forward, _dropout_backward, formula="x * keep / (1 - rate)", reads=""
)


def dropout(x: TensorLike, keep: Array, rate: float) -> Tensor:
    """x * keep / (1 - rate), with the mask drawn by the caller: the same mask serves forward and backward.

    dx = g * keep / (1 - rate).
    keep: boolean, of x's shape; rate: in [0, 1), the probability with which an element was to be dropped.
    Source: Srivastava et al. 2014; the paper, section 5.4.
    """
    if not 0 <= rate < 1:
        raise ShapeError(f"{located('dropout')}: rate must be in [0, 1), not {rate}")
    mask = as_mask("dropout", keep)
    if mask.shape != shape_of(x):
        raise ShapeError(f"{located('dropout')}: the mask's shape {mask.shape} must be x's, {shape_of(x)}")
    return _dropout(x, keep=mask, scale=1 / (1 - rate))
