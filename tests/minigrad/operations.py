"""For each row of the table of rules, a strategy of cases: the operation with drawn operands and parameters.

`CASES` is complete: test_table.py fails for a row that has none.
"""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minigrad as mg
from minigrad.operation import TABLE
from minigrad.primitive import alias_of
from tests.minigrad.case import Case, apart, case, elementwise, masks, reduction, seeds, some_of
from tests.minigrad.operations_of_layers import CASES_OF_LAYERS
from tests.minigrad.operations_on_axes import CASES_ON_AXES
from tests.minigrad.strategies import Shape, axes, axis, broadcastable, shapes


@st.composite
def power_constant(draw):
    exponent = draw(st.sampled_from((0, 1, 2, 3, -1, -2, 0.5, 2.5, -0.5, 1.0)))
    how = "positive" if exponent != int(exponent) or exponent < 0 else "any"
    return case(draw, lambda x: x**exponent, draw(shapes()), how=how, note=f"** {exponent}")


@st.composite
def where(draw):
    condition, x, y = draw(broadcastable(3))
    mask = draw(masks(condition))
    return case(draw, lambda a, b: mg.where(mask, a, b), x, y)


@st.composite
def clip(draw):
    operands = draw(broadcastable(3))
    return case(draw, lambda x, low, high: mg.clip(x, low + 0.033, high + 0.066), *operands, how="spread")


@st.composite
def astype(draw):
    # the row itself: mg.astype gives back x where the dtype is its own already, as float64 may be longdouble's
    return case(draw, lambda x: TABLE["astype"](x, dtype=np.dtype(np.longdouble)), draw(shapes()))


@st.composite
def getitem(draw):
    shape = draw(shapes(min_dims=1))
    index = draw(indices(shape))
    return case(draw, lambda x: x[index], shape, note=f"[{index!r}]")


@st.composite
def scatter_add(draw):
    shape = draw(shapes(min_dims=1))
    index = draw(indices(shape))
    taken = np.zeros(shape)[index].shape
    return case(draw, lambda x: mg.scatter_add(x, index, shape), taken, note=f"[{index!r}]")


@st.composite
def indices(draw, shape: Shape):
    """Basic and advanced indices, mixed: integers, slices, None, ..., repeated integers, boolean masks."""
    kind = draw(st.sampled_from(("basic", "rows", "integers", "mask", "mixed")))
    if kind == "basic" or 0 in shape:
        return draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    if kind == "rows":
        dtype = draw(st.sampled_from((np.int64, np.int16, np.uint8)))
        low = 0 if dtype is np.uint8 else -shape[0]
        rows = draw(st.lists(st.integers(low, shape[0] - 1), max_size=6))
        return np.array(rows, dtype)
    if kind == "integers":
        return draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    if kind == "mask":
        return draw(masks(shape[: draw(st.integers(1, len(shape)))]))
    parts: list[Any] = [
        draw(st.sampled_from((slice(None), slice(None, None, -1), 0, -1, [0, -1, 0], np.array([[0], [-1]]))))
        for _ in range(draw(st.integers(1, len(shape))))
    ]
    for extra in draw(st.lists(st.sampled_from((None, ...)), max_size=2, unique=True)):
        parts.insert(draw(st.integers(0, len(parts))), extra)
    return tuple(parts)


@st.composite
def reshape(draw):
    shape = draw(shapes())
    sizes = list(draw(st.permutations(shape)))
    if sizes and 0 not in sizes and draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    elif draw(st.booleans()):
        sizes = [int(np.prod(shape))]
    return case(draw, lambda x: x.reshape(tuple(sizes)), shape, note=f"to {sizes}")


@st.composite
def transpose(draw):
    shape = draw(shapes())
    order = tuple(i - len(shape) if draw(st.booleans()) else i for i in draw(st.permutations(range(len(shape)))))
    order = draw(st.sampled_from((order, order, None)))
    return case(draw, lambda x: mg.transpose(x, order), shape, note=f"{order}")


