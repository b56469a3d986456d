"""Leaks: a healthy model has none, whatever its config; what is planted is found, and where it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import choices, one_stack_choices
from tests.transformer.models import small_model
from transformer import DecoderOnly, EncoderOnly, Transformer, TransformerConfig
from transformer.activations import patch
from transformer.config import OneStackConfig
from transformer.masks import causal_mask, padding_mask
from transformer.study.figures import Grid
from transformer.study.leaks import Place, leaks
from transformer.vocabulary import BOS, PAD

SOURCE = np.array([[5, PAD, 7, 8, PAD]])
TARGET = np.array([[BOS, 6, PAD, 9, 4, 11, PAD]])
PATTERN = "decoder.layers.1.self_attention.pattern"


@st.composite
def padded(draw, vocab, longest=6):
    """One sentence, (1, T), with at least one word, and padding anywhere."""
    words = draw(st.lists(st.integers(1, vocab - 1), min_size=1, max_size=4))
    ids = words + [PAD] * draw(st.integers(0, longest - len(words)))
    return np.array([draw(st.permutations(ids))])


def random_model(kind, config, seed):
    with mg.default_dtype("float64"):
        model = kind(config, rng=seed)
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape)
    return model


def is_clean(found, count):
    """Nothing leaks, and what may be seen was looked at: each word's logits owe something to the word itself."""
    assert found.clean
    assert found.largest == 0
    assert found.places == []
    assert sum(int(blocks.zero.sum()) for blocks in found.blocks.values()) == count


def sees_itself(blocks, ids):
    words = ids[0] != PAD
    assert (np.diag(blocks.norms)[words] > 0).all()
    assert np.diag(blocks.moved)[words].all()


