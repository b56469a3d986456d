"""A small example of each row of the table, on which its derivative is checked while the sheet is printed.

A new row needs one line here; until then the sheet says "not checked", and a test fails.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Example:
    """An operation on operands of some shapes.

    call: a function of the operands; None: the row itself, with `params`.
    positive: whether operands are drawn from [0.3, 1.7] only, where the operation is not defined elsewhere.
    """

    call: Callable[..., mg.Tensor] | None
    shapes: tuple[Shape, ...]
    params: dict[str, Any] = field(default_factory=dict)
    positive: bool = False

    def operands(self, seed: int) -> list[NDArray[np.float64]]:
        """Drawn operands: between 0.3 and 1.7 from 0, so that no kink is near."""
        rng = np.random.default_rng(seed)
        sizes = [rng.uniform(0.3, 1.7, shape) for shape in self.shapes]
        return sizes if self.positive else [size * rng.choice((-1.0, 1.0), size.shape) for size in sizes]


def of(call: Callable[..., mg.Tensor] | None, *shapes: Shape, positive: bool = False, **params: Any) -> Example:
    """An example, in one line."""
    return Example(call, shapes, params, positive)


X, ROW, BATCH = (3, 4), (4,), (2, 3, 4)
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
DROPPED = np.array([[True, True, False, True], [True, True, True, True], [False, True, True, True]])

EXAMPLES: dict[str, Example] = {
    "abs": of(mg.abs, X),
    "add": of(mg.add, X, ROW),
    "add_norm": of(mg.add_norm, X, X, ROW, ROW),
    "alias": of(None, X),
    "astype": of(None, X, dtype=np.dtype(np.float64)),
    "attention": of(lambda q, k, v: mg.attention(q, k, v, MASK), (2, 3, 5), (2, 4, 5), (2, 4, 2)),
    "broadcast_to": of(lambda x: mg.broadcast_to(x, BATCH), ROW),
    "clip": of(lambda x, low, high: mg.clip(x, low - 0.9, high + 0.9), X, (1,), ROW),
    "concatenate": of(lambda x, y: mg.concatenate([x, y], axis=1), X, (3, 2)),
    "cos": of(mg.cos, X),
    "cross_entropy": of(lambda x: mg.cross_entropy(x, [1, 3, 0], label_smoothing=0.1), X),
    "cumprod": of(lambda x: mg.cumprod(x, axis=1), X),
    "cumsum": of(lambda x: mg.cumsum(x, axis=1), X),
    "divide": of(mg.divide, X, ROW),
    "dropout": of(lambda x: mg.dropout(x, DROPPED, 0.25), X),
    "einsum": of(lambda x, y: mg.einsum("bij,kj->bik", x, y), BATCH, (5, 4)),
    "embedding": of(lambda table: mg.embedding(table, [[2, 0, 2], [1, 1, 0]], 2.0), X),
    "erf": of(None, X),
    "exp": of(mg.exp, X),
    "feed_forward": of(mg.feed_forward, X, (4, 5), (5,), (5, 2), (2,)),
    "flip": of(lambda x: mg.flip(x, axis=0), X),
    "gelu": of(mg.gelu, X),
    "getitem": of(lambda x: x[[0, 2, 0], 1:], X),
    "layer_norm": of(mg.layer_norm, X, ROW, ROW),
    "linear": of(mg.linear, X, (4, 2), (2,)),
    "log": of(mg.log, X, positive=True),
    "log_softmax": of(mg.log_softmax, X),
    "logaddexp": of(mg.logaddexp, X, ROW),
    "logsumexp": of(lambda x: mg.logsumexp(x, axis=1), X),
    "matmul": of(mg.matmul, BATCH, (4, 5)),
    "max": of(lambda x: mg.max(x, axis=1), X),
    "maximum": of(mg.maximum, X, ROW),
    "mean": of(lambda x: mg.mean(x, axis=1), X),
    "min": of(lambda x: mg.min(x, axis=1), X),
    "minimum": of(mg.minimum, X, ROW),
    "multi_head_attention": of(
        lambda x, memory, *p: mg.multi_head_attention(x, memory, p[0:2], p[2:4], p[4:6], p[6:8], 2, MASK),
        *((3, 5), (4, 4)),
        *((5, 6), (6,), (4, 6), (6,), (4, 2), (2,), (2, 5), (5,)),
    ),
    "multiply": of(mg.multiply, X, ROW),
    "negative": of(mg.negative, X),
    "norm": of(lambda x: mg.norm(x, axis=1), X),
    "pad": of(lambda x: mg.pad(x, ((1, 0), (2, 1))), X),
    "power": of(mg.power, X, ROW, positive=True),
    "power_constant": of(lambda x: x**3, X),
    "prod": of(lambda x: mg.prod(x, axis=1), X),
    "recurrence": of(None, X, X),
    "relu": of(mg.relu, X),
    "reshape": of(lambda x: mg.reshape(x, (2, 6)), X),
    "rms_norm": of(mg.rms_norm, X, ROW),
    "scatter_add": of(lambda x: mg.scatter_add(x, [0, 2, 0], (4, 4)), X),
    "sigmoid": of(mg.sigmoid, X),
    "silu": of(mg.silu, X),
    "sin": of(mg.sin, X),
    "softmax": of(mg.softmax, X),
    "softplus": of(mg.softplus, X),
    "sqrt": of(mg.sqrt, X, positive=True),
    "subtract": of(mg.subtract, X, ROW),
    "sum": of(lambda x: mg.sum(x, axis=1), X),
    "tanh": of(mg.tanh, X),
    "transpose": of(lambda x: mg.transpose(x, (2, 0, 1)), BATCH),
    "var": of(lambda x: mg.var(x, axis=1), X),
    "where": of(lambda x, y: mg.where(MASK, x, y), X, ROW),
}
