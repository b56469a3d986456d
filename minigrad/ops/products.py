"""Matrix products."""

import numpy as np

from minigrad.errors import ShapeError
from minigrad.ops.axes import located, shape_of
from minigrad.ops.shapes import reshape
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers, operations
from minigrad.tensor import Tensor, TensorLike

_matmul = Primitive(
    "matmul", np.matmul, "x @ y",
    Rule(lambda g, out, x, y: g @ np.swapaxes(y, -1, -2), "y"),
    Rule(lambda g, out, x, y: np.swapaxes(x, -1, -2) @ g, "x"),
)  # fmt: skip


@answers(np.matmul)
def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """The matrix product, (..., n, k) @ (..., k, m) -> (..., n, m); leading axes broadcast; a vector acts as in NumPy.

    dx = g @ y^T, dy = x^T @ g. Raises ShapeError for numbers and for sizes that do not fit.
    """
    a, b = shape_of(x), shape_of(y)
    if len(a) > 1 and len(b) > 1:
        return _matmul(x, y)
    if not a or not b:
        raise ShapeError(
            f"{located('matmul')}: {a} @ {b}: a matrix product needs at least one axis; use * for a number"
        )
    # A vector is a matrix of one row (on the left) or one column (on the right); that axis goes from the result.
    rows = reshape(x, (1, *a)) if len(a) == 1 else x
    columns = reshape(y, (*b, 1)) if len(b) == 1 else y
    product = _matmul(rows, columns)
    kept = (
        product.shape[:-2] + (() if len(a) == 1 else product.shape[-2:-1]) + (() if len(b) == 1 else product.shape[-1:])
    )
    return reshape(product, kept)


operations.matmul = matmul
