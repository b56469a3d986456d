import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.batching import make_batch, pad
from transformer.vocabulary import BOS, EOS, PAD

ids = st.integers(3, 1000)
sequences = st.lists(st.lists(ids, max_size=9), min_size=1, max_size=7)
pairs = st.lists(st.tuples(st.lists(ids, min_size=1, max_size=9), st.lists(ids, max_size=9)), min_size=1, max_size=7)


@given(sequences, st.integers(-5, 5))
def test_pad_keeps_every_sequence_and_fills_on_the_right(rows: list[list[int]], value: int) -> None:
    padded = pad(rows, value)
    assert padded.dtype == np.int64
    assert padded.shape == (len(rows), max(map(len, rows)))
    for row, padded_row in zip(rows, padded, strict=True):
        assert padded_row[: len(row)].tolist() == row
        assert (padded_row[len(row) :] == value).all()


def test_pad_fills_with_the_pad_id_unless_told() -> None:
    assert pad([[5, 6], [7]]).tolist() == [[5, 6], [7, PAD]]


@given(pairs)
def test_target_is_fed_shifted_right_and_ends_with_eos(examples: list[tuple[list[int], list[int]]]) -> None:
    batch = make_batch(examples)
    assert len(batch) == len(examples)
    assert batch.target_in.shape == batch.target_out.shape
    rows = zip(examples, batch.source, batch.target_in, batch.target_out, strict=True)
    for (source, target), source_row, in_row, out_row in rows:
        assert source_row[source_row != PAD].tolist() == source
        assert in_row[: len(target) + 1].tolist() == [BOS, *target]
        assert out_row[: len(target) + 1].tolist() == [*target, EOS]
        assert (in_row[len(target) + 1 :] == PAD).all()
        assert (out_row[len(target) + 1 :] == PAD).all()


@given(pairs)
def test_a_batch_is_frozen_int64(examples: list[tuple[list[int], list[int]]]) -> None:
    batch = make_batch(examples)
    for field in dataclasses.fields(batch):
        array = getattr(batch, field.name)
        assert array.dtype == np.int64
        assert not array.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.source = batch.target_in  # type: ignore[misc]


def test_nothing_to_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="empty batch"):
        pad([])
    with pytest.raises(ValueError, match="no pairs"):
        make_batch([])
    with pytest.raises(ValueError, match=r"pair 1 .*empty source"):
        make_batch([([4], [5]), ([], [5])])


@given(pairs, st.integers(1, 9))
def test_a_batch_is_split_into_parts_of_nearly_the_same_size(
    drawn: list[tuple[list[int], list[int]]], parts: int
) -> None:
    batch = make_batch(drawn)
    split = batch.split(parts)
    assert len(split) == min(parts, len(batch))
    assert max(map(len, split)) - min(map(len, split)) <= 1
    for field in dataclasses.fields(batch):
        whole = getattr(batch, field.name)
        np.testing.assert_array_equal(np.concatenate([getattr(part, field.name) for part in split]), whole)
        assert all(np.shares_memory(getattr(part, field.name), whole) for part in split)


@given(pairs)
def test_tokens_are_the_targets_and_their_ends(drawn: list[tuple[list[int], list[int]]]) -> None:
    assert make_batch(drawn).tokens == sum(len(target) + 1 for _, target in drawn)
