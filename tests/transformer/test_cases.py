"""Faults that users of Transformer code publicly reported: where each row of the list is tested.

A row's tests stand where its part is tested, and here where they would stand nowhere else.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer import MultiHeadAttention, Transformer, capture
from transformer.batching import make_batch
from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import sample
from transformer.evaluation import evaluate
from transformer.positions import sinusoids
from transformer.tasks import Pair
from transformer.vocabulary import BOS, EOS, PAD, Vocabulary

TESTS = Path(__file__).parents[1]
HERE = "transformer/test_cases.py"
MODEL = "transformer/test_model.py"
GRADIENTS = "transformer/test_gradients.py"
INVARIANCES = "transformer/test_invariances.py"
MASKS = "minigrad/ops/test_masks.py"

ROWS = {
    "1: every key of one item padded": [
        f"{MODEL}::test_a_source_of_padding_alone_is_finite_and_leaves_the_others_untouched",
        f"{INVARIANCES}::test_a_source_of_padding_alone_changes_no_bit_of_the_others",
        f"{MASKS}::test_a_fully_masked_query_leaves_the_others_as_they_would_be_without_it",
    ],
    "3: inf and NaN where a mask hides them, any value of the pad row": [
        f"{MASKS}::test_attention_is_blind_to_keys_values_and_queries_that_take_no_part",
        f"{INVARIANCES}::test_what_tables_hold_for_padding_cannot_change_a_bit",
        f"{INVARIANCES}::test_memory_of_padding_cannot_change_a_bit_of_the_logits",
    ],
    "5: a 0/1 float mask": [
        "transformer/test_attention.py::test_a_mask_that_is_not_boolean_is_refused",
        f"{MASKS}::test_a_mask_that_is_not_boolean_is_refused",
    ],
    "6: padding inside the row": [
        f"{INVARIANCES}::test_padding_changes_nothing_wherever_it_stands",
        "transformer/test_attention.py::test_masks_say_true_where_a_query_may_look",
    ],
    "7: source padding is not target padding": [f"{HERE}::test_row_7_each_side_has_its_own_padding"],
    "8: pad query rows": [f"{HERE}::test_row_8_what_stands_at_padding_cannot_reach_the_loss"],
    "10: y after position t": [
        f"{INVARIANCES}::test_what_comes_later_cannot_change_a_bit_of_what_is_before",
        f"{MODEL}::test_no_gradient_flows_from_a_position_to_later_words",
    ],
    "12: last columns all padded": [f"{HERE}::test_row_12_columns_of_padding_keep_their_length"],
    "13: encode together and apart": [
        f"{INVARIANCES}::test_a_row_alone_gives_what_it_gives_in_the_batch",
        f"{INVARIANCES}::test_encoding_first_and_decoding_after_is_the_whole_bit_by_bit",
    ],
    "15: attention of every layer and head": [f"{MODEL}::test_every_pattern_is_there_sums_to_one_and_made_the_output"],
    "16: one start id in training and decoding": [
        f"{HERE}::test_row_16_training_and_every_decoder_begin_with_the_same_word_which_is_not_padding"
    ],
    "17: uniform random targets": [
        f"{MODEL}::test_random_targets_cannot_be_learnt_below_ln_v_so_no_answer_leaks_through_the_shift"
    ],
    "20: metrics are free-running": [f"{HERE}::test_row_20_what_is_expected_cannot_help_to_write_it"],
    "22: odd d_model": [
        "transformer/test_positions.py::test_an_odd_width_ends_in_a_sine",
        f"{HERE}::test_row_22_a_whole_model_of_odd_width",
    ],
    "23: PE(p+k) is a fixed rotation of PE(p)": [
        "transformer/test_positions.py::test_a_shift_is_a_rotation_that_does_not_depend_on_where_it_starts"
    ],
    "24: a sequence longer than max_length": [
        "transformer/test_positions.py::test_the_table_grows_for_a_longer_sequence",
        "transformer/test_positions_added.py::test_a_sequence_longer_than_max_length_is_refused_with_both_numbers",
        "transformer/test_positions_added.py::test_other_choices_go_on_past_max_length",
    ],
    "27: layer norm": [
        "minigrad/nn/test_layers.py::test_layer_norm_normalises_and_has_a_learnt_gain_and_bias",
        f"{HERE}::test_row_27_layer_norm_of_two_numbers_by_hand",
    ],
    "29: post-norm has no second final norm": [
        f"{MODEL}::test_post_norm_has_no_last_norm_and_pre_norm_has_one",
        "transformer/test_reference.py::test_logits_are_the_papers_formulas",
        "transformer/test_paper_figure.py::test_a_pre_norm_model_has_its_own_figure",
    ],
    "31: layers of a stack": [
        f"{MODEL}::test_layers_start_different_and_share_nothing",
        f"{GRADIENTS}::test_every_parameter_gets_its_own_nonzero_gradient_but_the_key_biases",
    ],
    "33: post-norm without warm-up, 6 layers": [
        "demos/test_warmup.py::test_without_warm_up_post_norm_learns_next_to_nothing_and_with_it_does",
        "demos/test_warmup.py::test_post_norm_gradients_grow_towards_the_output_and_pre_norms_do_not",
    ],
    "34: scale of scores": [
        f"{HERE}::test_row_34_scores_of_eight_heads_are_divided_by_the_root_of_one_heads_width",
        "transformer/test_attention.py::test_it_is_the_papers_formula_head_by_head",
    ],
    "35: label smoothing with padding, V=2": [
        "minigrad/ops/test_cross_entropy.py::test_cross_entropy_is_its_definition_and_blind_to_ignored_rows",
        f"{HERE}::test_row_35_two_words_smoothed_by_hand_and_padding_left_out",
    ],
    "37: schedule at its first step": [
        "minigrad/optim/test_schedules.py::test_the_rate_is_equation_3",
        "minigrad/optim/test_schedules.py::test_steps_count_from_one",
    ],
    "38: micro-batches of unequal length": [
        f"{INVARIANCES}::test_gradients_of_micro_batches_add_up_to_those_of_the_whole_batch",
        "transformer/training/test_gradients.py::"
        "test_any_number_of_workers_find_the_loss_and_gradients_of_the_whole_batch",
    ],
    "39: tied weights": [
        f"{GRADIENTS}::test_tied_tables_have_one_gradient_that_is_the_sum_of_the_three_untied_ones",
        f"{GRADIENTS}::test_a_tie_survives_saving_and_loading_and_has_one_optimiser_slot",
    ],
    "42: beam search": [
        "transformer/decoding/test_beam.py::test_with_enough_beams_it_is_exhaustive_search",
        "transformer/decoding/test_beam.py::test_a_rows_result_does_not_depend_on_padding_or_on_the_other_rows",
        "transformer/decoding/test_beam.py::test_it_is_the_search_described_and_stopping_loses_nothing",
    ],
    "44: KV cache": [
        f"{INVARIANCES}::test_word_by_word_with_a_cache_is_all_at_once",
        f"{INVARIANCES}::test_a_cache_that_keeps_some_rows_goes_on_with_these",
    ],
    "45: dropout": [
        f"{MODEL}::test_dropout_only_with_a_generator_and_the_same_for_the_same_one",
        f"{GRADIENTS}::test_every_parameter_agrees_with_finite_differences",
        "minigrad/nn/test_layers.py::test_dropout_keeps_the_expectation_and_its_mask_for_backward",
    ],
    "46: stop at any step, resume": [
        "transformer/training/test_loop.py::test_a_run_that_was_interrupted_and_resumed_ends_bit_identical",
        "transformer/training/test_loop.py::test_a_run_that_died_and_was_resumed_ends_bit_identical",
    ],
    "50: d_model not divisible by heads": [
        "transformer/test_attention.py::test_heads_must_divide_the_width",
        "transformer/test_config.py::test_what_does_not_fit_is_refused_with_the_numbers",
    ],
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_tests_that_there_are(row):
    for name in ROWS[row]:
        path, _, function = name.partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert function in {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}, name


def test_row_7_each_side_has_its_own_padding():
    """Both vocabularies write padding as 0, and neither side's padding is taken for the other's."""
    model = small_model()
    source, target_in = np.array([[5, PAD, 6, 7]]), np.array([[BOS, 5, PAD, 6]])
    with model.capture() as seen:
        model(source, target_in)
    for stack, part, ids in (
        ("encoder", "self_attention", source),
        ("decoder", "cross_attention", source),
        ("decoder", "self_attention", target_in),
    ):
        pattern = seen[f"{stack}.layers.1.{part}.pattern"].data[0]
        assert not pattern[:, :, ids[0] == PAD].any()
        assert pattern[:, -1, ids[0] != PAD].all()
    for embedding, ids in (("source_embedding", source), ("target_embedding", target_in)):
        assert (seen[f"{embedding}.out"].data[0].any(axis=-1) == (ids[0] != PAD)).all()


def test_row_8_what_stands_at_padding_cannot_reach_the_loss():
    model, (source, target_in, target_out) = small_model(), small_batch()
    with model.capture() as seen:
        loss = mg.cross_entropy(model(source, target_in), target_out, ignore_index=PAD)
    places = {"source_positions.out": source, "encoder.out": source, "target_positions.out": target_in,
              "decoder.out": target_out, "logits": target_out}  # fmt: skip
    for name, ids in places.items():
        (gradient,) = mg.gradients(loss, [seen[name]])
        assert not gradient.data[ids == PAD].any(), name
        assert gradient.data[ids != PAD].any(), name


def test_row_12_columns_of_padding_keep_their_length():
    model, (source, target_in, _) = small_model(), small_batch()
    longer = [np.pad(ids, [(0, 0), (0, 3)], constant_values=PAD) for ids in (source, target_in)]
    logits, memory = model(*longer).data, model.encode(longer[0]).data
    assert logits.shape == (3, 10, 13)
    assert memory.shape == (3, 8, 12)
    np.testing.assert_allclose(logits[:, :7], model(source, target_in).data, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(memory[:, :5][source != PAD], model.encode(source).data[source != PAD], rtol=1e-11)


def test_row_16_training_and_every_decoder_begin_with_the_same_word_which_is_not_padding(monkeypatch):
    model, (source, _, _) = small_model(), small_batch()
    begun, decode = [], Transformer.decode
    monkeypatch.setattr(Transformer, "decode", lambda self, ids, *args: begun.append(ids) or decode(self, ids, *args))
    for write in (
        lambda: model.generate(source, max_length=2),
        lambda: beam_search(model, source, beams=2, max_length=2),
        lambda: sample(model, source, rng=0, max_length=2),
    ):
        begun.clear()
        write()
        assert np.asarray(begun[0])[:, 0].tolist() == [BOS] * len(begun[0])
    assert make_batch([([5], [6, 7]), ([5], [])]).target_in[:, 0].tolist() == [BOS, BOS]
    assert BOS != PAD


def test_row_20_what_is_expected_cannot_help_to_write_it():
    letters = Vocabulary("abcdefg")
    model = small_model(seed=14, source_vocab=len(letters), target_vocab=len(letters))
    model.output.bias.data = model.output.bias.data + 2.0 * (
        np.arange(len(letters)) == EOS
    )  # so that it comes to an end
    sources = [("a", "b", "c"), ("g", "f", "e")]
    first = evaluate(model, [Pair(source, source) for source in sources], letters, letters)
    written = [answer.written for answer in first.answers]
    assert all(len(text) > 1 for text in written)
    for expected, exact in ((written, 1.0), ([("g", *text[1:]) for text in written], 0.0)):
        score = evaluate(model, list(map(Pair, sources, expected)), letters, letters)
        assert [answer.written for answer in score.answers] == written
        assert score.exact_match == exact


def test_row_22_a_whole_model_of_odd_width():
    model, (source, target_in, _) = small_model(d_model=15), small_batch()
    source[source == PAD] = 4
    with model.capture() as seen:
        logits = model(source, target_in)
    assert np.isfinite(logits.data).all()
    added = seen["source_positions.out"].data - seen["source_embedding.out"].data
    np.testing.assert_allclose(added, np.broadcast_to(sinusoids(5, 15), (3, 5, 15)), atol=1e-14)
    np.testing.assert_allclose(added[0, :, 14], np.sin(np.arange(5) / 10000 ** (14 / 15)), atol=1e-14)


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_row_27_layer_norm_of_two_numbers_by_hand(eps):
    """(a, b) has the variance d^2 with d = (a - b) / 2 (biased; unbiased it would be 2 d^2): +-d / sqrt(d^2 + eps)."""
    gain, bias = np.array([1.7, -0.6]), np.array([0.2, 0.9])
    d = np.array([1.5, -0.01, 20.0])
    x = np.array([[3.0], [-1.0], [0.5]]) + d[:, None] * [1, -1]
    normal = d / np.sqrt(d**2 + eps)
    found = mg.layer_norm(mg.Tensor(x), mg.Tensor(gain), mg.Tensor(bias), eps=eps)
    np.testing.assert_allclose(found.data, normal[:, None] * [1, -1] * gain + bias, rtol=1e-12)


def test_row_34_scores_of_eight_heads_are_divided_by_the_root_of_one_heads_width():
    rng = np.random.default_rng(0)
    with mg.default_dtype("float64"):
        attention = MultiHeadAttention(72, 8, rng)
    x, memory = (mg.Tensor(rng.standard_normal(shape)) for shape in ((2, 3, 72), (2, 5, 72)))
    with capture(attention) as seen:
        attention(x, memory)
    q, k = (layer(part).data.reshape(2, -1, 8, 9) for layer, part in ((attention.query, x), (attention.key, memory)))
    np.testing.assert_allclose(seen["scores"].data, np.einsum("bqhd,bkhd->bhqk", q, k) / 3, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_row_35_two_words_smoothed_by_hand_and_padding_left_out(smoothing):
    """-(1 - e/2) log p of the right word - e/2 log p of the other; logits far apart make p of the other 0."""
    near, far = np.array([0.3, -0.4]), np.array([500.0, -500.0])
    logits, targets = np.array([near, far, [np.pi, 7.0], near]), np.array([1, 0, -1, 0])
    loss = mg.cross_entropy(mg.Tensor(logits), targets, ignore_index=-1, label_smoothing=smoothing)
    log_p = near - np.log(np.exp(near).sum())
    e = smoothing / 2
    by_hand = [-(1 - e) * log_p[1] - e * log_p[0], e * 1000.0, -(1 - e) * log_p[0] - e * log_p[1]]
    assert loss.item() == pytest.approx(np.mean(by_hand), rel=1e-12)
    without = mg.cross_entropy(mg.Tensor(logits[targets >= 0]), targets[targets >= 0], label_smoothing=smoothing)
    assert loss.item() == without.item()
