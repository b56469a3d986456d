"""Layer normalisation, and the one by the root mean square alone."""

from typing import Any

import numpy as np

from minigrad.errors import ShapeError
from minigrad.fused import Fused
from minigrad.ops.axes import located, shape_of
from minigrad.ops.buffers import add_into, column_sums, filled, rows_times
from minigrad.ops.elementwise import add, multiply, sqrt
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def _definition(x: Tensor, gain: TensorLike, bias: TensorLike, *, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return add(multiply(centred / sqrt(variance + eps), gain), bias)


def _mean(x: Array) -> Array:
    """The mean over the last axis, kept, as a matrix product, which is several times faster than a reduction."""
    dtype = np.dtype(np.float64) if x.dtype.kind in "biu" else x.dtype
    return rows_times(x, filled(x.shape[-1], 1 / x.shape[-1], dtype))[..., None]


def _forward(x: Array, gain: Any, bias: Any, *, eps: float) -> tuple[Array, tuple[Array, Array]]:
    return _normalised(x - _mean(x), gain, bias, eps)


def _normalised(normal: Array, gain: Any, bias: Any, eps: float) -> tuple[Array, tuple[Array, Array]]:
    """The rest, in the buffer of what is centred already, but for a mean that was rounded."""
    # Two passes: a one-pass variance cancels where the mean is large, and so does a mean that was rounded to x's dtype.
    normal -= _mean(normal)
    variance = _mean(normal * normal)
    rate = 1 / np.sqrt(variance + eps)
    normal *= rate
    return add_into(np.asarray(normal * gain), bias), (normal, rate)


def _backward(
    g: Array, out: Array, residuals: tuple[Array, Array], x: Array, gain: Any, bias: Any, *, eps: float
) -> tuple[Array, Array, Array]:
    """dx = rate * (h - mean(h) - normal * mean(h * normal)), h = g * gain: it is orthogonal to 1 and to normal."""
    normal, rate = residuals
    width = x.shape[-1]
    share = filled(width, 1 / width, normal.dtype) * gain
    product = g * normal
    dgain, dbias = column_sums(product.reshape(-1, width)), column_sums(g.reshape(-1, width))
    dx = g * gain
    dx -= rows_times(g, share)[..., None]  # mean(h)
    dx -= np.multiply(normal, rows_times(product, share)[..., None], out=product)  # normal * mean(h * normal)
    dx *= rate
    return dx, dgain, dbias


_layer_norm = Fused(
    "layer_norm", _definition, _forward, _backward,
    formula="(x - mean) / sqrt(variance + eps) * gain + bias, over the last axis", reads="x gain",
)  # fmt: skip


def layer_norm(
    x: TensorLike, gain: TensorLike | None = None, bias: TensorLike | None = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gain + bias over the last axis, (..., D), (D,), (D,) -> (..., D).

    The variance is the biased one (divided by D), and eps stands inside the root.
    Source: Ba, Kiros and Hinton 2016; the paper, section 3.1.
    """
    shape = shape_of(x)
    sizes = [shape_of(p) for p in (gain, bias) if p is not None]
    if not shape or not shape[-1] or any(size != shape[-1:] for size in sizes):
        raise ShapeError(
            f"{located('layer_norm')}: x {shape}, gain and bias {sizes}: they must have the size of x's last axis"
        )
    return _layer_norm(x, 1.0 if gain is None else gain, 0.0 if bias is None else bias, eps=eps)


def _add_norm_definition(x: Tensor, y: Tensor, gain: TensorLike, bias: TensorLike, *, eps: float) -> Tensor:
    return _definition(x + y, gain, bias, eps=eps)


def _add_norm_forward(x: Array, y: Array, gain: Any, bias: Any, *, eps: float) -> tuple[Array, tuple[Array, Array]]:
    total = np.asarray(x + y)
    if total.dtype.kind in "biu":
        total = total.astype(np.float64)
    total -= _mean(total)
    return _normalised(total, gain, bias, eps)


def _add_norm_backward(
    g: Array, out: Array, residuals: tuple[Array, Array], x: Array, y: Array, gain: Any, bias: Any, *, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The sum hands its cotangent, layer normalisation's dx, to both."""
    dx, dgain, dbias = _backward(g, out, residuals, x, gain, bias, eps=eps)
    return dx, dx, dgain, dbias


_add_norm = Fused(
    "add_norm", _add_norm_definition, _add_norm_forward, _add_norm_backward,
    formula="layer_norm(x + y)", reads="x y gain",
)  # fmt: skip


def add_norm(x: TensorLike, y: TensorLike, gain: TensorLike, bias: TensorLike, eps: float = 1e-5) -> Tensor:
    """layer_norm(x + y, gain, bias), (..., D), (..., D), (D,), (D,) -> (..., D): a residual connection, normalised.

    Source: the paper, section 3.1: LayerNorm(x + Sublayer(x)).
    """
    shape, sizes = shape_of(x), [shape_of(p) for p in (gain, bias)]
    if not shape or not shape[-1] or shape_of(y) != shape or any(size != shape[-1:] for size in sizes):
        raise ShapeError(
            f"{located('add_norm')}: x {shape}, y {shape_of(y)}, gain and bias {sizes}: x and y must have one shape, "
            "and gain and bias the size of its last axis"
        )
    return _add_norm(x, y, gain, bias, eps=eps)


def _rms_definition(x: Tensor, gain: TensorLike, *, eps: float) -> Tensor:
    return multiply(x / sqrt((x * x).mean(-1, keepdims=True) + eps), gain)


def _rms_forward(x: Array, gain: Any, *, eps: float) -> tuple[Array, Array]:
    rate = 1 / np.sqrt(np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1] + eps)
    out = np.asarray(x * rate)
    return np.asarray(out * gain), rate


def _rms_backward(g: Array, out: Array, rate: Array, x: Array, gain: Any, *, eps: float) -> tuple[Array, Array]:
    """dx = rate * (h - normal * mean(h * normal)), h = g * gain, normal = x * rate."""
    width = x.shape[-1]
    normal = x * rate
    dgain = np.einsum("ij,ij->j", g.reshape(-1, width), normal.reshape(-1, width))
    dx = g * gain
    normal *= np.einsum("...i,...i->...", dx, normal)[..., None] / width
    dx -= normal
    dx *= rate
    return dx, dgain


_rms_norm = Fused(
    "rms_norm", _rms_definition, _rms_forward, _rms_backward,
    formula="x / sqrt(mean of x**2 + eps) * gain, over the last axis", reads="x gain",
)  # fmt: skip


def rms_norm(x: TensorLike, gain: TensorLike | None = None, eps: float = 1e-5) -> Tensor:
    """x / sqrt(mean(x**2) + eps) * gain over the last axis, (..., D), (D,) -> (..., D).

    Source: Zhang and Sennrich 2019.
    """
    shape = shape_of(x)
    if not shape or not shape[-1] or (gain is not None and shape_of(gain) != shape[-1:]):
        size = None if gain is None else shape_of(gain)
        raise ShapeError(f"{located('rms_norm')}: x {shape}, gain {size}: it must have the size of x's last axis")
    return _rms_norm(x, 1.0 if gain is None else gain, eps=eps)
