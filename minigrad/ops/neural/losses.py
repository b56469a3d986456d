"""Cross-entropy of logits against class indices."""

from typing import Any, Literal

import numpy as np

from minigrad.errors import DtypeError, OutOfRangeError, ShapeError
from minigrad.fused import Fused
from minigrad.ops.axes import located, shape_of
from minigrad.ops.buffers import row_sums
from minigrad.ops.choices import where
from minigrad.ops.neural.softmax import log_softmax, near_zero, row_shift
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike, as_array

Reduction = Literal["mean", "sum", "none"]


def _definition(logits: Tensor, *, targets: Array, counted: Array, smoothing: float, reduction: Reduction) -> Tensor:
    classes = logits.shape[-1]
    rows = where(counted.reshape(-1, 1), logits.reshape((targets.size, classes)), 0.0)
    log_p = log_softmax(rows)
    losses = -log_p[np.arange(targets.size), targets.reshape(-1)]
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(-1)
    losses = where(counted.reshape(-1), losses, 0.0)
    if reduction == "none":
        return losses.reshape(targets.shape)
    total = losses.sum()
    return total if reduction == "sum" else total / _count(counted)


def _count(counted: Array) -> int:
    return max(int(counted.sum()), 1)


def _rows(logits: Array, targets: Array, counted: Array) -> Array:
    """The logits as rows, those that do not count as 0: nothing they hold can reach the sum."""
    rows = logits.reshape(targets.size, logits.shape[-1])
    return rows if counted.all() else np.where(counted.reshape(-1, 1), rows, np.zeros((), rows.dtype))


def _forward(
    logits: Array, *, targets: Array, counted: Array, smoothing: float, reduction: Reduction
) -> tuple[Array, tuple[Array | None, Array]]:
    rows = _rows(logits, targets, counted)
    top = None if near_zero(rows) else row_shift(rows, None)
    shifted = rows if top is None else rows - top
    total = row_sums(np.exp(shifted))
    total += total == 0  # a row of -inf alone: every class has probability 0
    log_sum = np.log(total)
    losses = log_sum - shifted[np.arange(targets.size), targets.reshape(-1)]
    if smoothing:
        losses = (1 - smoothing) * losses + smoothing * (log_sum - row_sums(shifted) / shifted.shape[-1])
    losses = np.where(counted.reshape(-1), losses, np.zeros((), losses.dtype))
    if reduction == "none":
        return losses.reshape(targets.shape), (top, total)
    loss = losses.sum()
    return np.asarray(loss if reduction == "sum" else loss / _count(counted), dtype=losses.dtype), (top, total)


def _backward(
    g: Array, out: Array, residuals: tuple[Array | None, Array], logits: Array, *,
    targets: Array, counted: Array, smoothing: float, reduction: Reduction,
) -> tuple[Array]:  # fmt: skip
    """dlogits = (p - (1 - e) onehot - e / V) * g, with g shared out by the reduction; 0 in rows that do not count."""
    top, total = residuals
    each = g.reshape(-1, 1) if reduction == "none" else g / _count(counted) if reduction == "mean" else g
    share = np.where(counted.reshape(-1, 1), each, np.zeros((), total.dtype))
    rows = _rows(logits, targets, counted)
    dlogits = np.asarray(np.exp(rows if top is None else rows - top))
    dlogits *= share / total[:, None]  # p * share
    dlogits[np.arange(targets.size), targets.reshape(-1)] -= (1 - smoothing) * share[:, 0]
    if smoothing:
        dlogits -= (smoothing / logits.shape[-1]) * share
    return (dlogits.reshape(logits.shape),)


_cross_entropy = Fused(
    "cross_entropy", _definition, _forward, _backward,
    formula="-log softmax(logits)[target]", reads="logits", kinks="no target counts: 0, derivative 0",
)  # fmt: skip


def cross_entropy(
    logits: TensorLike,
    targets: Any,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """-log softmax(logits)[target]: logits (..., V), integer targets (...) -> (), or (...) with reduction "none".

    ignore_index: targets of this value are dropped from sum and count; if all are, the loss is 0 with gradient 0.
    label_smoothing: e in [0, 1]: the target distribution is (1 - e) onehot + e / V on every class (section 5.4; Szegedy
        et al. 2016).
    dlogits = (softmax(logits) - target distribution) * g. Raises ShapeError, TypeError or IndexError for targets that
    do not fit.
    """
    shape = shape_of(logits)
    labels = as_array(targets.data if isinstance(targets, Tensor) else targets)
    if labels.dtype.kind not in "iu":
        raise DtypeError(f"{located('cross_entropy')}: targets are class indices, integers, not {labels.dtype}")
    if not shape or labels.shape != shape[:-1]:
        raise ShapeError(
            f"{located('cross_entropy')}: logits {shape}, targets {labels.shape}: "
            f"targets must have the shape {shape[:-1]}"
        )
    if not 0 <= label_smoothing <= 1:
        raise ShapeError(f"{located('cross_entropy')}: label_smoothing must be in [0, 1], not {label_smoothing}")
    if reduction not in ("mean", "sum", "none"):
        raise ShapeError(f"{located('cross_entropy')}: reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    counted = np.ones(labels.shape, bool) if ignore_index is None else np.asarray(labels != ignore_index)
    outside = counted & ((labels < 0) | (labels >= shape[-1]))
    if outside.any():
        position = tuple(int(i) for i in np.argwhere(outside)[0])
        raise OutOfRangeError(
            f"{located('cross_entropy')}: target {labels[position]} at {position} is not one of the {shape[-1]} "
            "classes (0 and up); is it padding, and ignore_index not set?"
        )
    safe = as_array(np.where(counted, labels, 0).astype(np.intp))
    return _cross_entropy(
        logits, targets=safe, counted=as_array(counted), smoothing=label_smoothing, reduction=reduction
    )
