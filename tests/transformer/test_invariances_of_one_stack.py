"""The same of models of one stack: what must not change a word's logits, nor the gradients of any parameter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import arranged, columns, one_stack_choices
from tests.transformer.exactness import (
    assert_close,
    assert_same_bits,
    assert_same_bits_but_in_tables,
    gradients_of,
    logits_and_gradients,
)
from transformer.config import OneStackConfig
from transformer.one_stack import DecoderOnly, EncoderOnly
from transformer.vocabulary import PAD

KINDS = pytest.mark.parametrize("kind", [EncoderOnly, DecoderOnly])
seeds = st.integers(0, 2**32 - 1)


def model_of(kind, config):
    """Every parameter random, so that no gain is 1 and no bias is 0."""
    with mg.default_dtype("float64"):
        model = kind(OneStackConfig(**config), rng=1)
    rng = np.random.default_rng(1)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape)
    return model


def rows_of(rng):
    """Three rows of (ids, what each is to be told apart as), not padded, and their batch, padded on the right."""
    rows = [tuple(rng.integers(4, 13, (2, length))) for length in rng.integers(1, 7, 3)]
    return rows, [arranged(side, [np.arange(len(ids)) for ids in side]) for side in zip(*rows, strict=True)]


@KINDS
@pytest.mark.parametrize("where", ["left", "inside", "right"])
@given(one_stack_choices(), seeds)
def test_padding_changes_nothing_wherever_it_stands(kind, where, config, seed):
    model, rng = model_of(kind, config), np.random.default_rng(seed)
    rows, batch = rows_of(rng)
    places = [columns(rng, len(ids), batch[0].shape[1] + 3, where) for ids, _ in rows]
    padded = [arranged(side, places) for side in zip(*rows, strict=True)]
    logits, *gradients = logits_and_gradients(model, *batch)
    logits_padded, *gradients_padded = logits_and_gradients(model, *padded)
    assert_close(gradients_padded, gradients)
    for row, these in enumerate(places):
        assert_close([logits_padded[row, these]], [logits[row, : len(these)]])


@KINDS
@given(one_stack_choices(), seeds)
def test_rows_alone_and_in_another_order_give_what_they_give_in_the_batch(kind, config, seed):
    model, rng = model_of(kind, config), np.random.default_rng(seed)
    rows, batch = rows_of(rng)
    whole = logits_and_gradients(model, *batch)
    order = rng.permutation(3)
    mixed = logits_and_gradients(model, *(ids[order] for ids in batch))
    assert_close(mixed, [whole[0][order], *whole[1:]])
    alone = [logits_and_gradients(model, *(ids[None] for ids in row)) for row in rows]
    for row, (logits, *_) in enumerate(alone):
        assert_close([logits[0]], [whole[0][row, : logits.shape[1]]])
    assert_close([sum(parts) for parts in zip(*(each[1:] for each in alone), strict=True)], whole[1:])


@KINDS
@pytest.mark.parametrize("value", [1e30, np.inf, np.nan])
@given(one_stack_choices(tied="none"), seeds)
def test_what_the_table_holds_for_padding_cannot_change_a_bit(kind, value, config, seed):
    model = model_of(kind, config)
    _, batch = rows_of(np.random.default_rng(seed))
    expected = logits_and_gradients(model, *batch)
    table = model.embedding.weight
    table.data = np.vstack([np.full((1, config["d_model"]), value), table.data[1:]])
    assert_same_bits(logits_and_gradients(model, *batch), expected)
    assert not expected[1][PAD].any()


@given(one_stack_choices(), st.integers(0, 5), seeds)
def test_what_comes_later_cannot_change_a_bit_of_what_is_before(config, cut, seed):
    model, rng = model_of(DecoderOnly, config), np.random.default_rng(seed)
    _, (ids, following) = rows_of(rng)
    cut = min(cut, ids.shape[1] - 1)
    following[:, cut:] = PAD
    changed = ids.copy()
    later = changed[:, cut:].shape
    changed[:, cut:] = np.where(rng.random(later) < 0.3, PAD, rng.integers(4, 13, later))
    logits, *gradients = logits_and_gradients(model, ids, following)
    logits_changed, *gradients_changed = logits_and_gradients(model, changed, following)
    found, expected = [logits_changed[:, :cut], *gradients_changed], [logits[:, :cut], *gradients]
    assert_same_bits_but_in_tables(model, found, expected)


@given(one_stack_choices(), seeds)
def test_in_an_encoder_every_word_counts_for_every_other(config, seed):
    model, ids = model_of(EncoderOnly, config), np.array([[4, 5, 6, 7]])
    changed = ids.copy()
    changed[0, np.random.default_rng(seed).integers(4)] = 9
    assert (np.abs(model(changed).data - model(ids).data)[0].max(axis=-1) > 1e-9).all()


@given(one_stack_choices(), st.sets(st.integers(1, 5)), st.sampled_from(["left", "inside", "right"]), seeds)
def test_word_by_word_with_a_cache_is_all_at_once(config, cuts, where, seed):
    model, rng = model_of(DecoderOnly, config), np.random.default_rng(seed)
    rows, batch = rows_of(rng)
    places = [columns(rng, len(ids), batch[0].shape[1] + 2, where) for ids, _ in rows]
    ids, following = (arranged(side, places) for side in zip(*rows, strict=True))
    cache = model.new_cache()
    pieces = np.split(ids, sorted(cut for cut in cuts if cut < ids.shape[1]), axis=1)
    cached = mg.concatenate([model.decode(piece, cache) for piece in pieces], axis=1)
    assert_close([cached.data, *gradients_of(model, cached, following)], logits_and_gradients(model, ids, following))
