"""A module's parameters: where they are found, what they are called, how they are replaced."""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import Linear, Module, Parameter
from tests.minigrad.nn.modules import model_of


@pytest.fixture
def x():
    return mg.Tensor([1.0])


def test_a_shared_parameter_keeps_its_first_name_and_is_listed_once():
    class Tied(Module):
        def __init__(self):
            self.embedding = mg.nn.Embedding(3, 2, np.random.default_rng(0))
            self.output = Linear(2, 3, np.random.default_rng(0), bias=False)
            self.output.weight = self.embedding.weight

    model = Tied()
    assert list(model.state_dict()) == ["embedding.weight"]
    assert model.output.weight.name == "embedding.weight"


def test_parameters_in_lists_tuples_and_dictionaries_are_found(x):
    class Model(Module):
        def __init__(self):
            self.weights = [Parameter([2.0]), Parameter([3.0])]
            self.more = {"a": (Parameter([4.0]),)}

        def forward(self, x):
            for weight in (*self.weights, *self.more["a"]):
                x = x * weight
            return x

    class Outer(Module):
        def __init__(self):
            self.inner = Model()
            self.inner.weights.append(Parameter([5.0]))

        def forward(self, x):
            return self.inner(x)

    model = Outer()
    names = ["inner.weights.0", "inner.weights.1", "inner.weights.2", "inner.more.a.0"]
    assert [name for name, _ in model.named_parameters()] == names
    model(x).sum().backward()
    assert [parameter.name for parameter in model.parameters()] == names
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_zero_grad_forgets_all_gradients():
    model = model_of(0)
    model(np.ones((2, 3), np.float32)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    model.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_replaced_parameter_has_the_name_and_the_old_one_is_not_listed():
    layer = Linear(2, 3, np.random.default_rng(0))
    layer.weight = Parameter(np.zeros((2, 3)))
    assert layer.weight.name == "weight"
    assert len(layer.parameters()) == 2
    layer.bias = None
    assert len(layer.parameters()) == 1


def test_a_name_that_the_user_gave_is_kept():
    class Model(Module):
        def __init__(self):
            self.weight = Parameter([1.0], name="mine")

    model = Model()
    assert model.weight.name == "mine"
    assert list(model.state_dict()) == ["weight"]


def test_a_parameter_is_floating():
    with pytest.raises(mg.DtypeError, match="can't have a gradient"):
        Parameter([1, 2])
    assert Parameter([1.0]).requires_grad
    assert Parameter([1], dtype=np.float64).dtype == np.float64


def test_a_replaced_parameter_is_let_go():
    class Layer(mg.nn.Module):
        def __init__(self):
            self.weight = mg.nn.Parameter([1.0])

    gc.disable()
    try:
        layer = Layer()
        old = weakref.ref(layer.weight)
        layer.weight = mg.nn.Parameter([2.0])
        assert old() is None
        assert layer.weight.name == "weight"
    finally:
        gc.enable()
