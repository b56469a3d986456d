"""A module's state: all parameters by name, given out and taken in."""

import numpy as np
import pytest

import minigrad as mg
from tests.minigrad.nn.modules import NAMES, model_of


def test_state_dict_round_trip():
    one, other = model_of(0), model_of(1)
    state = one.state_dict()
    assert list(state) == NAMES
    assert not any(array.flags.writeable for array in state.values())
    other.load_state_dict(state)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(one(x).data, other(x).data)
    one.first.weight.data = np.zeros((3, 4))
    assert state["first.weight"].any()
    assert other.first.weight.data.any()


def test_a_state_may_hold_tensors_and_other_floating_dtypes_and_parameters_keep_theirs():
    model = model_of(0)
    model.load_state_dict({name: mg.Tensor(array.astype(np.float64) + 1) for name, array in model.state_dict().items()})
    assert model.first.bias.dtype == np.float32
    np.testing.assert_array_equal(model.first.bias.data, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state: state.pop("first.bias"), "first.bias is missing"),
        (lambda state: state.update(extra=np.ones(1)), "extra is not known"),
        (lambda state: state.update({"last.weight": np.ones((2, 4))}), r"last.weight has shape \(2, 4\), not \(4, 2\)"),
        (lambda state: state.update({"first.bias": np.ones(4, int)}), "first.bias has dtype int64, not a floating one"),
        (lambda state: [state.pop(name) for name in NAMES[:5]], "is missing; .* and 2 more"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing_and_says_why(change, words):
    model = model_of(0)
    before = {name: array.copy() for name, array in model.state_dict().items()}
    state = {name: array + 1 for name, array in before.items()}
    change(state)
    with pytest.raises(mg.CheckpointError, match=words):
        model.load_state_dict(state)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
