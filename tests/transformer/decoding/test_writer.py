"""What is written with a cache is what would be written without: the same logits at every step, for every config."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import choices, one_stack_choices
from tests.transformer.models import small_model
from transformer import DecoderOnly, OneStackConfig, Transformer, TransformerConfig
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy
from transformer.decoding.sampling import sample
from transformer.decoding.writer import log_probabilities
from transformer.vocabulary import BOS, EOS, PAD

CLOSE = {"float64": dict(rtol=1e-11, atol=1e-12), "float32": dict(rtol=1e-4, atol=1e-5)}


def randomised(model, seed):
    """The model with every parameter random."""
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = (parameter.data + 0.2 * rng.standard_normal(parameter.shape)).astype(parameter.dtype)
    return model


def padded_source(rng, where):
    """Three rows of 5 words and 2 places of padding."""
    words = rng.integers(4, 11, (3, 5))
    places = {"left": [0, 0], "inside": [2, 2], "right": [5, 5]}[where]
    return np.insert(words, places, PAD, axis=1)


def plain(logits):
    """The last position's logits, without what is never written."""
    last = logits.data[:, -1].copy()
    last[:, [PAD, BOS]] = -np.inf
    return last


@given(choices(), st.sampled_from(["left", "inside", "right"]), st.sampled_from(["float64", "float32"]), st.data())
@settings(max_examples=40)
def test_each_steps_logits_are_those_of_all_at_once_whatever_rows_go_on(config, where, dtype, data):
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    with mg.default_dtype(dtype):
        model = randomised(Transformer(TransformerConfig(**config)), seed)
    source = padded_source(rng, where)
    writer, begun = model.writer(source), np.full((3, 1), BOS)
    for _ in range(5):
        expected = plain(model.decode(begun, model.encode(source), source))
        np.testing.assert_allclose(writer.logits(), expected, **CLOSE[dtype])
        rows = rng.integers(0, len(begun), rng.integers(1, 5))  # in any order, more than once, some no more
        words = rng.integers(EOS, 13, len(rows))
        writer.write(rows, words)
        source, begun = source[rows], np.concatenate([begun[rows], words[:, None]], axis=1)


@given(one_stack_choices(), st.integers(0, 1000))
@settings(max_examples=30)
def test_prompts_of_different_lengths_go_on_as_each_would_alone(config, seed):
    rng = np.random.default_rng(seed)
    with mg.default_dtype("float64"):
        model = randomised(DecoderOnly(OneStackConfig(**config)), seed)
    prompt = rng.integers(4, 13, (3, 5))
    prompt[0, :3] = prompt[1, :1] = PAD
    writer = model.writer(prompt)
    begun = [row[row != PAD] for row in prompt]
    for _ in range(4):
        expected = np.concatenate([plain(model(row[None])) for row in begun])
        np.testing.assert_allclose(writer.logits(), expected, **CLOSE["float64"])
        rows, words = rng.permutation(len(begun)), rng.integers(4, 13, len(begun))
        writer.write(rows, words)
        begun = [np.append(begun[row], word) for row, word in zip(rows, words, strict=True)]


@pytest.mark.parametrize("seed", range(4))
def test_greedy_decoding_is_the_uncached_loop(seed):
    model, source = small_model(seed), padded_source(np.random.default_rng(seed), "inside")
    ids = np.full((3, 1), BOS)
    for _ in range(9):
        following = plain(model.decode(ids, model.encode(source), source)).argmax(-1)
        following[(ids == EOS).any(axis=1)] = PAD
        ids = np.concatenate([ids, following[:, None]], axis=1)
    written = greedy(model, source, 9)
    assert np.array_equal(written.ids, ids[:, 1 : 1 + written.ids.shape[1]])
    assert not ids[:, 1 + written.ids.shape[1] :].any()
    logits = model.decode(np.insert(written.ids, 0, BOS, axis=1)[:, :-1], model.encode(source), source).data.copy()
    logits[..., [PAD, BOS]] = -np.inf
    own = np.take_along_axis(log_probabilities(logits), written.ids[..., None], -1)[..., 0]
    np.testing.assert_allclose(written.log_probabilities, np.where(written.ids == PAD, 0, own), atol=1e-12)


