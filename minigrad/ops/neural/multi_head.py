"""Multi-head attention, whole: the projections, the heads side by side, the output projection. The paper, 3.2.2."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from minigrad.errors import operation_error
from minigrad.fused import Fused
from minigrad.ops.axes import as_mask, shape_of
from minigrad.ops.buffers import column_sums, times_into
from minigrad.ops.neural.attention import Kept, attend, attend_backward, attention, broadcasts_to
from minigrad.ops.neural.linear import affine, as_rows, linear, no_bias
from minigrad.ops.shapes import reshape, swapaxes
from minigrad.state import current
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike

Projection: TypeAlias = tuple[TensorLike, TensorLike | None]
"""A weight, and a bias or None for none."""


def split_heads(x: TensorLike, heads: int) -> Tensor:
    """(..., T, H D_h) -> (..., H, T, D_h): the last axis cut into heads, which go before the positions."""
    *batch, length, width = shape_of(x)
    return swapaxes(reshape(x, (*batch, length, heads, width // heads)), -2, -3)


def merge_heads(z: TensorLike) -> Tensor:
    """(..., H, T, D_h) -> (..., T, H D_h): the heads' outputs side by side, the inverse of `split_heads`."""
    *batch, heads, length, width = shape_of(z)
    return reshape(swapaxes(z, -2, -3), (*batch, length, heads * width))


def _definition(
    x: Tensor, memory: Tensor, w_q: Tensor, b_q: Tensor, w_k: Tensor, b_k: Tensor, w_v: Tensor, b_v: Tensor,
    w_o: Tensor, b_o: Tensor, *, heads: int, mask: Array | None,
) -> Tensor:  # fmt: skip
    query = split_heads(linear(x, w_q, b_q), heads)
    key = split_heads(linear(memory, w_k, b_k), heads)
    value = split_heads(linear(memory, w_v, b_v), heads)
    return linear(merge_heads(attention(query, key, value, mask)), w_o, b_o)


class Projected(NamedTuple):
    """What the forward kernel leaves: queries / sqrt(D_h), keys, values by heads, their outputs merged, attention's."""

    scaled: Array
    key: Array
    value: Array
    merged: Array
    kept: Kept


