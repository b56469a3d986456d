"""Multi-head attention against the formula written out with loops, and what it must refuse."""

import numpy as np
import pytest

import minigrad as mg
from transformer import MultiHeadAttention, capture
from transformer.masks import causal_mask, decoder_mask, padding_mask
from transformer.vocabulary import PAD


def module(d_model=12, heads=3):
    with mg.default_dtype("float64"):
        attention = MultiHeadAttention(d_model, heads, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for parameter in attention.parameters():
        parameter.data = parameter.data + 0.3 * rng.standard_normal(parameter.shape)
    return attention


def test_it_is_the_papers_formula_head_by_head():
    attention, rng = module(), np.random.default_rng(2)
    x, memory = rng.standard_normal((2, 4, 12)), rng.standard_normal((2, 5, 12))
    mask = rng.random((2, 1, 4, 5)) < 0.6
    mask[..., 0] = True
    heads = []
    for b in range(2):
        row = []
        for h in range(3):
            columns = slice(4 * h, 4 * h + 4)
            q, k, v = (
                source[b] @ layer.weight.data[:, columns] + layer.bias.data[columns]
                for source, layer in [(x, attention.query), (memory, attention.key), (memory, attention.value)]
            )
            scores = q @ k.T / np.sqrt(4)  # the root of the width of one head, not of the model
            weights = np.where(mask[b, 0], np.exp(scores), 0)
            row.append(weights / weights.sum(-1, keepdims=True) @ v)
        heads.append(np.concatenate(row, axis=-1))
    expected = np.stack(heads) @ attention.output.weight.data + attention.output.bias.data
    np.testing.assert_allclose(attention(mg.Tensor(x), mg.Tensor(memory), mask).data, expected, rtol=1e-12)


def test_the_fused_operation_is_the_parts_run_one_by_one():
    attention, rng = module(), np.random.default_rng(4)
    x, memory = (mg.Tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((2, 4, 12), (2, 5, 12)))
    mask = np.array([[True, True, False, True, False]])
    leaves = [x, memory, *attention.parameters()]

    def run():
        z = attention(x, memory, mask)
        return z, mg.gradients(z, leaves, np.random.default_rng(5).standard_normal(z.shape))

    fused, gradients = run()
    with capture(attention) as seen:
        parts, expected = run()
    assert set(seen) == {"query", "key", "value", "q", "k", "v", "scores", "pattern", "z", "out"}
    np.testing.assert_allclose(fused.data, parts.data, rtol=1e-12, atol=1e-14)
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one.data, other.data, rtol=1e-10, atol=1e-13)


def test_its_gradients_agree_with_finite_differences_in_every_argument():
    attention, rng = module(), np.random.default_rng(2)
    names = [name for name, _ in attention.named_parameters()]
    mask = np.array([[True, True, False, True, False]])

    def function(x, memory, *weights):
        for name, weight in zip(names, weights, strict=True):
            part, kind = name.split(".")
            object.__setattr__(getattr(attention, part), kind, weight)
        return attention(x, memory, mask)

    arrays = [parameter.data for parameter in attention.parameters()]
    mg.check_grads(function, [rng.standard_normal((2, 4, 12)), rng.standard_normal((2, 5, 12)), *arrays], entries=10)


@pytest.mark.parametrize("mask", [np.ones((4, 5)), np.ones((4, 5), int), np.zeros((4, 5), np.float32)])
def test_a_mask_that_is_not_boolean_is_refused(mask):
    attention = module()
    with pytest.raises(TypeError, match="boolean"):
        attention(mg.Tensor(np.ones((2, 4, 12))), mg.Tensor(np.ones((2, 5, 12))), mask)


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match=r"d_model=10 must be a multiple of heads=4"):
        MultiHeadAttention(10, 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"heads=4 must be a multiple of kv_heads=3"):
        MultiHeadAttention(8, 4, np.random.default_rng(0), kv_heads=3)


def test_masks_say_true_where_a_query_may_look():
    ids = np.array([[1, 5, 0, 6], [1, 7, 8, 0]])
    words = ids != PAD
    assert padding_mask(words).shape == (2, 1, 1, 4)
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(2, before=1).tolist() == [[True, True, False], [True, True, True]]
    mask = decoder_mask(words, 4)
    assert mask.shape == (2, 1, 4, 4)
    assert mask[0, 0, 3].tolist() == [True, True, False, True]  # itself and the past, but no padding
    assert mask[1, 0, 1].tolist() == [True, True, False, False]
    assert np.array_equal(decoder_mask(words, 2), mask[:, :, 2:])
    assert decoder_mask(np.ones((2, 3), bool), 3).tolist() == causal_mask(3).tolist()
