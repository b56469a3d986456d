"""einsum: every spelling is NumPy's, and what does not fit is refused by name."""

import numpy as np
import pytest

import minigrad as mg
from tests.minigrad.ops.test_values import same
from tests.minigrad.strategies import leaf

SPELLINGS = {
    "ij,jk->ik": ((2, 3), (3, 4)), "bij,bjk": ((5, 2, 3), (5, 3, 4)), "ii": ((3, 3),), "ii->i": ((3, 3),),
    "iji->j": ((3, 2, 3),), "iii->i": ((3, 3, 3),), "ba": ((2, 3),), "...ij->...ji": ((4, 2, 3),),
    "i...->...": ((2, 3),),
    "...,...": ((2, 3), (3,)), "...i,i": ((5, 2, 3), (3,)), "i,j,k->kji": ((2,), (3,), (4,)),
    " i j , j -> i ": ((2, 3), (3,)),
    "ij,jk,kl,l": ((2, 3), (3, 4), (4, 5), (5,)), "ij,ij->": ((1, 3), (2, 3)), ",": ((), ()), "->": ((),),
    "aij,bij->ab": ((2, 3, 4), (5, 3, 4)), "ij,k->j": ((2, 3), (4,)),
}  # fmt: skip


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_einsum(spelling, optimize):
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.standard_normal(shape)) for shape in SPELLINGS[spelling]]
    expected = np.einsum(spelling, *arrays)
    leaves = [leaf(array) for array in arrays]
    same(mg.einsum(spelling, *leaves, optimize=optimize), expected)
    same(np.einsum(spelling, *leaves, optimize=optimize), expected)
    same(mg.einsum(spelling, *arrays), expected)
    mg.check_grads(lambda *xs: mg.einsum(spelling, *xs, optimize=optimize), arrays, order=2, entries=3)


@pytest.mark.parametrize(
    ("spelling", "shapes", "why"),
    [
        ("ij,jk->ik", ((2, 3), (4, 5)), "index 'j' has sizes 3 and 4"),
        ("ij->i", ((2, 3), (2, 3)), "1 terms"),
        ("ijk->i", ((2, 3),), "does not name the axes"),
        ("ij->ik", ((2, 3),), "the result may name"),
        ("ij->ii", ((2, 3),), "the result may name"),
        ("i1->i", ((2, 3),), "letters"),
        ("ii->i", ((1, 3),), "index 'i' has sizes 1 and 3"),
    ],
)
def test_einsum_says_what_does_not_fit(spelling, shapes, why):
    with pytest.raises(mg.ShapeError, match=why):
        mg.einsum(spelling, *(leaf(np.ones(shape)) for shape in shapes))


def test_einsum_with_lists_is_refused():
    with pytest.raises(TypeError, match="form with lists"):
        np.einsum(leaf(np.ones((2, 3))), [0, 1], [0])