def _split(rows: Array, like: Array, heads: int) -> Array:
    """Rows (n, H D_h) as (..., H, T, D_h), a view: in memory still (..., T, H, D_h), so that merging copies nothing."""
    return rows.reshape(*like.shape[:-1], heads, rows.shape[1] // heads).swapaxes(-2, -3)


def _merge(z: Array) -> Array:
    """(..., H, T, D_h) as a matrix of one row a position, the inverse of `_split`."""
    *batch, heads, length, width = z.shape
    return z.swapaxes(-2, -3).reshape(math.prod(batch) * length, heads * width)


def _forward(
    x: Array, memory: Array, w_q: Array, b_q: Array, w_k: Array, b_k: Array, w_v: Array, b_v: Array,
    w_o: Array, b_o: Array, *, heads: int, mask: Array | None,
) -> tuple[Array, Projected]:  # fmt: skip
    memory_rows = as_rows(memory)
    query = times_into(affine(as_rows(x), w_q, b_q), math.sqrt(heads / w_q.shape[1]))
    scaled = _split(query, x, heads)
    key = _split(affine(memory_rows, w_k, b_k), memory, heads)
    value = _split(affine(memory_rows, w_v, b_v), memory, heads)
    z, kept = attend(scaled, key, value, mask)
    merged = _merge(z)
    out = affine(merged, w_o, b_o).reshape(*x.shape[:-1], w_o.shape[1])
    return out, Projected(scaled, key, value, merged, kept)


def _backward(
    g: Array, out: Array, residuals: Projected,
    x: Array, memory: Array, w_q: Array, b_q: Array, w_k: Array, b_k: Array, w_v: Array, b_v: Array,
    w_o: Array, b_o: Array, *, heads: int, mask: Array | None,
) -> Sequence[Array]:  # fmt: skip
    """Back through the output projection, the heads (see `attention`), and the three projections."""
    scaled, key, value, merged, kept = residuals
    rows = as_rows(g)
    dz = _split(rows @ w_o.T, g, heads)
    dq, dk, dv = (_merge(cotangent) for cotangent in attend_backward(dz, kept, scaled, key, value))
    dq *= math.sqrt(heads / w_q.shape[1])
    dx = (dq @ w_q.T).reshape(x.shape)
    dmemory = dk @ w_k.T
    dmemory += dv @ w_v.T
    x_rows, memory_rows = as_rows(x), as_rows(memory)
    return (
        dx, dmemory.reshape(memory.shape),
        x_rows.T @ dq, column_sums(dq), memory_rows.T @ dk, column_sums(dk), memory_rows.T @ dv, column_sums(dv),
        merged.T @ rows, column_sums(rows),
    )  # fmt: skip


_multi_head_attention = Fused(
    "multi_head_attention", _definition, _forward, _backward,
    formula="heads(softmax(q @ k^T / sqrt(D_h)) @ v) @ w_o + b_o",
    reads="x memory w_q b_q w_k b_k w_v b_v w_o", kinks="a query that may see no key: 0 from every head, derivative 0",
)  # fmt: skip


def multi_head_attention(
    x: TensorLike,
    memory: TensorLike,
    query: Projection,
    key: Projection,
    value: Projection,
    output: Projection,
    heads: int,
    mask: Any = None,
) -> Tensor:
    """Concat(head_1, ..., head_H) W_O + b_O, head_i = attention of the i-th parts of q, k, v.

    q = x W_Q + b_Q, k = m W_K + b_K, v = m W_V + b_V: x (..., T_q, D) asks, memory m (..., T_k, D_m) answers ->
    (..., T_q, D_o). query, key, value, output: each a weight
    and its bias (None: none): (D, H D_h) and (H D_h,), (D_m, H D_h), (D_m, H D_v), (H D_v, D_o).
    mask: boolean, True = may attend, broadcast to (..., H, T_q, T_k); see `attention` for what it hides.
    Raises ShapeError, naming the operands, for shapes that do not fit. Source: the paper, section 3.2.2.
    """
    pairs = [(weight, no_bias(weight) if bias is None else bias) for weight, bias in (query, key, value, output)]
    operands = x, memory, *chain.from_iterable(pairs)
    allowed = None if mask is None else as_mask("multi_head_attention", mask)
    try:
        _require_fit([shape_of(operand) for operand in operands], heads, None if allowed is None else allowed.shape)
    except ValueError as error:
        raise operation_error("multi_head_attention", current().path, operands, error) from None
    return _multi_head_attention(*operands, heads=heads, mask=allowed)


def _require_fit(shapes: Sequence[tuple[int, ...]], heads: int, mask: tuple[int, ...] | None) -> None:
    """Raise ValueError for shapes that do not fit together."""
    x, memory, w_q, _, w_k, _, w_v, _, w_o, _ = shapes
    if len(x) < 2 or len(memory) < 2 or x[:-2] != memory[:-2]:
        raise ValueError("x and memory need the axes (..., T, D), with the same leading ones")
    for weight, bias in zip(shapes[2::2], shapes[3::2], strict=True):
        if len(weight) != 2 or bias != weight[1:]:
            raise ValueError("each projection is a weight of two axes and a bias of its second size")
    if (w_q[0], w_k[0], w_v[0], w_o[0]) != (x[-1], memory[-1], memory[-1], w_v[1]) or w_q[1] != w_k[1]:
        raise ValueError(f"weights {w_q}, {w_k}, {w_v}, {w_o} for x of width {x[-1]} and memory of {memory[-1]}")
    if heads < 1 or w_q[1] % heads or w_v[1] % heads or not w_q[1]:
        raise ValueError(f"heads={heads} must divide the widths {w_q[1]} and {w_v[1]}")
    scores = (*x[:-2], heads, x[-2], memory[-2])
    if mask is not None and not broadcasts_to(mask, scores):
        raise ValueError(f"mask of shape {mask} for scores of shape {scores}")
