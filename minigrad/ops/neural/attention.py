"""Scaled dot-product attention: softmax(Q K^T / sqrt(D_h)) V. The paper, section 3.2.1."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.errors import operation_error
from minigrad.ops.axes import as_mask, shape_of
from minigrad.ops.elementwise import where
from minigrad.ops.neural.softmax import largest, softmax
from minigrad.ops.products import matmul
from minigrad.ops.shapes import swapaxes
from minigrad.primitive import Fused
from minigrad.tape import Array, current
from minigrad.tensor import Tensor, TensorLike


def _definition(query: Tensor, key: Tensor, value: Tensor, *, mask: Array | None) -> Tensor:
    if mask is not None:
        key = where(_seen(mask, key.shape), key, 0.0)
        value = where(_seen(mask, value.shape), value, 0.0)
    scores = matmul(query, swapaxes(key, -1, -2)) * (1 / math.sqrt(query.shape[-1]))
    return matmul(softmax(scores, axis=-1, where=mask), value)


def _seen(mask: Array, content: Sequence[int]) -> Array:
    """Which rows of keys or values of shape `content` (..., T_k, D) some query may attend to: boolean, (..., T_k, 1).

    What every query is forbidden to see is replaced by 0 before the products, since 0 times inf would be NaN.
    """
    rows = np.any(np.atleast_2d(mask), axis=-2)  # (..., T_k)
    missing = rows.ndim - (len(content) - 1)
    if missing > 0:
        rows = np.any(rows, axis=tuple(range(missing)))
    shared = tuple(
        i for i, n in enumerate(rows.shape[:-1]) if n != 1 and content[len(content) - 1 - rows.ndim + i] == 1
    )
    return np.expand_dims(np.any(rows, axis=shared, keepdims=True), -1)


def _visible(content: Array, mask: Array | None) -> Array:
    """Keys or values, with 0 for what no query may see."""
    if mask is None:
        return content
    seen = _seen(mask, content.shape)
    return content if seen.all() else np.where(seen, content, np.zeros((), content.dtype))


def _forward(query: Array, key: Array, value: Array, *, mask: Array | None) -> tuple[Array, Array]:
    pattern = (query * (1 / math.sqrt(query.shape[-1]))) @ _visible(key, mask).swapaxes(-1, -2)
    if mask is not None:
        shape = np.broadcast_shapes(mask.shape, pattern.shape)
        if pattern.shape != shape:
            pattern = np.broadcast_to(pattern, shape).copy()
        np.copyto(pattern, -np.inf, where=~mask)
    pattern -= largest(pattern, -1, None)
    np.exp(pattern, out=pattern)
    total = pattern.sum(axis=-1, keepdims=True)
    pattern /= total + (total == 0)
    return pattern @ _visible(value, mask), pattern


def _backward(
    g: Array, out: Array, pattern: Array, query: Array, key: Array, value: Array, *, mask: Array | None
) -> tuple[Array, Array, Array]:
    """dV = P^T g; dP = g V^T; dS = P * (dP - rowsum(dP * P)); dQ = dS K / sqrt(D_h); dK = dS^T Q / sqrt(D_h)."""
    dvalue = pattern.swapaxes(-1, -2) @ g
    dscores = g @ _visible(value, mask).swapaxes(-1, -2)
    dscores -= np.einsum("...i,...i->...", dscores, pattern)[..., None]
    dscores *= pattern
    dscores *= 1 / math.sqrt(query.shape[-1])
    return dscores @ _visible(key, mask), dscores.swapaxes(-1, -2) @ query, dvalue


_attention = Fused(
    "attention", _definition, _forward, _backward,
    formula="softmax(query @ key^T / sqrt(D_h)) @ value", reads="query key value",
    kinks="a query that may see no key: output 0, derivative 0",
)  # fmt: skip


def attention(query: TensorLike, key: TensorLike, value: TensorLike, mask: Any = None) -> Tensor:
    """softmax(query @ key^T / sqrt(D_h), where=mask) @ value; leading axes broadcast.

    query (..., T_q, D_h), key (..., T_k, D_h), value (..., T_k, D_v) -> (..., T_q, D_v).
    mask: boolean, True = may attend, broadcast to (..., T_q, T_k); anything else is refused (TypeError).
    A query that may attend to no key gets output 0 and finite gradients. Keys and values that no query may attend to
    can't change a bit of any output or gradient, whatever they hold, inf and NaN too.
    Source: the paper, section 3.2.1.
    """
    shapes = q, k, v = shape_of(query), shape_of(key), shape_of(value)
    allowed = None if mask is None else as_mask("attention", mask)
    try:
        if min(map(len, shapes)) < 2:
            raise ValueError("each needs at least the axes (T, D)")
        if q[-1] != k[-1] or k[-2] != v[-2]:
            raise ValueError(f"sizes {q[-1]} and {k[-1]}, lengths {k[-2]} and {v[-2]}")
        scores = (*np.broadcast_shapes(q[:-2], k[:-2], v[:-2]), q[-2], k[-2])
        if allowed is not None and (
            np.broadcast_shapes(allowed.shape[-2:], scores[-2:]) != scores[-2:] or not allowed.ndim
        ):
            raise ValueError(f"mask of shape {allowed.shape} for scores of shape {scores}")
        if allowed is not None:
            np.broadcast_shapes(allowed.shape, scores)
    except ValueError as error:
        raise operation_error("attention", current().path, [query, key, value], error) from None
    return _attention(query, key, value, mask=allowed)
