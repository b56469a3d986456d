"""Each row at 0, -0, infinities, NaN, ties, subnormal and huge numbers: value and gradient, pinned.

The rule behind the table: IEEE arithmetic on the formula of the row, and, where the derivative is not defined, the
row's convention (`kinks`). A comparison with NaN holds for neither side, so a NaN that is compared takes no gradient.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import inf, nan

import minigrad as mg
from minigrad.operation import TABLE
from tests.minigrad.operations import CASES, seeds
from tests.minigrad.strategies import leaf

TINY, LOW, HUGE = 5e-324, -1e-310, 1e308
POINTS = [0.0, -0.0, inf, -inf, nan, TINY, LOW, HUGE, -HUGE]
LOG2 = float(np.log(2))
ANY = None
"""Left open: the formula's own arithmetic gives NaN where a limit exists."""

UNARY = {
    "negative": (mg.negative, [-0.0, 0.0, -inf, inf, nan, -TINY, -LOW, -HUGE, HUGE], [-1.0] * 9),
    "exp": (mg.exp, [1, 1, inf, 0, nan, 1, 1, inf, 0], [1, 1, inf, 0, nan, 1, 1, inf, 0]),
    "log": (
        mg.log, [-inf, -inf, inf, nan, nan, -744.4400719213812, nan, 709.1962086421661, nan],
        [inf, -inf, 0.0, -0.0, nan, inf, -inf, 1e-308, -1e-308],
    ),
    "sqrt": (
        mg.sqrt, [0.0, -0.0, inf, nan, nan, 2.2227587494850775e-162, nan, 1e154, nan],
        [inf, ANY, 0.0, nan, nan, 2.2494568972715982e161, nan, 5e-155, nan],
    ),
    "tanh": (mg.tanh, [0.0, -0.0, 1, -1, nan, TINY, LOW, 1, -1], [1, 1, 0, 0, nan, 1, 1, 0, 0]),
    "sin": (mg.sin, [0.0, -0.0, nan, nan, nan, TINY, LOW, ANY, ANY], [1, 1, nan, nan, nan, 1, 1, ANY, ANY]),
    "cos": (mg.cos, [1, 1, nan, nan, nan, 1, 1, ANY, ANY], [-0.0, 0.0, nan, nan, nan, -TINY, -LOW, ANY, ANY]),
    "abs": (mg.abs, [0.0, 0.0, inf, inf, nan, TINY, -LOW, HUGE, HUGE], [0, 0, 1, -1, 0, 1, -1, 1, -1]),
    "relu": (mg.relu, [0, 0, inf, 0, nan, TINY, 0, HUGE, 0], [0, 0, 1, 0, 0, 1, 0, 1, 0]),
    "clip": (
        lambda x: mg.clip(x, 0.0, 1.0), [0, 0, 1, 0, nan, TINY, 0, 1, 0], [1, 1, 0, 0, 0, 1, 0, 0, 0],
    ),
    "sigmoid": (mg.sigmoid, [0.5, 0.5, 1, 0, nan, 0.5, 0.5, 1, 0], [0.25, 0.25, 0, 0, nan, 0.25, 0.25, 0, 0]),
    "silu": (mg.silu, [0.0, -0.0, inf, ANY, nan, 0.0, LOW / 2, HUGE, ANY], [0.5, 0.5, ANY, ANY, nan, 0.5, 0.5, 1, ANY]),
    "gelu": (mg.gelu, [0.0, -0.0, inf, ANY, nan, 0.0, LOW / 2, HUGE, ANY], [0.5, 0.5, ANY, ANY, nan, 0.5, 0.5, 1, ANY]),
    "softplus": (mg.softplus, [LOG2, LOG2, inf, 0, nan, LOG2, LOG2, HUGE, 0], [0.5, 0.5, 1, 0, nan, 0.5, 0.5, 1, 0]),
    "erf": (
        mg.erf, [0.0, -0.0, 1, -1, nan, TINY, -1.1283791670955e-310, 1, -1],
        [1.1283791670955126, 1.1283791670955126, 0, 0, nan, 1.1283791670955126, 1.1283791670955126, 0, 0],
    ),
    "power_constant 2": (
        lambda x: x**2, [0, 0, inf, inf, nan, 0, 0, inf, inf],
        [0.0, -0.0, inf, -inf, nan, 2 * TINY, 2 * LOW, inf, -inf],
    ),
    "power_constant 3": (
        lambda x: x**3, [0.0, -0.0, inf, -inf, nan, 0.0, -0.0, inf, -inf], [0, 0, inf, inf, nan, 0, 0, inf, inf],
    ),
    "power_constant 1": (lambda x: x**1, POINTS, [1.0] * 9),
    "power_constant 0": (lambda x: x**0, [1.0] * 9, [0.0] * 9),
    "power_constant -1": (
        lambda x: x**-1, [inf, -inf, 0.0, -0.0, nan, inf, -inf, 1e-308, -1e-308],
        [-inf, -inf, -0.0, -0.0, nan, -inf, -inf, -0.0, -0.0],
    ),
}  # fmt: skip

