"""What must not change when something else does: logits, and gradients of all parameters, whatever the config says.

Where the arrays that are multiplied have the same shapes, and what counts stands in the same places, bits are compared.
Elsewhere a product may be summed in another order: 1e-12 of the greatest number, in float64.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import arranged, batch_of, choices, columns, sentences
from tests.transformer.exactness import (
    assert_close,
    assert_same_bits,
    assert_same_bits_but_in_tables,
    gradients_of,
    logits_and_gradients,
)
from tests.transformer.models import small_model
from transformer.vocabulary import PAD

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("where", ["left", "inside", "right"])
@given(choices(), sentences(), seeds)
def test_padding_changes_nothing_wherever_it_stands(where, config, rows, seed):
    model, rng = small_model(**config), np.random.default_rng(seed)
    batch, sides = batch_of(rows), list(zip(*rows, strict=True))
    spread = [[columns(rng, len(ids), array.shape[1] + 3, where) for ids in side]
              for side, array in zip(sides, batch, strict=True)]  # fmt: skip
    spread[2] = spread[1]  # what follows a word stands at its place
    padded = [arranged(side, places) for side, places in zip(sides, spread, strict=True)]
    logits, *gradients = logits_and_gradients(model, *batch)
    logits_padded, *gradients_padded = logits_and_gradients(model, *padded)
    assert_close(gradients_padded, gradients)
    for row, places in enumerate(spread[1]):
        assert_close([logits_padded[row, places]], [logits[row, : len(places)]])


@given(choices(), sentences())
def test_a_row_alone_gives_what_it_gives_in_the_batch(config, rows):
    model, (source, target_in, target_out) = small_model(**config), batch_of(rows)
    together = model(source, target_in)
    for row, sentence in enumerate(rows):
        only = np.where(np.arange(len(rows))[:, None] == row, target_out, PAD)
        logits, *gradients = logits_and_gradients(model, *(ids[None] for ids in sentence))
        assert_close([logits[0]], [together.data[row, : len(sentence[1])]])
        assert_close(gradients, gradients_of(model, together, only))


@given(choices(), sentences(), seeds)
def test_the_order_of_the_rows_is_that_of_the_logits_and_changes_no_gradient(config, rows, seed):
    model, batch = small_model(**config), batch_of(rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    logits, *gradients = logits_and_gradients(model, *batch)
    mixed, *gradients_mixed = logits_and_gradients(model, *(ids[order] for ids in batch))
    assert_close([mixed, *gradients_mixed], [logits[order], *gradients])


@given(choices(), sentences(), st.integers(0, 4), seeds)
def test_what_comes_later_cannot_change_a_bit_of_what_is_before(config, rows, cut, seed):
    """Words and padding alike."""
    model, (source, target_in, target_out) = small_model(**config), batch_of(rows)
    cut = min(cut, target_in.shape[1] - 1)
    counted = np.where(np.arange(target_in.shape[1]) < cut, target_out, PAD)
    rng, changed = np.random.default_rng(seed), target_in.copy()
    later = changed[:, cut:].shape
    changed[:, cut:] = np.where(rng.random(later) < 0.3, PAD, rng.integers(4, 13, later))
    logits, *gradients = logits_and_gradients(model, source, target_in, counted)
    logits_changed, *gradients_changed = logits_and_gradients(model, source, changed, counted)
    found, expected = [logits_changed[:, :cut], *gradients_changed], [logits[:, :cut], *gradients]
    assert_same_bits_but_in_tables(model, found, expected)


@pytest.mark.parametrize("value", [1e30, np.inf, np.nan])
@given(choices(tied="none"), sentences())
def test_what_tables_hold_for_padding_cannot_change_a_bit(value, config, rows):
    """Of a tied table the output projection reads that row, as it must."""
    model, batch = small_model(**config), batch_of(rows)
    expected = logits_and_gradients(model, *batch)
    for embedding in (model.source_embedding, model.target_embedding):
        embedding.weight.data = np.vstack([np.full((1, config["d_model"]), value), embedding.weight.data[1:]])
    assert_same_bits(logits_and_gradients(model, *batch), expected)
    assert not any(gradient[PAD].any() for gradient in expected[1:3])  # of the two tables


@pytest.mark.parametrize("value", [1e30, np.inf, np.nan])
@given(choices(), sentences())
def test_memory_of_padding_cannot_change_a_bit_of_the_logits(value, config, rows):
    model, (source, target_in, _) = small_model(**config), batch_of(rows)
    memory = model.encode(source)
    hidden = mg.Tensor(np.where((source == PAD)[..., None], value, memory.data))
    with np.errstate(invalid="ignore", over="ignore"):  # the projections of what is hidden
        logits = model.decode(target_in, hidden, source).data
    assert_same_bits([logits], [model.decode(target_in, memory, source).data])


@given(choices(), sentences(), st.sets(st.integers(1, 4)))
def test_word_by_word_with_a_cache_is_all_at_once(config, rows, cuts):
    model, (source, target_in, target_out) = small_model(**config), batch_of(rows)
    cache, memory = model.new_cache(), model.encode(source)
    pieces = np.split(target_in, sorted(cut for cut in cuts if cut < target_in.shape[1]), axis=1)
    cached = mg.concatenate([model.decode(piece, memory, source, cache) for piece in pieces], axis=1)
    whole = logits_and_gradients(model, source, target_in, target_out)
    assert_close([cached.data, *gradients_of(model, cached, target_out)], whole)


@given(choices(), sentences(), seeds)
def test_a_cache_that_keeps_some_rows_goes_on_with_these(config, rows, seed):
    model, (source, target_in, _) = small_model(**config), batch_of(rows)
    kept = np.random.default_rng(seed).integers(0, len(rows), 4)  # in any order, and some twice
    cache, memory = model.new_cache(), model.encode(source)
    model.decode(target_in[:, :1], memory, source, cache)
    cache.keep(kept)
    for place in range(1, target_in.shape[1]):
        word = model.decode(target_in[kept, place : place + 1], memory[kept], source[kept], cache)
        assert_close([word.data], [model(source, target_in).data[kept, place : place + 1]])


@given(choices(), sentences(rows=4), st.integers(1, 3))
def test_gradients_of_micro_batches_add_up_to_those_of_the_whole_batch(config, rows, cut):
    """Each micro-batch is as long as its longest row."""
    model = small_model(**config)
    parts = [logits_and_gradients(model, *batch_of(part))[1:] for part in (rows[:cut], rows[cut:])]
    _, *whole = logits_and_gradients(model, *batch_of(rows))
    assert_close([first + second for first, second in zip(*parts, strict=True)], whole)


@given(choices(), sentences())
def test_encoding_first_and_decoding_after_is_the_whole_bit_by_bit(config, rows):
    model, (source, target_in, target_out) = small_model(**config), batch_of(rows)
    apart = model.decode(target_in, model.encode(source), source)
    whole = logits_and_gradients(model, source, target_in, target_out)
    assert_same_bits([apart.data, *gradients_of(model, apart, target_out)], whole)


@given(choices(), sentences())
def test_a_source_of_padding_alone_changes_no_bit_of_the_others(config, rows):
    """Their row's logits and gradients: those of a source of words in its place, which is asked for nothing either."""
    model, (source, target_in, target_out) = small_model(**config), batch_of(rows)
    empty, counted = source.copy(), target_out.copy()
    empty[1], counted[1] = PAD, PAD
    logits, *gradients = logits_and_gradients(model, source, target_in, counted)
    logits_beside, *gradients_beside = logits_and_gradients(model, empty, target_in, counted)
    assert np.isfinite(logits_beside).all()
    found, expected = [logits_beside[[0, 2]], *gradients_beside], [logits[[0, 2]], *gradients]
    assert_same_bits_but_in_tables(model, found, expected)
    assert all(np.isfinite(g).all() for g in logits_and_gradients(model, empty, target_in, target_out)[1:])
