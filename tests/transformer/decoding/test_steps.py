"""The probabilities shown are those that greedy decoding chooses from."""

import numpy as np
import pytest

import minigrad as mg
from transformer import Transformer, TransformerConfig
from transformer.decoding.steps import next_token_probabilities
from transformer.vocabulary import BOS, EOS, PAD


@pytest.fixture(scope="module")
def model():
    config = TransformerConfig(source_vocab=11, target_vocab=13, d_model=16, heads=2, layers=2, d_ff=32)
    return Transformer(config, rng=5)


SOURCES = [list(row) for row in np.random.default_rng(1).integers(3, 11, (6, 5))]


@pytest.mark.parametrize("source", SOURCES)
def test_the_chosen_ids_are_what_generate_writes(model, source):
    chosen = [number for number, _ in next_token_probabilities(model, source, max_length=9)]
    written = model.generate(np.array([source]), max_length=9)[0]
    assert chosen == [number for number in written.tolist() if number != PAD]


@pytest.mark.parametrize("source", SOURCES)
def test_each_step_is_a_distribution_whose_likeliest_is_chosen(model, source):
    for chosen, probabilities in next_token_probabilities(model, source, max_length=9):
        assert probabilities.shape == (13,)
        assert probabilities.dtype == np.float64
        assert probabilities.sum() == pytest.approx(1.0)
        assert chosen == probabilities.argmax()
        assert probabilities[PAD] == probabilities[BOS] == 0.0


def test_the_probabilities_are_the_softmax_of_the_models_own_logits(model):
    source, steps = SOURCES[0], list(next_token_probabilities(model, SOURCES[0], max_length=4))
    target_in = [BOS, *(chosen for chosen, _ in steps[:-1])]
    logits = model(np.array([source]), np.array([target_in])).data[0].astype(np.float64)
    logits[:, [PAD, BOS]] = -np.inf
    expected = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose([probabilities for _, probabilities in steps], expected, rtol=1e-5)


def test_it_ends_with_the_end_or_at_the_longest(model):
    model.output.bias.data = np.where(np.arange(13) == EOS, 50.0, 0.0).astype(np.float32)
    assert [chosen for chosen, _ in next_token_probabilities(model, SOURCES[0], 9)] == [EOS]
    model.output.bias.data = np.where(np.arange(13) == 7, 50.0, 0.0).astype(np.float32)
    assert [chosen for chosen, _ in next_token_probabilities(model, SOURCES[0], 4)] == [7, 7, 7, 7]


def test_recording_is_off_inside_and_unchanged_between_the_steps(model):
    x = mg.Tensor([1.0], requires_grad=True)
    for _ in next_token_probabilities(model, SOURCES[0], max_length=2):
        assert (x * 2.0).requires_grad
