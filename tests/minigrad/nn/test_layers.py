"""Linear, Embedding, LayerNorm and dropout: what they compute, how they start, what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given

import minigrad as mg
from minigrad.nn import Embedding, LayerNorm, Linear, dropout, xavier_uniform
from tests.minigrad.operations import seeds
from tests.minigrad.strategies import numbers, shapes


@pytest.fixture(autouse=True)
def float64():
    with mg.default_dtype("float64"):
        yield


@given(shapes(max_dims=3, sizes=(2, 5, 6)), seeds)
def test_linear_is_x_times_weight_plus_bias(leading, seed):
    with mg.default_dtype("float64"):
        layer = Linear(3, 4, np.random.default_rng(seed))
    layer.bias.data = numbers((4,), seed)
    x = numbers((*leading, 3), seed)
    expected = np.einsum("...i,ij->...j", x, layer.weight.data) + layer.bias.data
    np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12, atol=1e-13)


def test_linear_without_bias_has_none():
    layer = Linear(3, 4, np.random.default_rng(0), bias=False)
    assert layer.bias is None
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    np.testing.assert_allclose(layer(np.eye(3)).data, layer.weight.data)


def test_linear_gradients_through_the_module():
    layer = Linear(3, 4, np.random.default_rng(0))

    def run(x, weight, bias):
        layer.weight, layer.bias = weight, bias
        return layer(x)

    mg.check_grads(run, [numbers((2, 3), 0), numbers((3, 4), 1), numbers((4,), 2)])


def test_xavier_is_uniform_within_its_bound_and_follows_its_generator():
    weight = xavier_uniform(np.random.default_rng(0), 200, 300)
    bound = math.sqrt(6 / 500)
    assert weight.shape == (200, 300)
    assert np.abs(weight.data).max() <= bound
    np.testing.assert_allclose(weight.data.std(), bound / math.sqrt(3), rtol=0.01)
    np.testing.assert_array_equal(weight.data, xavier_uniform(np.random.default_rng(0), 200, 300).data)


def test_embedding_gives_rows_and_their_gradients_add_up():
    table = Embedding(5, 3, np.random.default_rng(0))
    ids = np.array([[1, 4, 1], [0, 1, 4]])
    g = numbers((2, 3, 3), 1)
    out = table(ids)
    np.testing.assert_array_equal(out.data, table.weight.data[ids])
    out.backward(g)
    expected = np.zeros((5, 3))
    np.add.at(expected, ids, g)
    np.testing.assert_allclose(table.weight.grad.data, expected)
    assert table(mg.Tensor(ids)).shape == (2, 3, 3)
    assert table(2).shape == (3,)
    assert table([]).shape == (0, 3) if np.asarray([]).dtype.kind in "iu" else True


def test_embedding_starts_with_vectors_of_length_about_one():
    table = Embedding(1000, 64, np.random.default_rng(0))
    np.testing.assert_allclose(table.weight.data.std(), 64**-0.5, rtol=0.02)


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([0, 5], mg.OutOfRangeError, r"id 5 at \(1,\) is not one of the 5 in the table"),
        ([[0], [-1]], mg.OutOfRangeError, r"id -1 at \(1, 0\)"),
        ([0.0, 1.0], mg.DtypeError, "ids are integers, not float64"),
        ([True], mg.DtypeError, "ids are integers, not bool"),
    ],
)
def test_embedding_refuses_ids_that_it_does_not_have_and_names_the_first(ids, error, words):
    class Model(mg.nn.Module):
        def __init__(self):
            self.source = Embedding(5, 3, np.random.default_rng(0))

        def forward(self, ids):
            return self.source(ids)

    with pytest.raises(error, match=rf"^source: {words}"):
        Model()(ids)
    with pytest.raises(error, match=rf"^embedding: {words}"):
        Embedding(5, 3, np.random.default_rng(0))(ids)


def test_layer_norm_normalises_and_has_a_learnt_gain_and_bias():
    layer = LayerNorm(6, eps=1e-3)
    x = numbers((2, 3, 6), 0)
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(layer(x).data, normal, rtol=1e-12)
    layer.gain.data, layer.bias.data = numbers((6,), 1), numbers((6,), 2)
    np.testing.assert_allclose(layer(x).data, normal * layer.gain.data + layer.bias.data, rtol=1e-12)


def test_dropout_without_a_generator_is_x_itself():
    x = mg.Tensor(numbers((3, 4), 0))
    assert dropout(x, 0.5, None) is x
    assert dropout(x, 0.0, np.random.default_rng(0)) is x


def test_dropout_keeps_the_expectation_and_its_mask_for_backward():
    x = mg.Tensor(np.ones((200, 300)), requires_grad=True)
    y = dropout(x, 0.3, np.random.default_rng(0))
    kept = y.data != 0
    np.testing.assert_allclose(kept.mean(), 0.7, atol=0.01)
    np.testing.assert_allclose(y.data[kept], 1 / 0.7)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.data, y.data)
    again = dropout(x, 0.3, np.random.default_rng(0))
    np.testing.assert_array_equal(again.data, y.data)


def test_layers_have_the_default_dtype():
    for dtype in ("float32", "float64"):
        with mg.default_dtype(dtype):
            generator = np.random.default_rng(0)
            layers = (Linear(2, 3, generator), Embedding(2, 3, generator), LayerNorm(3))
        assert {parameter.dtype for layer in layers for parameter in layer.parameters()} == {np.dtype(dtype)}