@given(choices(), padded(11), padded(13), st.integers(0, 99))
def test_no_config_sees_words_to_come_or_padding(chosen, source, target_in, seed):
    model = small_model(seed, **chosen)
    found = leaks(model, source, target_in)
    words, length = target_in[0] != PAD, target_in.shape[1]
    pads_before = sum(int(words[u + 1 :].sum()) for u in np.flatnonzero(~words))
    is_clean(found, length * (length - 1) // 2 + pads_before + int(words.sum()) * int((source == PAD).sum()))
    sees_itself(found.blocks["target"], target_in)
    assert (found.blocks["source"].norms[words][:, source[0] != PAD] > 0).any()


@pytest.mark.parametrize("kind", [EncoderOnly, DecoderOnly])
@given(chosen=one_stack_choices(), ids=padded(13), seed=st.integers(0, 99))
def test_no_config_of_one_stack_does(kind, chosen, ids, seed):
    found = leaks(random_model(kind, OneStackConfig(**chosen), seed), ids)
    words, length = ids[0] != PAD, ids.shape[1]
    pads_before = sum(int(words[u + 1 :].sum()) for u in np.flatnonzero(~words))
    forbidden = length * (length - 1) // 2 + pads_before
    is_clean(found, forbidden if kind is DecoderOnly else int(words.sum()) * int((~words).sum()))
    sees_itself(found.blocks["input"], ids)


def test_norms_and_largest_numbers_are_those_of_the_whole_jacobian():
    model = small_model(d_model=6, layers=1)
    target_in = TARGET[:, :4]
    source, target = model.source_embedding(SOURCE).data, model.target_embedding(target_in).data

    def logits_of(source_vectors, target_vectors):
        with (
            patch(model.source_embedding, {"source_embedding.out": source_vectors}),
            patch(model.target_embedding, {"target_embedding.out": target_vectors}),
        ):
            return model(SOURCE, target_in)

    found = leaks(model, SOURCE, target_in)
    for name, whole in zip(found.blocks, mg.jacobian(logits_of, argnums=(0, 1))(source, target), strict=True):
        blocks = whole.data[0, :, :, 0]  # (T_t, V, T, D)
        assert np.allclose(found.blocks[name].norms, np.sqrt((blocks**2).sum(axis=(1, 3))), rtol=1e-12, atol=0)
        assert np.allclose(found.blocks[name].largest, np.abs(blocks).max(axis=(1, 3)), rtol=1e-12, atol=0)


def test_a_pattern_that_sees_the_next_word_is_found_at_each_next_word():
    model = small_model()
    ids = np.array([[BOS, 6, 9, 4, 11]])
    with model.patch({PATTERN: lambda pattern: pattern + 0.1 * np.eye(5, k=1)}):
        found = leaks(model, SOURCE, ids)
    assert found.places == [Place("target", t, t + 1) for t in range(4)]
    assert not found.clean
    blocks = found.blocks["target"]
    assert found.largest == blocks.largest[blocks.leaking].max() > 1e-3
    assert blocks.moved[blocks.leaking].all()
    assert "4 of " in repr(found)
    assert "logits 0 see target 1; logits 1 see target 2" in repr(found)
    assert leaks(model, SOURCE, ids).clean


def test_a_leak_too_small_for_its_square_or_for_any_bit_of_the_logits_is_found():
    model = small_model()
    with model.patch({PATTERN: lambda pattern: pattern + 1e-200 * np.eye(7, k=3)}):
        blocks = leaks(model, SOURCE, TARGET).blocks["target"]
    assert blocks.leaking[0, 3]
    assert 0 < blocks.largest[0, 3] < 1e-190
    assert blocks.norms[0, 3] == 0
    assert not blocks.moved[0, 3]


def test_a_mask_that_is_off_by_one_leaks_one_word_more_in_each_layer(monkeypatch):
    monkeypatch.setattr(
        "transformer.model.decoder_mask", lambda words, length: padding_mask(words) & np.tri(length, k=1, dtype=bool)
    )
    ids = np.array([[BOS, 6, 9, 4, 11]])
    found = leaks(small_model(), SOURCE, ids)
    assert found.places == [Place("target", t, u) for t in range(5) for u in range(t + 1, min(t + 3, 5))]


def test_padding_of_the_source_that_is_visible_is_found_in_its_columns(monkeypatch):
    monkeypatch.setattr("transformer.model.padding_mask", lambda words: padding_mask(np.ones_like(words)))
    found = leaks(small_model(), SOURCE, TARGET)
    assert found.places == [Place("source", t, u) for t in (0, 1, 3, 4, 5) for u in (1, 4)]
    blocks = found.blocks["source"]
    assert blocks.moved[blocks.leaking].all()
    assert (blocks.largest[blocks.leaking] > 0).all()


def test_padding_of_the_target_that_is_visible_is_found_behind_it(monkeypatch):
    monkeypatch.setattr("transformer.model.decoder_mask", lambda words, length: causal_mask(length))
    found = leaks(small_model(), SOURCE, TARGET)
    assert found.places == [Place("target", t, 2) for t in (3, 4, 5)]


def test_padding_that_an_encoder_only_model_sees_is_found(monkeypatch):
    monkeypatch.setattr("transformer.one_stack.padding_mask", lambda words: padding_mask(np.ones_like(words)))
    model = random_model(EncoderOnly, OneStackConfig(vocab=13, d_model=12, heads=3, layers=1, d_ff=20), 1)
    assert leaks(model, SOURCE).places == [Place("input", t, u) for t in (0, 2, 3) for u in (1, 4)]


class Peeks(Transformer):
    """Its logits depend on the next word's id, through no embedding: no derivative tells."""

    def forward(self, source, target_in, rng=None):
        following = np.append(target_in[:, 1:], np.zeros((len(target_in), 1), np.int64), axis=1)
        return super().forward(source, target_in, rng) + 1e-3 * following[:, :, None]


def test_what_is_seen_past_the_embeddings_is_found_by_value():
    model = Peeks(TransformerConfig(source_vocab=11, target_vocab=13, d_model=12, heads=3, layers=1, d_ff=20))
    found = leaks(model, SOURCE, TARGET)
    assert found.largest == 0
    assert found.places == [Place("target", t, t + 1) for t in range(6) if TARGET[0, t + 1] != PAD]


def test_a_model_in_float32_is_looked_at_in_a_copy_in_float64_and_without_ids_a_sentence_with_padding_is_taken():
    model = small_model(dtype="float32", positions="learned", max_length=6)
    found = leaks(model)
    assert found.clean
    assert model.output.weight.dtype == np.float32
    assert found.blocks["target"].norms.shape == (6, 6)
    assert found.blocks["source"].zero.any(axis=0).sum() == 2
    assert repr(found) == "Leaks(none: all 25 blocks that must be 0 are, and nothing that must not move does)"


def test_what_does_not_fit_is_refused():
    model = small_model()
    with pytest.raises(ValueError, match="give both, or neither"):
        leaks(model, SOURCE)
    with pytest.raises(ValueError, match="2 sentences in source; give one"):
        leaks(model, np.repeat(SOURCE, 2, axis=0), TARGET)
    decoder = DecoderOnly(OneStackConfig(vocab=13, d_model=12, heads=3, layers=1, d_ff=20))
    with pytest.raises(ValueError, match="DecoderOnly has one input; give it as `source`"):
        leaks(decoder, SOURCE, TARGET)


def test_figures_hatch_what_must_be_0_and_show_a_leak_among_it():
    """Rows of padding are left out, but for the one at which something leaks."""
    model = small_model()
    with model.patch({PATTERN: lambda pattern: pattern + 0.1 * np.eye(7, k=1)}):
        target, source = leaks(model, SOURCE, TARGET).figure(list("abcde"), list("stuvwxy"))
    assert isinstance(target, Grid)
    assert (target.columns, target.rows) == (list("stuvwxy"), list("stuvwx"))
    assert (source.columns, source.rows) == (list("abcde"), list("stvwx"))
    above = np.triu(np.ones((6, 7), bool), 1)
    above[3:, 2] = True  # padding
    above[[0, 2, 3, 4], [1, 3, 4, 5]] = False
    assert np.array_equal(target.hidden, above)
    assert (target.values[[0, 2, 3, 4], [1, 3, 4, 5]] > 0).all()
    assert np.array_equal(source.hidden, np.tile([False, True, False, False, True], (5, 1)))
    numbered, _ = leaks(model, SOURCE, TARGET).figure()
    assert numbered.rows == list("01345")
