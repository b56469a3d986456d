"""Comparing results: bit by bit, or within what another order of a sum's terms makes in float64."""

import numpy as np

import minigrad as mg
from transformer.vocabulary import PAD


def gradients_of(model, logits, target_out):
    """Of all parameters, of the sum of the cross-entropies of what is not padding."""
    loss = mg.cross_entropy(logits, target_out, ignore_index=PAD, reduction="sum")
    return [gradient.data for gradient in mg.gradients(loss, model.parameters())]


def logits_and_gradients(model, *batch):
    """In one list; the batch's last is what should follow, the others are the model's arguments."""
    logits = model(*batch[:-1])
    return [logits.data, *gradients_of(model, logits, batch[-1])]


def assert_same_bits(found, expected):
    """Arrays equal their partners; 0 equals -0."""
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def assert_close(found, expected):
    """Arrays equal their partners within 1e-12, or 1e-12 of the greatest number where that is more than 1."""
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max(initial=0) <= 1e-12 * np.abs(b).max(initial=1)


def assert_same_bits_but_in_tables(model, found, expected):
    """Logits and gradients; a table's gradient adds up rows by their ids, so other ids beside them may turn a last bit.

    So it is where those others add nothing but zeros: which rows are added first depends on how many there are.
    """
    table = [False, *("embedding" in name or "positions" in name for name, _ in model.named_parameters())]
    for compare, these in ((assert_same_bits, False), (assert_close, True)):
        compare(*([a for a, is_table in zip(each, table, strict=True) if is_table is these]
                  for each in (found, expected)))  # fmt: skip