BINARY = {
    "multiply": {
        (0.0, -0.0): (-0.0, -0.0, 0.0), (inf, 0.0): (nan, 0.0, inf), (-inf, -inf): (inf, -inf, -inf),
        (nan, 1.0): (nan, 1, nan), (TINY, TINY): (0, TINY, TINY), (HUGE, HUGE): (inf, HUGE, HUGE),
    },
    "divide": {
        (0.0, 0.0): (nan, inf, nan), (1.0, -0.0): (-inf, -inf, -inf), (0.0, inf): (0.0, 0.0, -0.0),
        (inf, inf): (nan, 0.0, nan), (nan, 1.0): (nan, 1, nan), (TINY, TINY): (1, inf, -inf),
    },
    "power": {
        (0.0, 0.0): (1, 0, 0), (inf, 0.0): (1, 0, inf), (nan, 0.0): (1, 0, ANY),
        (inf, inf): (inf, inf, inf), (1.0, nan): (1, nan, 0), (TINY, TINY): (1, inf, -744.4400719213812),
        (0.0, -1.0): (inf, -inf, 0.0), (-2.0, 2.0): (4, -4, nan),
    },
    "maximum": {
        (0.0, -0.0): (0.0, 0.5, 0.5), (inf, inf): (inf, 0.5, 0.5), (-inf, -inf): (-inf, 0.5, 0.5),
        (inf, -inf): (inf, 1, 0), (nan, 1.0): (nan, 0, 0), (1.0, nan): (nan, 0, 0), (TINY, -TINY): (TINY, 1, 0),
        (2.0, 2.0): (2, 0.5, 0.5),
    },
    "minimum": {
        (0.0, -0.0): (0.0, 0.5, 0.5), (inf, inf): (inf, 0.5, 0.5), (-inf, -inf): (-inf, 0.5, 0.5),
        (inf, -inf): (-inf, 0, 1), (nan, 1.0): (nan, 0, 0), (1.0, nan): (nan, 0, 0), (TINY, -TINY): (-TINY, 0, 1),
        (2.0, 2.0): (2, 0.5, 0.5),
    },
    "logaddexp": {
        (0.0, -0.0): (LOG2, 0.5, 0.5), (inf, 0.0): (inf, 1, 0), (inf, inf): (inf, 0.5, 0.5),
        (-inf, -inf): (-inf, 0.5, 0.5), (inf, -inf): (inf, 1, 0), (nan, 1.0): (nan, nan, nan),
        (HUGE, -HUGE): (HUGE, 1, 0), (TINY, TINY): (LOG2, 0.5, 0.5),
    },
}  # fmt: skip

