"""Contract 6: nothing recurses. A chain of 50,000 operations goes forward, backward, is freed, copied and printed."""

import copy
import gc
import inspect
import pickle
import sys
import weakref

import numpy as np
import pytest

import minigrad as mg

LENGTH = 50_000


@pytest.fixture
def without_gc():
    gc.collect()
    gc.disable()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200 + len(inspect.stack()))
    yield
    sys.setrecursionlimit(limit)
    gc.enable()


def chain(x, length=LENGTH):
    """x + 1 + 1 + ..."""
    for _ in range(length):
        x = x + 1.0
    return x


def test_a_chain_of_50_000_operations(without_gc):
    """Row 38. With the garbage collector off: what is freed is freed by reference counts, one after the other."""
    x = mg.Tensor(0.0, requires_grad=True)
    y = chain(x)
    assert y.item() == LENGTH
    repr(y), repr(y._node), copy.deepcopy(y), pickle.dumps(y), hash(y), f"{y:.1f}"
    y.backward(retain_graph=True)
    assert x.grad.item() == 1.0
    x.grad = None
    y.backward()
    assert x.grad.item() == 1.0
    first = weakref.ref(x._node)
    del x, y
    assert first() is None


def test_a_deep_chain_through_create_graph(without_gc):
    x = mg.Tensor(1.0, requires_grad=True, dtype=np.float64)
    y = x
    for _ in range(3_000):
        y = y * x
    (first,) = mg.gradients(y, [x], create_graph=True)
    assert first.item() == 3_001
    del first, y


def test_a_wide_and_deep_graph_is_walked_once_a_node(without_gc):
    """z = z + z doubles the paths, not the nodes: 2**60 paths are 60 steps."""
    x = mg.Tensor(1.0, requires_grad=True, dtype=np.float64)
    z = x
    for _ in range(60):
        z = z + z
    assert len(list(mg.walk(z))) == 61
    z.backward()
    assert x.grad.item() == 2.0**60


def test_a_deep_chain_of_fused_operations_is_freed(without_gc):
    x = mg.Tensor(np.ones(3), requires_grad=True)
    y = x
    for _ in range(5_000):
        y = mg.softmax(y)
    with mg.unfused():
        for _ in range(1_000):
            y = mg.softmax(y)
    y.sum().backward()
    del y
