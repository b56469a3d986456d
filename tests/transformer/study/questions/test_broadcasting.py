"""Question 9: sums over broadcast axes, by loops over every index."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.study.questions.broadcasting import broadcast_shapes

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def gathered(before, shape):
    """What each number of an operand of this shape gets: the sum over all places at which broadcasting put it."""
    sums = np.zeros(shape)
    places = np.broadcast_to(np.arange(sums.size).reshape(shape), before.shape)
    for place, contribution in zip(places.flat, before.flat, strict=True):
        sums.flat[place] += contribution
    return sums


def expected(subject):
    """(operand's shape, contribution before it is summed, axes) of each row of the table."""
    logits = subject.trace.seen["logits"]
    rng = np.random.default_rng(0)
    column, row, _, g = (rng.standard_normal(shape) for shape in ((3, 1), 4, (), (3, 4)))
    by_column, by_row = (np.array([[g[i, j] * b for j, b in enumerate(row)] for i in range(3)]), g * column)
    return [
        ((logits.shape[-1],), logits.grad.data, (0, 1)),
        ((3, 1), by_column, (1,)),
        ((4,), by_row, (0,)),
        ((), g, (0, 1)),
    ]


def test_the_answer_says_the_same_in_both_languages(subject):
    check(broadcast_shapes(subject), 9)


def test_each_row_of_the_table(subject):
    (table,) = broadcast_shapes(subject).figures
    for cells, (shape, before, axes) in zip(table.rows, expected(subject), strict=True):
        after = gathered(before, shape)
        norms = [f"{np.linalg.norm(each):.3g}" for each in (before, after)]
        assert list(cells[1:]) == [str(shape), str(before.shape), str(axes), str(shape), *norms]


def test_the_bias_of_the_logits_has_the_tapes_gradient(subject):
    trace = subject.trace
    before = trace.seen["logits"].grad.data
    after = gathered(before, before.shape[-1:])
    np.testing.assert_allclose(after, trace.parameters["output.bias"], atol=1e-15)
    told = broadcast_shapes(subject).answer.en
    assert f"{before.shape} and norm {np.linalg.norm(before):.3g}: summed over axes (0, 1)" in told
    assert f"and norm {np.linalg.norm(after):.3g}. A new axis" in told
    assert float(told.split("at most ")[1].split(". Forget")[0]) <= 1e-14


def test_without_the_sum_the_bias_takes_the_logits_shape_and_no_error_comes(subject):
    trace = subject.trace
    stepped = trace.model.output.bias.data - 0.1 * trace.seen["logits"].grad.data
    assert broadcast_shapes(subject).answer.en.endswith(f"has the shape {stepped.shape}.")
