"""The stream of batches: a function of seed and step alone, nothing lost in a window, hardly any padding."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.tasks import TASKS, batch_for_step, pairs_for_step
from transformer.tasks.stream import cut_evenly, padded_length
from transformer.training.config import configure
from transformer.vocabulary import PAD

tasks = st.sampled_from([TASKS["copy"], TASKS["translate"]])
sizes = {"batch_size": st.integers(1, 6), "window": st.integers(1, 5), "seed": st.integers(0, 99)}


@given(tasks, sizes["batch_size"], sizes["seed"], st.integers(1, 50))
def test_without_a_window_a_step_has_its_own_pairs_as_they_are_drawn(task, batch_size, seed, step):
    rng = np.random.default_rng([seed, step])
    assert pairs_for_step(task, batch_size, seed, step) == [task.sample(rng) for _ in range(batch_size)]


@given(task=tasks, **sizes, number=st.integers(1, 9))
def test_the_steps_of_a_window_share_its_pairs_out(task, batch_size, window, seed, number):
    rng = np.random.default_rng([seed, number])
    drawn = Counter(task.sample(rng) for _ in range(batch_size * window))
    steps = range((number - 1) * window + 1, number * window + 1)
    batches = [pairs_for_step(task, batch_size, seed, step, window) for step in steps]
    assert all(batches)
    assert Counter(pair for batch in batches for pair in batch) == drawn
    by_length = sorted(batches, key=lambda batch: min(map(padded_length, batch)))
    for shorter, longer in pairwise(by_length):
        assert max(map(padded_length, shorter)) <= min(map(padded_length, longer))


@settings(deadline=None)
@given(task=tasks, **sizes, steps=st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_a_step_does_not_depend_on_what_was_asked_before(task, batch_size, window, seed, steps):
    alone = {}
    for step in steps:
        pairs_for_step(task, 1, seed + 1, 1)  # so that no window is remembered
        alone[step] = pairs_for_step(task, batch_size, seed, step, window)
    for step in sorted(steps):
        assert pairs_for_step(task, batch_size, seed, step, window) == alone[step]


def test_what_a_caller_does_to_its_pairs_is_its_own():
    pairs_for_step(TASKS["copy"], 4, 0, 1, window=3).clear()
    assert pairs_for_step(TASKS["copy"], 4, 0, 1, window=3)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.data())
def test_a_cut_leaves_no_run_empty_and_all_of_about_the_same_weight(weights, data):
    parts = data.draw(st.integers(1, len(weights)))
    bounds = cut_evenly(weights, parts)
    assert (bounds[0], bounds[-1], len(bounds)) == (0, len(weights), parts + 1)
    assert all(start < stop for start, stop in pairwise(bounds))
    if max(weights) <= sum(weights) / parts:  # else one element alone is too much
        for start, stop in pairwise(bounds):
            assert abs(sum(weights[start:stop]) - sum(weights) / parts) < max(weights)


@pytest.mark.parametrize("name", TASKS)
def test_a_recipe_has_few_padded_places_and_as_many_tokens_in_every_step(name):
    task, training = TASKS[name], configure(TASKS[name]).training
    places, words, tokens, pairs = 0, 0, [], []
    for step in range(1, 3 * training.window + 1):
        batch = batch_for_step(task, training.batch_size, 0, step, training.window)
        sides = batch.source, batch.target_out
        places += sum(side.size for side in sides)
        tokens.append(sum(np.count_nonzero(side != PAD) for side in sides))
        words += tokens[-1]
        pairs.append(len(batch))
    sides_differ = name == "numbers"  # in length, and pairs are sorted by the longer one
    assert words > (0.85 if training.window >= 8 and not sides_differ else 0.75) * places  # in the order drawn: 0.55
    assert np.mean(pairs) == training.batch_size
    assert 0.75 * np.mean(tokens) < min(tokens) <= max(tokens) < 1.25 * np.mean(tokens)
