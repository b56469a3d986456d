"""Word vectors: rows of a table, scaled, and 0 where no word stands. The paper, section 3.4."""

from typing import Any

from minigrad.errors import ShapeError
from minigrad.fused import Fused
from minigrad.ops.axes import as_mask, as_places, located, shape_of
from minigrad.ops.buffers import times_into
from minigrad.ops.choices import where
from minigrad.ops.indexing import add_rows, getitem
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike, as_array


def _definition(table: Tensor, *, ids: Array, scale: float, words: Array | None) -> Tensor:
    vectors = getitem(table, ids) * scale
    return vectors if words is None else where(words[..., None], vectors, 0.0)


def _forward(table: Array, *, ids: Array, scale: float, words: Array | None) -> tuple[Array, None]:
    out = times_into(table[ids], scale)
    if words is not None:
        out[~words] = 0
    return out, None


def _backward(
    g: Array, out: Array, residuals: None, table: Array, *, ids: Array, scale: float, words: Array | None
) -> tuple[Array]:
    """Each row of the table gets scale times the sum of the cotangents at its places; where no word stands, nothing."""
    if words is not None:
        g, ids = g[words], ids[words]
    dtable = add_rows(g, ids, table.shape)
    dtable *= scale
    return (dtable,)


_embedding = Fused(
    "embedding", _definition, _forward, _backward, formula="table[ids] * scale, 0 where no word stands", reads=""
)


def embedding(table: TensorLike, ids: Any, scale: float = 1.0, words: Any = None) -> Tensor:
    """table[ids] * scale: (V, D), integers (...) -> (..., D). dtable[i] = scale * sum of g over the places of i.

    words: boolean, of the shape of ids; where it is False the vector is 0, whatever the table holds, and no gradient
        flows. Raises IndexError for an id that is no row, ShapeError for another shape of words.
    Source: the paper, section 3.4 (scale sqrt(D)).
    """
    rows, shape = as_places("embedding", ids), shape_of(table)
    if len(shape) != 2:
        raise ShapeError(f"{located('embedding')}: a table has the shape (V, D), not {shape}")
    shown = None if words is None else as_mask("embedding", words)
    if shown is not None and shown.shape != rows.shape:
        raise ShapeError(f"{located('embedding')}: words of shape {shown.shape} for ids of shape {rows.shape}")
    if shown is not None and shown.all():
        shown = None
    return _embedding(table, ids=as_array(rows), scale=float(scale), words=shown)