ROOT = 316.2277660168379  # 1 / sqrt(1e-5), the steepest that a normalisation gets
VECTORS = {
    "max": (mg.max, {
        (0.0, -0.0): (0.0, [0.5, 0.5]), (-inf, -inf): (-inf, [0.5, 0.5]), (inf, 0.0): (inf, [1, 0]),
        (nan, 1.0): (nan, ANY), (TINY, 0.0): (TINY, [1, 0]), (3.0, 1.0, 3.0): (3, [0.5, 0, 0.5]),
    }),
    "min": (mg.min, {
        (0.0, -0.0): (0.0, [0.5, 0.5]), (inf, inf): (inf, [0.5, 0.5]), (inf, 0.0): (0, [0, 1]),
        (nan, 1.0): (nan, ANY), (TINY, 0.0): (0, [0, 1]), (1.0, 3.0, 1.0): (1, [0.5, 0, 0.5]),
    }),
    "prod": (mg.prod, {
        (2.0, 0.0, 3.0, 4.0): (0, [0, 24, 0, 0]), (2.0, 0.0, -0.0): (-0.0, [0, 0, 0]),
        (inf, 0.0): (nan, [0, inf]), (nan, 1.0): (nan, [1, nan]), (TINY, 0.0): (0, [0, TINY]),
    }),
    "cumprod": (mg.cumprod, {
        (0.0, 0.0, 3.0): ([0, 0, 0], [1, 0, 0]), (-inf, -inf): ([-inf, inf], ANY), (nan, 1.0): ([nan, nan], ANY),
    }),
    "var": (mg.var, {
        (0.0, -0.0): (0, [0, 0]), (1.0, 1.0): (0, [0, 0]), (inf, 0.0): (nan, ANY), (nan, 1.0): (nan, [nan, nan]),
        (TINY, 0.0): (0, ANY),
    }),
    "norm": (mg.norm, {
        (0.0, -0.0): (0, [0, 0]), (0.0, 0.0, 3.0): (3, [0, 0, 1]),
        (nan, 1.0): (nan, [nan, nan]), (-inf, 0.0): (inf, ANY),
    }),
    "softmax": (mg.softmax, {
        (0.0, -0.0): ([0.5, 0.5], [-0.25, 0.25]), (-inf, 0.0): ([0, 1], [0, 0]), (-inf, -inf): ([0, 0], [0, 0]),
        (nan, 1.0): ([nan, nan], [nan, nan]), (HUGE, -HUGE): ([1, 0], [0, 0]), (TINY, 0.0): ([0.5, 0.5], [-0.25, 0.25]),
    }),
    "log_softmax": (mg.log_softmax, {
        (0.0, -0.0): ([-LOG2, -LOG2], [-0.5, 0.5]), (-inf, 0.0): ([-inf, 0], [1, -1]),
        (-inf, -inf): ([-inf, -inf], [1, 2]), (nan, 1.0): ([nan, nan], [nan, nan]),
    }),
    "logsumexp": (mg.logsumexp, {
        (0.0, -0.0): (LOG2, [0.5, 0.5]), (-inf, 0.0): (0, [0, 1]), (-inf, -inf): (-inf, [0, 0]),
        (nan, 1.0): (nan, [nan, nan]), (HUGE, -HUGE): (HUGE, [1, 0]), (TINY, 0.0): (LOG2, [0.5, 0.5]),
    }),
    "cross_entropy": (lambda x: mg.cross_entropy(x, np.array(0)), {
        (0.0, -0.0): (LOG2, [-0.5, 0.5]), (-inf, 0.0): (inf, [-1, 1]), (0.0, -inf): (0, [0, 0]),
        (nan, 1.0): (nan, [nan, nan]), (HUGE, -HUGE): (0, [0, 0]),
    }),
    "layer_norm": (mg.layer_norm, {
        (0.0, -0.0): ([0, 0], [-ROOT / 2, ROOT / 2]), (1.0, 1.0): ([0, 0], [-ROOT / 2, ROOT / 2]),
        (nan, 1.0): ([nan, nan], [nan, nan]), (-inf, 0.0): ([nan, nan], [nan, nan]),
        (TINY, 0.0): (ANY, [-ROOT / 2, ROOT / 2]),
    }),
    "add_norm": (lambda x: mg.add_norm(x, np.zeros(2), np.ones(2), np.zeros(2)), {
        (0.0, -0.0): ([0, 0], [-ROOT / 2, ROOT / 2]), (nan, 1.0): ([nan, nan], [nan, nan]),
        (-inf, 0.0): ([nan, nan], [nan, nan]), (TINY, 0.0): (ANY, [-ROOT / 2, ROOT / 2]),
    }),
    "rms_norm": (mg.rms_norm, {
        (0.0, -0.0): ([0.0, -0.0], [ROOT, 2 * ROOT]), (nan, 1.0): ([nan, nan], [nan, nan]),
        (TINY, 0.0): (ANY, [ROOT, 2 * ROOT]),
    }),
}  # fmt: skip