@st.composite
def broadcast_to(draw):
    whole, x = draw(broadcastable(2))
    target = np.broadcast_shapes(whole, x)
    return case(draw, lambda x: mg.broadcast_to(x, target), x, note=f"to {target}")


@st.composite
def concatenate(draw):
    shape = draw(shapes(min_dims=1))
    along = draw(axis(len(shape)))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    parts = [tuple(n if i == along % len(shape) else size for i, size in enumerate(shape)) for n in lengths]
    return case(draw, lambda *xs: mg.concatenate(xs, along), *parts, note=f"axis={along}")


@st.composite
def matmul(draw):
    left, right = draw(broadcastable(2, max_dims=2, sizes=(2, 7)))
    n, k, m = draw(st.permutations((3, 4, 5)))
    k = draw(st.sampled_from((k, k, k, 0, 1)))
    x = draw(st.sampled_from(((k,), (*left, n, k), (*left, n, k))))
    y = draw(st.sampled_from(((k,), (*right, k, m), (*right, k, m))))
    return case(draw, mg.matmul, x, y)


@st.composite
def softmax(draw):
    shape = draw(shapes(min_dims=1))
    over = draw(axis(len(shape)))
    mask = draw(st.none() | masks(shape) | masks(shape[-1:]))
    return case(draw, lambda x: mg.softmax(x, over, mask), shape, note=f"axis={over}")


@st.composite
def log_softmax(draw):
    shape = draw(shapes(min_dims=1))
    over = draw(axis(len(shape)))
    return case(draw, lambda x: mg.log_softmax(x, over), shape, note=f"axis={over}")


@st.composite
def logsumexp(draw):
    shape = draw(shapes(empty=False))
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    mask = draw(st.none() | masks(shape).map(lambda mask: some_of(mask, over)))
    return case(draw, lambda x: mg.logsumexp(x, over, keepdims, mask), shape, note=f"axis={over}")


@st.composite
def cross_entropy(draw):
    shape = draw(shapes(min_dims=1, max_dims=3, sizes=(2, 3, 5)))
    classes = max(shape[-1], 1)
    rng = np.random.default_rng(draw(seeds))
    targets = rng.integers(0, classes, shape[:-1])
    options = {
        "ignore_index": draw(st.sampled_from((None, 0, -1))),
        "label_smoothing": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "reduction": draw(st.sampled_from(("mean", "sum", "none"))),
    }
    if options["ignore_index"] == -1:
        targets = np.where(rng.random(targets.shape) < 0.4, -1, targets)
    return case(
        draw, lambda x: mg.cross_entropy(x, targets, **options), (*shape[:-1], classes), note=f"{options}"
    )  # fmt: skip


@st.composite
def layer_norm(draw):
    shape = (*draw(shapes(max_dims=3, sizes=(2, 3, 5))), draw(st.sampled_from((4, 6, 7))))
    gain, bias = draw(st.booleans()), draw(st.booleans())
    sizes = [shape[-1:]] * (gain + bias)

    def call(x, *rest):
        given = iter(rest)
        return mg.layer_norm(x, next(given) if gain else None, next(given) if bias else None, eps=1e-3)

    return case(draw, call, shape, *sizes, note=f"gain {gain}, bias {bias}")


@st.composite
def rms_norm(draw):
    shape = (*draw(shapes(max_dims=3, sizes=(2, 3, 5))), draw(st.sampled_from((4, 6, 7))))
    gain = [shape[-1:]] * draw(st.booleans())
    return case(draw, lambda x, *gain: mg.rms_norm(x, *gain, eps=1e-3), shape, *gain, note=f"{len(gain)} gain")


@st.composite
def linear(draw):
    leading, (n, m) = draw(shapes(max_dims=2, sizes=(2, 7))), draw(st.permutations((3, 4)))
    bias = [(m,)] if draw(st.booleans()) else []
    return case(draw, lambda x, w, *b: mg.linear(x, w, *b), (*leading, n), (n, m), *bias)


