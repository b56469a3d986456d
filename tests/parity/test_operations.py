"""Every operation that torch has, too: value, gradient and second derivative, over drawn shapes, in float64."""

import pytest
from hypothesis import given

import minigrad as mg
from tests.minigrad.operations import seeds
from tests.parity import arrays, elementwise, neural, reductions
from tests.parity.comparison import assert_agree

WITHOUT = {"attention_steps"}
"""Public functions that are compared through others: attention_steps is what `attention` records under unfused()."""

PAIRS = elementwise.PAIRS | reductions.PAIRS | arrays.PAIRS | neural.PAIRS


def test_every_public_operation_is_compared():
    assert set(mg.ops.__all__) - WITHOUT == set(PAIRS)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_agrees_with_torch(name):
    @given(PAIRS[name], seeds)
    def check(pair, seed):
        assert_agree(pair, seed)

    check()


@pytest.mark.parametrize("name", sorted(reductions.MASKED))
def test_agrees_with_torch_where_a_mask_says_so(name):
    @given(reductions.MASKED[name], seeds)
    def check(pair, seed):
        assert_agree(pair, seed)

    check()


@pytest.mark.parametrize("name", sorted(neural.PAIRS))
def test_agrees_with_torch_unfused(name):
    @given(PAIRS[name], seeds)
    def check(pair, seed):
        with mg.unfused():
            assert_agree(pair, seed)

    check()
