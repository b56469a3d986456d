"""Scaled dot-product attention: softmax(Q K^T / sqrt(D_h)) V. The paper, section 3.2.1."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from minigrad.errors import DtypeError, operation_error
from minigrad.fused import Fused
from minigrad.ops.axes import as_mask, located, shape_of
from minigrad.ops.buffers import row_sums
from minigrad.ops.choices import where
from minigrad.ops.neural.softmax import near_zero, row_shift, softmax
from minigrad.ops.products import matmul
from minigrad.ops.shapes import broadcast_to, swapaxes
from minigrad.state import current
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike, as_array

Look: TypeAlias = Callable[[str, Tensor], Tensor]


def _unchanged(name: str, tensor: Tensor) -> Tensor:
    return tensor


def attention_steps(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Array | None = None,
    bias: Array | None = None,
    look: Look = _unchanged,
) -> Tensor:
    """The definition of `attention`, step by step; arguments as there.

    scores = query @ key^T / sqrt(D_h) + bias, pattern = softmax(scores, where=mask), both (..., T_q, T_k);
    z = pattern @ value.
    look: called with "scores", "pattern" and "z", each as it is made, and the tensor; what it returns goes on.
    """
    if mask is not None:
        query, key, value = _shown(query, mask, -1), _shown(key, mask, -2), _shown(value, mask, -2)
    scores = matmul(query, swapaxes(key, -1, -2)) * (1 / math.sqrt(query.shape[-1]))
    if bias is not None:
        scores = scores + bias.astype(scores.dtype)
    if mask is not None and scores.shape != (shape := np.broadcast_shapes(mask.shape, scores.shape)):
        scores = broadcast_to(scores, shape)
    pattern = look("pattern", softmax(look("scores", scores), axis=-1, where=mask))
    return look("z", matmul(pattern, value))


def _definition(query: Tensor, key: Tensor, value: Tensor, *, mask: Array | None, bias: Array | None) -> Tensor:
    return attention_steps(query, key, value, mask, bias)


def _shown(content: Tensor, mask: Array, other: int) -> Tensor:
    """`_visible` on Tensors."""
    live = _live(mask, content.shape, other)
    return content if live.all() else where(live, content, 0.0)


def _live(mask: Array, content: Sequence[int], other: int) -> Array:
    """Which rows of `content` (..., T, D) take part at all: boolean, (..., T, 1).

    other: the mask's axis that is not the content's: -2 for keys and values, which some query must see; -1 for queries,
        which must see some key. Rows that take no part are replaced by 0 before the products: 0 times inf is NaN.
    """
    rows = np.any(np.atleast_2d(mask), axis=other)  # (..., T)
    missing = rows.ndim - (len(content) - 1)
    if missing > 0:
        rows = np.any(rows, axis=tuple(range(missing)))
    shared = tuple(
        i for i, n in enumerate(rows.shape[:-1]) if n != 1 and content[len(content) - 1 - rows.ndim + i] == 1
    )
    return np.expand_dims(np.any(rows, axis=shared, keepdims=True), -1)


class Kept(NamedTuple):
    """What the forward kernel leaves to the backward one. live_*: rows that take part, None where all do."""

    pattern: Array
    live_query: Array | None
    live_key: Array | None
    live_value: Array | None


def _rows_alive(query: Array, key: Array, value: Array, mask: Array | None) -> list[Array | None]:
    """`_live` of query, key and value, None where all rows take part, as is usual."""
    if mask is None or (mask.ndim > 1 and mask.any(-1).all() and mask.any(-2).all()):
        return [None, None, None]
    each = [_live(mask, content.shape, axis) for content, axis in ((query, -1), (key, -2), (value, -2))]
    return [None if live.all() else live for live in each]


def _visible(content: Array, live: Array | None) -> Array:
    """Keys or values with 0 for what no query may see; queries with 0 for those that see nothing."""
    return content if live is None else np.where(live, content, np.zeros((), content.dtype))


def broadcasts_to(part: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether the shape `part` broadcasts to `whole`, and leaves that as it is."""
    if len(part) > len(whole):
        return False
    return all(size in (1, axis) for size, axis in zip(part[::-1], whole[::-1], strict=False))


def attend(
    scaled: Array, key: Array, value: Array, mask: Array | None, bias: Array | None = None
) -> tuple[Array, Kept]:
    """softmax(scaled @ key^T + bias, where=mask) @ value, of queries divided by sqrt(D_h), and what to keep."""
    if mask is not None and mask.all() and broadcasts_to(mask.shape[:-1], scaled.shape[:-1]):
        mask = None  # hides nothing, and adds no axis
    alive = _rows_alive(scaled, key, value, mask)
    scaled, key, value = (_visible(*pair) for pair in zip((scaled, key, value), alive, strict=True))
    scores = scaled @ key.swapaxes(-1, -2)
    if bias is not None:
        scores += bias.astype(scores.dtype)
    pattern = _pattern(scores, mask)
    return _product(pattern, value, scaled), Kept(pattern, *alive)


def _pattern(scores: Array, mask: Array | None) -> Array:
    """softmax(scores, where=mask) over the last axis, in the buffer of `scores` where it has the whole shape."""
    if mask is not None:
        if not broadcasts_to(mask.shape, scores.shape):
            scores = np.broadcast_to(scores, np.broadcast_shapes(mask.shape, scores.shape)).copy()
        visible = mask.astype(scores.dtype)
        scores *= visible  # a product takes a tenth of the time of a masked write; what is hidden decides nothing below
    if near_zero(scores):
        np.exp(scores, out=scores)
        if mask is not None:
            scores *= visible
    else:
        shift = row_shift(scores, mask)
        if mask is not None:
            np.copyto(scores, -np.inf, where=~mask)
        scores -= shift
        np.exp(scores, out=scores)
    total = row_sums(scores)
    total += total == 0  # of a query that sees nothing
    scores /= total[..., None]
    return scores


