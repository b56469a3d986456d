"""Each box of the hand derivation alone: against the product's own operation, and against the complex step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.exactness import assert_close
from tests.transformer.study.hand_cases import CASES
from transformer.study.hand import attention

TINY = 1e-20
"""The complex step: f(x + ih) has the derivative of f in its imaginary part, and nothing is subtracted."""
AT_MOST = 40
"""So many elements of an array are compared, taken at random; every one of a smaller array."""

boxes = pytest.mark.parametrize("box", CASES)
drawn = given(
    st.lists(st.integers(1, 7), min_size=6, max_size=6, unique=True),
    st.integers(0, 2**32 - 1).map(np.random.default_rng),
)


def made(box, sizes, rng):
    """The case, its arrays locked: no box writes into what it is given."""
    case = CASES[box](rng, *sizes)
    for array in case.arrays.values():
        array.setflags(write=False)
    return case


def pulled(case, rng):
    """The output, a random cotangent for it, and the gradients of all arrays by hand."""
    out, pull = case.forward(**case.arrays)
    cotangent = rng.standard_normal(np.shape(out))
    found = pull(cotangent)
    return out, cotangent, [found[name] for name in case.arrays]


@boxes
@drawn
def test_box_is_the_products_operation_and_so_are_its_gradients(box, sizes, rng):
    case = made(box, sizes, rng)
    out, cotangent, found = pulled(case, rng)
    tensors = {name: mg.Tensor(array, requires_grad=True) for name, array in case.arrays.items()}
    expected = case.product(**tensors)
    by_tape = mg.gradients(expected, list(tensors.values()), gradient=cotangent)
    assert_close([np.asarray(out), *found], [expected.data, *(gradient.data for gradient in by_tape)])


@settings(max_examples=5)
@boxes
@drawn
def test_gradients_of_a_box_are_its_complex_step(box, sizes, rng):
    case = made(box, sizes, rng)
    _, cotangent, found = pulled(case, rng)
    for name, gradient in zip(case.arrays, found, strict=True):
        array = case.arrays[name]
        which = rng.permutation(array.size)[:AT_MOST]
        expected = np.empty(len(which))
        for place, index in enumerate(zip(*np.unravel_index(which, array.shape), strict=True)):
            moved = array.astype(complex)
            moved[index] += 1j * TINY
            out, _ = case.forward(**case.arrays | {name: moved})
            expected[place] = np.sum(cotangent * np.imag(out)) / TINY
        assert_close([gradient.reshape(-1)[which]], [expected])


def test_what_nobody_may_see_reaches_no_output_and_no_gradient_of_attention():
    rng = np.random.default_rng(3)
    q, k, v, d_z = (rng.standard_normal((2, length, 5)) for length in (3, 4, 4, 3))
    mask = np.ones((3, 4), bool)
    mask[:, 1] = mask[2] = False

    def found():
        z, kept = attention.forward(q, k, v, mask)
        return z, *attention.backward(d_z, kept)

    before = found()
    k[:, 1], v[:, 1], q[:, 2] = np.nan, np.inf, -np.inf
    for a, b in zip(before, found(), strict=True):
        assert np.array_equal(a, b)
    z, d_q, d_k, d_v, d_scores, _ = before
    assert not z[:, 2].any()
    assert not d_q[:, 2].any()
    assert not d_k[:, 1].any()
    assert not d_v[:, 1].any()
    assert not d_scores[:, ~mask].any()