BAD = np.array([[inf, 1.0], [2.0, nan], [3.0, 4.0]])
PRODUCTS = {
    "matmul": lambda x, y: mg.matmul(x, y),
    "linear": lambda x, y: mg.linear(x, y[:, None])[:, 0],
    "einsum": lambda x, y: mg.einsum("ij,j->i", x, y),
}

# Linear in their operands: the gradient depends on none of them, whatever they hold.
LINEAR = (
    "add", "alias", "astype", "broadcast_to", "concatenate", "cumsum", "dropout", "embedding", "flip", "getitem",
    "mean", "negative", "pad", "reshape", "scatter_add", "subtract", "sum", "transpose", "where",
)  # fmt: skip
ELSEWHERE = {"attention", "feed_forward", "multi_head_attention", "recurrence"}
"""attention: ops/test_masks.py, and below, where the layers are too; recurrence: what cumprod's rule is made of."""


def found(f, *operands, create_graph=False, ones=False):
    leaves = [leaf(np.array(operand, np.float64)) for operand in operands]
    with np.errstate(all="ignore"):
        output = f(*leaves)
    g = np.ones(output.shape) if ones else np.arange(1.0, output.size + 1).reshape(output.shape)
    return output.data, [one.data for one in mg.gradients(output, leaves, g, create_graph=create_graph)]


def same(value, expected):
    """Equal to 14 digits; infinities, NaNs and the signs of zeros (where one is written) too; ANY is not looked at."""
    if expected is ANY:
        return
    value, expected = np.atleast_1d(value), np.atleast_1d(np.array(expected, object))
    pinned = np.array([one is not ANY for one in expected])
    value, expected = value[pinned], expected[pinned].astype(np.float64)
    np.testing.assert_allclose(value, expected, rtol=1e-14, atol=0)
    negative_zero = (expected == 0) & np.signbit(expected)
    assert np.signbit(value[negative_zero]).all()


both_ways = pytest.mark.parametrize("create_graph", [False, True], ids=["arrays", "tensors"])


@both_ways
@pytest.mark.parametrize("name", UNARY)
def test_of_one_operand(name, create_graph):
    f, value, gradient = UNARY[name]
    got, (g,) = found(f, POINTS, create_graph=create_graph, ones=True)
    same(got, value)
    same(g, gradient)


@both_ways
@pytest.mark.parametrize("name", BINARY)
def test_of_two_operands(name, create_graph):
    for (x, y), (value, dx, dy) in BINARY[name].items():
        got, (gx, gy) = found(getattr(mg, name), x, y, create_graph=create_graph)
        for one, expected in ((got, value), (gx, dx), (gy, dy)):
            same(one, expected)