def _product(left: Array, right: Array, template: Array) -> Array:
    """left @ right, its axes laid out in memory as the template's: heads that were split off can be merged uncopied."""
    same = left.shape[:-2] == right.shape[:-2] == template.shape[:-2] and left.dtype == right.dtype
    if not same or (left.shape[-2], right.shape[-1]) != template.shape[-2:]:
        return np.asarray(left @ right)
    return np.asarray(np.matmul(left, right, out=np.empty_like(template, left.dtype)))


def attend_backward(g: Array, kept: Kept, scaled: Array, key: Array, value: Array) -> tuple[Array, Array, Array]:
    """dV = P^T g; dP = g V^T; dS = P * (dP - rowsum(dP * P)); dscaled = dS K; dK = dS^T scaled."""
    pattern = kept.pattern
    dvalue = _product(pattern.swapaxes(-1, -2), g, value)
    dscores = g @ _visible(value, kept.live_value).swapaxes(-1, -2)
    dscores -= row_sums(dscores * pattern)[..., None]
    dscores *= pattern
    dscaled = _product(dscores, _visible(key, kept.live_key), scaled)
    dkey = _product(dscores.swapaxes(-1, -2), _visible(scaled, kept.live_query), key)
    return dscaled, dkey, dvalue


def _forward(query: Array, key: Array, value: Array, *, mask: Array | None, bias: Array | None) -> tuple[Array, Kept]:
    return attend(query * (1 / math.sqrt(query.shape[-1])), key, value, mask, bias)


def _backward(
    g: Array, out: Array, kept: Kept, query: Array, key: Array, value: Array, *, mask: Array | None, bias: Array | None
) -> tuple[Array, Array, Array]:
    """See `attend_backward`; dQ = dscaled / sqrt(D_h)."""
    scale = 1 / math.sqrt(query.shape[-1])
    dquery, dkey, dvalue = attend_backward(g, kept, query * scale, key, value)
    dquery *= scale
    return dquery, dkey, dvalue


_attention = Fused(
    "attention", _definition, _forward, _backward,
    formula="softmax(query @ key^T / sqrt(D_h) + bias) @ value", reads="query key value",
    kinks="a query that may see no key: output 0, derivative 0",
)  # fmt: skip


def _fits(mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Whether a mask broadcasts to scores (..., T_q, T_k), of which it may stretch leading axes only."""
    try:
        return len(mask) > 0 and np.broadcast_shapes(mask, scores)[-2:] == scores[-2:]
    except ValueError:
        return False


def attention(query: TensorLike, key: TensorLike, value: TensorLike, mask: Any = None, bias: Any = None) -> Tensor:
    """softmax(query @ key^T / sqrt(D_h) + bias, where=mask) @ value; leading axes broadcast.

    query (..., T_q, D_h), key (..., T_k, D_h), value (..., T_k, D_v) -> (..., T_q, D_v).
    mask: boolean, True = may attend, broadcast to (..., T_q, T_k); anything else is refused (TypeError).
    A query that may attend to no key gets output 0 and finite gradients. Keys and values that no query may attend to
    can't change a bit of any output or gradient, whatever they hold, inf and NaN too.
    bias: finite numbers added to the scores, an array that broadcasts to them, such as a penalty of distance (ALiBi);
    a constant: no gradient flows to it. Cast to the scores' dtype.
    Source: the paper, section 3.2.1.
    """
    shapes = q, k, v = shape_of(query), shape_of(key), shape_of(value)
    allowed = None if mask is None else as_mask("attention", mask)
    added = None if bias is None else _as_bias(bias)
    try:
        if min(map(len, shapes)) < 2:
            raise ValueError("each needs at least the axes (T, D)")
        if not q[-1]:
            raise ValueError("D_h, the size of a query and a key, must be at least 1")
        if q[-1] != k[-1] or k[-2] != v[-2]:
            raise ValueError(f"sizes {q[-1]} and {k[-1]}, lengths {k[-2]} and {v[-2]}")
        scores = (*np.broadcast_shapes(q[:-2], k[:-2], v[:-2]), q[-2], k[-2])
        if allowed is not None and not _fits(allowed.shape, scores):
            raise ValueError(f"mask of shape {allowed.shape} for scores of shape {scores}")
        if added is not None and not broadcasts_to(added.shape, (*np.broadcast_shapes(q[:-2], k[:-2]), q[-2], k[-2])):
            raise ValueError(f"bias of shape {added.shape} for scores of shape {scores}")
    except ValueError as error:
        raise operation_error("attention", current().path, [query, key, value], error) from None
    return _attention(query, key, value, mask=allowed, bias=added)


def _as_bias(bias: Any) -> Array:
    """A locked array of finite numbers that no gradient is wanted of. DtypeError for anything else."""
    if isinstance(bias, Tensor) and bias.requires_grad:
        raise DtypeError(f"{located('attention')}: no gradient flows to bias: hand in bias.detach()")
    array = as_array(bias.data if isinstance(bias, Tensor) else bias)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise DtypeError(
            f"{located('attention')}: bias is finite real numbers, not {array.dtype} with inf or NaN: what may not be "
            "attended to is said by mask"
        )
    return array
