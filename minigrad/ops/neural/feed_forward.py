"""The position-wise feed-forward network. The paper, section 3.3."""

from collections.abc import Sequence

import numpy as np

from minigrad.errors import ShapeError
from minigrad.fused import Fused
from minigrad.ops.axes import located, shape_of
from minigrad.ops.buffers import column_sums, filled
from minigrad.ops.choices import relu
from minigrad.ops.neural.linear import affine, as_rows, linear, no_bias
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def _definition(x: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor) -> Tensor:
    return linear(relu(linear(x, w_1, b_1)), w_2, b_2)


def _forward(x: Array, w_1: Array, b_1: Array, w_2: Array, b_2: Array) -> tuple[Array, Array]:
    hidden = affine(as_rows(x), w_1, b_1)
    zeros = filled(hidden.shape[-1], 0.0, hidden.dtype)  # the number 0 in place of a row would be twice as slow
    np.maximum(hidden, zeros, out=hidden)
    return affine(hidden, w_2, b_2).reshape(*x.shape[:-1], w_2.shape[1]), hidden


def _backward(
    g: Array, out: Array, hidden: Array, x: Array, w_1: Array, b_1: Array, w_2: Array, b_2: Array
) -> Sequence[Array]:
    """dh = (g W_2^T) * (h > 0), and the two affine maps' own: dx = dh W_1^T, dW = input^T cotangent, db = its sum."""
    rows = as_rows(g)
    dhidden = rows @ w_2.T
    dhidden *= hidden > 0
    dx = (dhidden @ w_1.T).reshape(x.shape)
    return dx, as_rows(x).T @ dhidden, column_sums(dhidden), hidden.T @ rows, column_sums(rows)


_feed_forward = Fused(
    "feed_forward", _definition, _forward, _backward, formula="max(0, x @ w_1 + b_1) @ w_2 + b_2",
    reads="x w_1 b_1 w_2", kinks="relu'(0) = 0", analytic=False,
)  # fmt: skip


def feed_forward(
    x: TensorLike, w_1: TensorLike, b_1: TensorLike | None, w_2: TensorLike, b_2: TensorLike | None
) -> Tensor:
    """max(0, x W_1 + b_1) W_2 + b_2, at each position alone: (..., D), (D, F), (F,), (F, E), (E,) -> (..., E).

    A bias of None is none. Raises ShapeError for shapes that do not fit. Source: the paper, section 3.3, equation 2.
    """
    b_1 = no_bias(w_1) if b_1 is None else b_1
    b_2 = no_bias(w_2) if b_2 is None else b_2
    a, w, b, v, c = (shape_of(operand) for operand in (x, w_1, b_1, w_2, b_2))
    if not a or len(w) != 2 or len(v) != 2 or a[-1] != w[0] or b != w[1:] or v[0] != w[1] or c != v[1:]:
        raise ShapeError(
            f"{located('feed_forward')}: x {a}, w_1 {w}, b_1 {b}, w_2 {v}, b_2 {c}: w_1 must begin with x's last size, "
            "w_2 with w_1's second, and each bias must have its weight's second"
        )
    return _feed_forward(x, w_1, b_1, w_2, b_2)
