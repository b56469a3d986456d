"""Positions in a whole model: what it can tell apart, its gradients, its dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import batch_of, choices, sentences
from tests.transformer.models import small_batch, small_model
from transformer.config import CHOICES
from transformer.layers import View
from transformer.positions import in_self_attention
from transformer.vocabulary import BOS

WORDS = np.array([[4, 5, 6, 7, 8]])
ORDER = [3, 0, 4, 1, 2]


def memories(**changes):
    """The encoder's output of words in two orders, that of the second put back in the order of the first."""
    model = small_model(d_model=24, **changes)
    mixed = model.encode(WORDS[:, ORDER]).data
    return model.encode(WORDS).data, mixed[:, np.argsort(ORDER)]


def test_without_positions_source_words_in_another_order_are_the_same_memory_in_that_order():
    memory, mixed = memories(positions="none")
    np.testing.assert_allclose(mixed, memory, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("positions", [choice for choice in CHOICES["positions"] if choice != "none"])
def test_with_positions_the_order_counts(positions):
    memory, mixed = memories(positions=positions)
    assert (np.abs(mixed - memory).max(axis=(0, 2)) > 1e-4).all()


@pytest.mark.parametrize("cross_positions", ["rotary", "rotary_both_ends"])
def test_turned_cross_attention_tells_order_apart_where_the_encoder_can_not(cross_positions):
    changes = dict(d_model=24, heads=2, positions="none")
    plain, turned = small_model(**changes), small_model(**changes, cross_positions=cross_positions)
    in_order, mixed = (WORDS, [[BOS]]), (WORDS[:, ORDER], [[BOS]])
    np.testing.assert_allclose(plain(*mixed).data, plain(*in_order).data, rtol=1e-11, atol=1e-12)
    assert np.abs(turned(*mixed).data - turned(*in_order).data).max() > 1e-4


@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_where_differences_of_places_count_a_sentence_may_stand_anywhere(positions):
    model = small_model(d_model=24, positions=positions)
    x = mg.Tensor(np.random.default_rng(0).standard_normal((2, 5, 24)))
    here, there = (
        model.encoder(x, View(None, in_self_attention(model.config, places, places, x.dtype)), None).data
        for places in (np.arange(5), np.arange(40, 45))
    )
    np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-11)
    mixed = in_self_attention(model.config, np.arange(5)[ORDER], np.arange(5)[ORDER], x.dtype)
    assert np.abs(model.encoder(x, View(None, mixed), None).data - here).max() > 1e-4


@settings(max_examples=settings().max_examples * 2)
@given(choices(feed_forward="swiglu", dropout=0.2), sentences(), st.integers(0, 2**32 - 1))
def test_gradients_are_the_slopes_in_a_random_direction_whatever_the_config_says(config, rows, seed):
    """The slope is (4 (f(h) - f(-h)) - (f(2h) - f(-2h)) / 2) / 6h, but for h^4. Dropout and places are drawn alike."""
    model, (source, target_in, _) = small_model(**config), batch_of(rows)
    rng = np.random.default_rng(seed)
    cotangent = rng.standard_normal((*target_in.shape, 13))
    directions = [rng.standard_normal(parameter.shape) for parameter in model.parameters()]
    start = [parameter.data for parameter in model.parameters()]

    def value(step):
        for parameter, origin, direction in zip(model.parameters(), start, directions, strict=True):
            parameter.data = origin + step * direction
        return (model(source, target_in, np.random.default_rng(seed)) * cotangent).sum()

    found = sum((g.data * d).sum() for g, d in zip(mg.gradients(value(0), model.parameters()), directions, strict=True))
    f = {k: value(k * 3e-6).item() for k in (-2, -1, 1, 2)}
    expected = (4 * (f[1] - f[-1]) - (f[2] - f[-2]) / 2) / 18e-6
    assert abs(found - expected) < 1e-6 * max(1, abs(expected))


@pytest.mark.parametrize("cross_positions", CHOICES["cross_positions"])
@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_a_float32_model_stays_one(positions, cross_positions):
    model = small_model(dtype="float32", d_model=24, heads=2, positions=positions, cross_positions=cross_positions)
    for parameter in model.parameters():
        parameter.data = parameter.data.astype(np.float32)
    source, target_in, _ = small_batch()
    with model.capture() as seen:
        logits = model(source, target_in)
    assert {tensor.dtype for tensor in seen.values()} == {np.dtype(np.float32)}
    assert {g.dtype for g in mg.gradients((logits * logits).sum(), model.parameters())} == {np.dtype(np.float32)}
    wide = small_model(d_model=24, heads=2, positions=positions, cross_positions=cross_positions)
    wide.load_state_dict({name: p.data.astype(np.float64) for name, p in model.named_parameters()})
    np.testing.assert_allclose(logits.data, wide(source, target_in).data, rtol=1e-4, atol=1e-4)
