"""Passes that fail on their way, and state that errors, generators and threads leave as it was."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import minigrad as mg
from minigrad.state import current


def leaf(values):
    return mg.Tensor(values, requires_grad=True, dtype=np.float64)


def refuse(gradient):
    raise ArithmeticError("no")


def two_branches():
    x = leaf([1.0, 2.0])
    early = mg.exp(x)
    late = mg.tanh(x)
    return x, early, (early * late).sum()


def test_a_pass_that_fails_writes_no_gradient_and_leaves_a_retained_graph_as_it_was():
    x, early, loss = two_branches()
    (right,) = mg.gradients(loss, [x])
    early.register_hook(refuse)
    with pytest.raises(ArithmeticError):
        loss.backward(retain_graph=True)
    assert x.grad is None
    early._node.hooks = ()
    loss.backward()
    np.testing.assert_array_equal(x.grad.data, right.data)


def test_a_pass_that_fails_has_released_what_it_went_through_and_a_second_one_says_so():
    x, early, loss = two_branches()
    handle = early.register_hook(refuse)
    with pytest.raises(ArithmeticError):
        loss.backward()
    handle.remove()
    with pytest.raises(mg.GraphError, match="or by one that failed; use retain_graph=True"):
        loss.backward()
    assert x.grad is None
    assert not early._node.released


def test_a_pass_that_fails_adds_nothing_to_gradients_that_are_there():
    x, early, loss = two_branches()
    x.grad = mg.Tensor([5.0, 5.0])
    early.register_hook(refuse)
    with pytest.raises(ArithmeticError):
        loss.backward()
    np.testing.assert_array_equal(x.grad.data, [5.0, 5.0])


def test_a_failed_pass_leaves_state_and_numpys_warnings_as_they_were():
    _, early, loss = two_branches()
    early.register_hook(refuse)
    state, warnings = current(), np.geterr()
    for create_graph in (False, True):
        with pytest.raises(ArithmeticError):
            loss.backward(create_graph=create_graph, retain_graph=True)
        with pytest.raises(ArithmeticError):
            mg.gradients(loss, [early], create_graph=create_graph)
    assert current() is state
    assert np.geterr() == warnings


def test_a_walk_that_is_left_early_leaves_nothing_behind():
    x, _, loss = two_branches()
    state, warnings = current(), np.geterr()
    stream = mg.walk(loss)
    next(stream)
    assert (current(), np.geterr()) == (state, warnings)
    stream.close()
    loss.backward()
    assert x.grad is not None


def test_anomaly_detection_in_one_thread_is_not_seen_by_others():
    def quiet(_):
        with np.errstate(all="ignore"):
            return mg.log(leaf([0.0])).data.item()

    with mg.detect_anomaly(), ThreadPoolExecutor(4) as threads:
        assert list(threads.map(quiet, range(20))) == [-np.inf] * 20
        with pytest.raises(mg.AnomalyError):
            quiet(0)


def test_hooks_of_one_graph_in_many_threads_each_see_their_own_pass():
    x = leaf(3.0)

    def one(i):
        seen = []
        y = x * float(i)
        with y.register_hook(seen.append):
            mg.gradients(y * float(i), [x])
        return seen[0].item()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, range(50))) == [float(i) for i in range(50)]


@pytest.mark.parametrize("shape", [(3,), (2, 1), (1, 2), ()])
def test_a_cotangent_of_another_shape_even_one_that_broadcasts_is_an_error(shape):
    x = leaf([1.0, 2.0])
    with pytest.raises(mg.ShapeError, match="cotangent's shape"):
        (x * 2.0).backward(np.ones(shape))
    with pytest.raises(mg.ShapeError, match="cotangent's shape"):
        mg.gradients(x * 2.0, [x], np.ones(shape))
    assert x.grad is None