@both_ways
@pytest.mark.parametrize("name", VECTORS)
def test_of_a_vector(name, create_graph):
    f, rows = VECTORS[name]
    for x, (value, gradient) in rows.items():
        got, (g,) = found(f, x, create_graph=create_graph)
        same(got, value)
        if name != "cumprod":
            same(g, gradient)
    if name == "cumprod":
        same(found(f, [0.0, 0.0, 3.0], create_graph=create_graph, ones=True)[1][0], [1, 0, 0])


@both_ways
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_spreads_what_is_not_finite_along_its_row_only(name, create_graph):
    value, (dx, dy) = found(PRODUCTS[name], BAD, [1.0, 2.0], create_graph=create_graph)
    same(value, [inf, nan, 11])
    np.testing.assert_array_equal(dx, [[1, 2], [2, 4], [3, 6]])
    same(dy, [inf, nan])
    zero, _ = found(PRODUCTS[name], BAD, [0.0, 2.0], create_graph=create_graph)
    same(zero, [nan, nan, 8])  # inf times 0


@both_ways
def test_attention_never_reads_what_a_query_may_not_see(create_graph):
    value, gradients = found(
        lambda q, k, v: mg.attention(q, k, v, np.array([[True, False], [False, False]])),
        [[1.0], [1.0]], [[1.0], [nan]], [[2.0], [inf]], create_graph=create_graph,
    )  # fmt: skip
    np.testing.assert_array_equal(value, [[2], [0]])
    for gradient, expected in zip(gradients, ([[0], [0]], [[0], [0]], [[1], [0]]), strict=True):
        np.testing.assert_array_equal(gradient, expected)


@both_ways
def test_feed_forward_keeps_what_is_not_finite_in_its_row_and_gives_none_back_through_a_unit_that_is_off(create_graph):
    ones = np.ones((1, 2))
    value, gradients = found(
        mg.feed_forward, [[nan], [-inf], [1.0]], ones, [0.0, -2.0], ones.T, [0.5], create_graph=create_graph
    )
    same(value[:, 0], [nan, 0.5, 1.5])
    same(gradients[0][:, 0], [0, 0, 3])
    same(gradients[4], [6])


@both_ways
def test_multi_head_attention_gives_the_output_bias_where_a_query_sees_nothing(create_graph):
    """And a query that sees a part is the same as with that part alone."""
    rng = np.random.default_rng(0)
    x, memory, weight, bias = (rng.standard_normal(shape) for shape in ((3, 4), (3, 4), (4, 4), 4))
    mask = np.array([[False, False, False], [True, False, False], [True, True, True]])

    def call(x, memory, *pairs, mask=mask):
        return mg.multi_head_attention(x, memory, *[pairs] * 4, 2, mask)

    value, gradients = found(call, x, memory, weight, bias, create_graph=create_graph)
    same(value[0], bias)
    np.testing.assert_allclose(value[1], call(x[1:2], memory[:1], weight, bias, mask=None).data[0], rtol=1e-12)
    same(gradients[0][0], np.zeros(4))
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("name", LINEAR)
def test_the_gradient_of_a_linear_row_does_not_depend_on_its_operands(name):
    @given(CASES[name], st.sampled_from((0.0, -0.0, inf, -inf, nan, TINY, HUGE)), seeds)
    def check(case, special, seed):
        def of(bases):
            leaves = [leaf(base) for base in bases]
            with np.errstate(all="ignore"):
                output = case.of_views(*leaves)
            g = np.random.default_rng(seed).standard_normal(output.shape)
            return [one.data for one in mg.gradients(output, leaves, g)]

        for one, other in zip(of([np.full(b.shape, special) for b in case.bases]), of(case.bases), strict=True):
            np.testing.assert_array_equal(one, other)

    check()


def test_every_row_of_the_table_has_its_special_values():
    pinned = {*(name.split()[0] for name in UNARY), *BINARY, *VECTORS, *PRODUCTS, *LINEAR, *ELSEWHERE}
    assert {name for name in TABLE if name in CASES} <= pinned