@st.composite
def dropout(draw):
    shape, rate = draw(shapes()), draw(st.sampled_from((0.0, 0.1, 0.5)))
    keep = draw(masks(shape))
    return case(draw, lambda x: mg.dropout(x, keep, rate), shape, note=f"rate {rate}")


@st.composite
def attention(draw):
    query, key, value = draw(broadcastable(3, max_dims=2, sizes=(2, 6)))
    t_q, t_k = draw(st.permutations((3, 4)))
    t_q, t_k = draw(st.sampled_from(((t_q, t_k), (t_q, t_k), (t_q, t_k), (0, t_k), (t_q, 0), (1, t_k), (t_q, 1))))
    d, d_v = draw(st.permutations((5, 2)))
    leading = np.broadcast_shapes(query, key, value)
    seen = ((t_q, t_k), (1, t_k), (t_q, 1), (t_k,), (*leading, t_q, t_k), (3, *leading, t_q, t_k))
    mask = draw(st.none() | st.sampled_from(seen).flatmap(masks))
    added = ((t_q, t_k), (1, t_k), (t_q, 1), (t_k,), (), (*np.broadcast_shapes(query, key), t_q, t_k))
    bias = draw(
        st.none() | st.sampled_from(added).map(lambda shape: np.linspace(-2, 1, math.prod(shape)).reshape(shape))
    )
    return case(
        draw, lambda q, k, v: mg.attention(q, k, v, mask, bias), (*query, t_q, d), (*key, t_k, d), (*value, t_k, d_v),
        note=f"mask {None if mask is None else mask.shape}, bias {None if bias is None else bias.shape}",
    )  # fmt: skip


CASES: dict[str, st.SearchStrategy[Case]] = (
    CASES_ON_AXES
    | CASES_OF_LAYERS
    | {
        "abs": elementwise(mg.abs, how="spread"),
        "add": elementwise(mg.add, 2),
        "alias": elementwise(alias_of),
        "astype": astype(),
        "attention": attention(),
        "broadcast_to": broadcast_to(),
        "concatenate": concatenate(),
        "clip": clip(),
        "cos": elementwise(mg.cos),
        "cross_entropy": cross_entropy(),
        "divide": elementwise(mg.divide, 2, how="positive"),
        "dropout": dropout(),
        "erf": elementwise(mg.erf),
        "exp": elementwise(mg.exp),
        "gelu": elementwise(mg.gelu) | elementwise(lambda x: mg.gelu(x, "tanh")),
        "getitem": getitem(),
        "layer_norm": layer_norm(),
        "linear": linear(),
        "log": elementwise(mg.log, how="positive"),
        "logaddexp": elementwise(mg.logaddexp, 2),
        "log_softmax": log_softmax(),
        "logsumexp": logsumexp(),
        "matmul": matmul(),
        "maximum": elementwise(apart(mg.maximum), 2, how="spread"),
        "mean": reduction(mg.mean, empty=False),
        "minimum": elementwise(apart(mg.minimum), 2, how="spread"),
        "multiply": elementwise(mg.multiply, 2),
        "negative": elementwise(mg.negative),
        "power": elementwise(mg.power, 2, how=("positive", "any")),
        "power_constant": power_constant(),
        "relu": elementwise(mg.relu, how="spread"),
        "reshape": reshape(),
        "rms_norm": rms_norm(),
        "scatter_add": scatter_add(),
        "sigmoid": elementwise(mg.sigmoid),
        "silu": elementwise(mg.silu),
        "sin": elementwise(mg.sin),
        "softmax": softmax(),
        "softplus": elementwise(mg.softplus),
        "sqrt": elementwise(mg.sqrt, how="positive"),
        "subtract": elementwise(mg.subtract, 2),
        "sum": reduction(mg.sum),
        "tanh": elementwise(mg.tanh),
        "transpose": transpose(),
        "where": where(),
    }
)
