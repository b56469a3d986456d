"""A trace holds every activation and gradient, and finite differences of any element agree with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import choices
from tests.transformer.models import small_batch, small_model
from transformer import Transformer, TransformerConfig
from transformer.study.trace import differences, in_float64, losses, nudged, traced
from transformer.vocabulary import PAD


def one_sentence(model_seed=3, smoothing=0.1):
    model = small_model(seed=model_seed, dtype="float32")
    source, target_in, target = (ids[2:3] for ids in small_batch())
    return model, traced(model, source, target_in, target, smoothing)


def test_everything_is_float64_and_the_model_itself_is_left_as_it_was():
    model, trace = one_sentence()
    assert {parameter.dtype for parameter in model.parameters()} == {np.dtype(np.float32)}
    assert all(parameter.grad is None for parameter in model.parameters())
    assert {each.dtype for each in trace.seen.values()} == {np.dtype(np.float64)}
    assert {gradient.dtype for gradient in trace.parameters.values()} == {np.dtype(np.float64)}


def test_gradients_of_padded_batches_are_the_tapes():
    model = small_model()
    source, target_in, target = small_batch()
    trace = traced(model, source, target_in, target, 0.1)
    loss = mg.cross_entropy(model(source, target_in), target, ignore_index=PAD, label_smoothing=0.1)
    expected = mg.gradients(loss, model.parameters())
    assert float(trace.loss.data) == pytest.approx(float(loss.data), rel=1e-12)
    for found, gradient in zip(trace.parameters.values(), expected, strict=True):
        assert np.abs(found - gradient.data).max() <= 1e-12 * max(np.abs(gradient.data).max(), 1)


@settings(max_examples=6, deadline=None)
@given(choices(), st.integers(0, 2**32 - 1))
def test_differences_agree_with_the_gradient_at_any_element_of_any_activation(choice, seed):
    rng = np.random.default_rng(seed)
    model = Transformer(TransformerConfig(**choice), rng=seed)
    ids = rng.integers(4, 11, (1, 4)), rng.integers(4, 11, (1, 5)), rng.integers(4, 11, (1, 5))
    trace = traced(model, *ids)
    for name in rng.choice([*trace.seen], 6, replace=False):
        if name.endswith("inner"):
            continue  # an element may stand on the ReLU's kink
        gradient = trace.seen[name].grad.data.reshape(-1)
        places = rng.permutation(gradient.size)[:5]
        # h^2 f''' and rounding / h, of losses near 3 and activations near 1
        assert np.abs(differences(trace, name, places) - gradient[places]).max() < 1e-6


def test_a_nudge_is_of_one_element_alone():
    _, trace = one_sentence()
    name = "decoder.layers.1.cross_attention.scores"
    moved = nudged(trace, name, 0.5)
    assert moved.shape == trace.seen[name].shape
    changed = trace.seen[name].data.copy()
    changed[0, 2, 3, 1] += 0.5
    with mg.no_grad(), trace.model.patch({name: changed}):
        logits = trace.model(trace.source, trace.target_in)
        loss = mg.cross_entropy(logits, trace.target, ignore_index=PAD, label_smoothing=0.1)
    assert moved[0, 2, 3, 1] == pytest.approx(float(loss.data), rel=1e-12)
    assert nudged(trace, name, 0.5, np.array([7, 3]))[1] == pytest.approx(moved.reshape(-1)[3], rel=1e-12)


def test_what_is_masked_can_be_nudged_without_any_effect():
    _, trace = one_sentence()
    name = "decoder.layers.0.self_attention.scores"
    later = np.triu(np.ones(trace.seen[name].shape[-2:], bool), k=1)
    moved = nudged(trace, name, 3.0)[0]
    assert np.ptp(moved[:, later]) < 1e-12  # bits may turn with a row's place in a batch
    assert np.ptp(moved[:, ~later]) > 1e-3


def test_losses_of_a_batch_are_refused_with_their_number():
    model = small_model()
    trace = traced(model, *small_batch())
    with pytest.raises(ValueError, match="3 sentences"):
        losses(trace, "logits", trace.seen["logits"].data)


def test_a_copy_in_float64_shares_no_parameter():
    model = small_model(dtype="float32")
    copy = in_float64(model)
    for one, other in zip(model.parameters(), copy.parameters(), strict=True):
        assert other.dtype == np.float64
        assert np.array_equal(one.data, other.data)
        assert not np.shares_memory(one.data, other.data)
