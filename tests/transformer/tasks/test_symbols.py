from collections import Counter

import numpy as np
import pytest

from transformer.tasks import TASKS, Task
from transformer.tasks.symbols import LETTERS, is_unseen

both = pytest.mark.parametrize("task", [TASKS["copy"], TASKS["reverse"]], ids=lambda task: task.name)


@both
def test_targets_are_what_the_name_says(task: Task) -> None:
    rng = np.random.default_rng(0)
    pairs = [task.sample(rng) for _ in range(300)] + [pair for split in task.test_set(50).values() for pair in split]
    for source, target in pairs:
        assert target == (source if task.name == "copy" else source[::-1])


@both
def test_training_lengths_are_uniform_over_1_to_16_and_letters_over_all_20(task: Task) -> None:
    rng = np.random.default_rng(1)
    sources = [task.sample(rng).source for _ in range(16_000)]
    lengths = Counter(map(len, sources))
    assert set(lengths) == set(range(1, 17))
    assert all(850 < times < 1150 for times in lengths.values())  # 1000 expected, 5 standard deviations
    letters = Counter(letter for source in sources for letter in source)
    assert set(letters) == set(LETTERS)
    assert max(letters.values()) < 1.1 * min(letters.values())


@both
def test_nothing_held_out_is_trained_on(task: Task) -> None:
    rng = np.random.default_rng(2)
    held_out = {pair.source for split in task.test_set(2000).values() for pair in split}
    assert all(map(is_unseen, held_out))
    assert held_out.isdisjoint(task.sample(rng).source for _ in range(30_000))


@both
def test_the_scored_split_holds_distinct_strings_of_4_to_16_letters(task: Task) -> None:
    scored = task.test_set(2000)["lengths 4-16"]
    assert next(iter(task.test_set(1))) == "lengths 4-16"
    assert len(set(scored)) == len(scored) == 2000
    lengths = Counter(len(pair.source) for pair in scored)
    assert set(lengths) == set(range(4, 17))
    assert min(lengths.values()) > 90  # 154 expected


@both
def test_the_short_split_is_every_unseen_string_of_1_to_3_letters_shortest_first(task: Task) -> None:
    short = task.test_set(2000)["lengths 1-3"]
    assert Counter(len(pair.source) for pair in short) == {1: 2, 2: 44, 3: 786}
    assert len(set(short)) == len(short)
    cut = task.test_set(100, seed=3)["lengths 1-3"]
    assert Counter(len(pair.source) for pair in cut) == {1: 2, 2: 44, 3: 54}


def test_about_one_string_in_ten_is_held_out() -> None:
    rng = np.random.default_rng(4)
    strings = {tuple(rng.choice(list(LETTERS), size=8)) for _ in range(10_000)}
    assert 0.085 < sum(map(is_unseen, strings)) / len(strings) < 0.115


@both
@pytest.mark.parametrize("text", ["a b c", "abc", " A  bC\n"])
def test_a_user_may_write_letters_with_or_without_blanks(task: Task, text: str) -> None:
    assert task.tokenize_source(text) == ["a", "b", "c"]


@both
def test_other_signs_are_kept_for_the_vocabulary_to_name(task: Task) -> None:
    tokens = task.tokenize_source("a, z b")
    assert task.source_vocabulary.unknown(tokens) == [",", "z"]
    assert task.render_target(["a", "b"]) == "a b"
    assert task.tokenize_source("  ") == []