@pytest.mark.parametrize("beam", [2, 3])
def test_generate_with_a_beam_gives_the_best_hypothesis(beam):
    model, source = small_model(4), padded_source(np.random.default_rng(4), "left")
    found = model.generate(source, 6, beam=beam, length_penalty=0.3)
    best = beam_search(model, source, beam, 6, 0.3)
    assert np.array_equal(found, best.ids[:, 0, : found.shape[1]])
    assert not best.ids[:, 0, found.shape[1] :].any()
    assert np.array_equal(model.generate(source, 6), greedy(model, source, 6).ids)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "decoder",
    [
        lambda model, source: model.generate(source, 4),
        lambda model, source: model.generate(source, 4, beam=2),
        lambda model, source: sample(model, source, 0, max_length=4),
    ],
    ids=["greedy", "beam", "sampling"],
)
def test_weights_that_are_not_finite_write_nothing(decoder, bad):
    model = small_model()
    model.output.bias.data = np.where(np.arange(13) == 7, bad, model.output.bias.data)
    with pytest.raises(ValueError, match=r"the logits of row 0 are (NaN|inf): no next word is the likeliest"):
        decoder(model, np.array([[4, 5], [6, 7]]))


def test_a_word_that_can_not_be_written_is_no_fault():
    model = small_model()
    model.output.bias.data = np.where(np.arange(13) == 7, -np.inf, model.output.bias.data)
    assert 7 not in model.generate(np.array([[4, 5], [6, 7]]), 6)


def test_a_prompt_that_ends_in_padding_is_refused():
    model = DecoderOnly(OneStackConfig(vocab=9, d_model=8, heads=2, layers=1, d_ff=8))
    with pytest.raises(ValueError, match="row 1 ends in padding; shorter prompts are padded on the left"):
        model.generate([[4, 5], [6, PAD]])


def test_a_cache_can_be_given_several_words_at_once():
    model, (source, target) = small_model(), (np.array([[4, 5, 6]]), np.array([[BOS, 5, 6, 7, 8, 9]]))
    memory, cache = model.encode(source), model.new_cache()
    parts = [model.decode(target[:, a:b], memory, source, cache).data for a, b in ((0, 2), (2, 5), (5, 6))]
    whole = model.decode(target, memory, source).data
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-12, atol=1e-13)


def test_a_call_that_is_refused_leaves_the_cache_as_it_was():
    model = DecoderOnly(OneStackConfig(vocab=9, d_model=8, heads=2, layers=1, d_ff=8))
    cache, whole = model.new_cache(), np.array([[4, 5, 6]])
    model.decode(whole[:, :2], cache)
    with pytest.raises(IndexError, match="id 99"):
        model.decode([[99]], cache)
    with pytest.raises(ValueError, match=r"this cache holds 1 rows, and 2 are to go on: keep\(rows\) first"):
        model.decode([[4], [5]], cache)
    np.testing.assert_allclose(model.decode(whole[:, 2:], cache).data, model(whole).data[:, 2:], rtol=1e-4, atol=1e-6)


def test_gradients_flow_through_a_cache():
    model, (source, target) = small_model(), (np.array([[4, 5, 6]]), np.array([[BOS, 5, 6, 7]]))
    weights = np.random.default_rng(0).standard_normal((1, 4, 13))

    def loss(*parts):
        memory, cache = model.encode(source), model.new_cache()
        logits = [model.decode(target[:, part], memory, source, cache) for part in parts]
        return (mg.concatenate(logits, axis=1) * weights).sum()

    whole = mg.gradients(loss(slice(0, 4)), model.parameters())
    steps = mg.gradients(loss(slice(0, 1), slice(1, 3), slice(3, 4)), model.parameters())
    for one, other in zip(whole, steps, strict=True):
        np.testing.assert_allclose(other.data, one.data, rtol=1e-10, atol=1e-11)


def test_no_gradient_is_recorded_while_writing():
    model = small_model()
    writer = model.writer(np.array([[4, 5]]))
    writer.logits()
    kept = [attention.kept for layer in writer._cache.layers for attention in vars(layer).values()]
    assert all(not part.requires_grad for pair in islice(kept, 4) for part in pair)
