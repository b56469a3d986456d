"""What every task promises, and the stream it is trained on."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from transformer.tasks import TASKS, Task, batch_for_step, encode_pairs, get_task, pairs_for_step
from transformer.training.config import configure
from transformer.vocabulary import EOS, PAD, UNK

every = pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)


def test_tasks_are_found_by_name() -> None:
    assert list(TASKS)[:3] == ["copy", "reverse", "translate"]
    assert all(get_task(name).name == name for name in TASKS)
    with pytest.raises(
        ValueError, match=r"no task 'Revers', only copy, reverse, translate.*; did you mean 'reverse'\?"
    ):
        get_task("Revers")
    with pytest.raises(ValueError, match=r"no task 'xyz', only copy, reverse, translate"):
        get_task("xyz")


@every
def test_samples_and_tests_stay_within_vocabulary_and_length(task: Task) -> None:
    rng = np.random.default_rng(0)
    pairs = [task.sample(rng) for _ in range(5000)] + [pair for split in task.test_set(300).values() for pair in split]
    for pair in pairs:
        assert task.source_vocabulary.unknown(pair.source) == task.target_vocabulary.unknown(pair.target) == []
        assert 1 <= len(pair.source) <= task.max_source_length
        assert 1 <= len(pair.target) <= task.max_target_length


@every
def test_training_shows_every_token_of_both_vocabularies(task: Task) -> None:
    pairs = [pair for step in range(400) for pair in pairs_for_step(task, 64, 0, step)]
    assert {token for pair in pairs for token in pair.source} == set(task.source_vocabulary.tokens[4:])
    assert {token for pair in pairs for token in pair.target} == set(task.target_vocabulary.tokens[4:])


@every
def test_test_sets_are_disjoint_from_any_training_and_repeat_by_seed(task: Task) -> None:
    first, again, other = task.test_set(200), task.test_set(200, seed=0), task.test_set(200, seed=1)
    assert first == again != other
    assert list(first) == list(other)
    unseen = {pair.source for splits in (first, other) for split in splits.values() for pair in split}
    rng = np.random.default_rng(123)
    assert unseen.isdisjoint(task.sample(rng).source for _ in range(20_000))


@every
def test_the_example_reads_back(task: Task) -> None:
    tokens = task.tokenize_source(task.example)
    assert task.source_vocabulary.unknown(tokens) == []
    assert task.render_source(tokens) == task.example
    assert task.tokenize_source("") == task.tokenize_source(" \n\t") == []
    assert "\n" not in task.title


@every
def test_a_step_draws_the_same_pairs_whatever_went_before(task: Task) -> None:
    straight = [pairs_for_step(task, 8, seed=5, step=step) for step in range(6)]
    resumed = [pairs_for_step(task, 8, seed=5, step=step) for step in (3, 4, 5)]
    assert straight[3:] == resumed
    flat = [pair for pairs in straight for pair in pairs]
    assert len(set(flat)) > 40  # steps differ from each other
    assert pairs_for_step(task, 8, seed=6, step=3) != straight[3]


@every
def test_a_batch_encodes_its_pairs(task: Task) -> None:
    pairs = pairs_for_step(task, 16, 0, 7)
    batch, same = batch_for_step(task, 16, 0, 7), encode_pairs(task, iter(pairs))
    for field in dataclasses.fields(batch):
        assert np.array_equal(getattr(batch, field.name), getattr(same, field.name))
    assert UNK not in batch.source
    assert UNK not in batch.target_out
    for pair, source, target in zip(pairs, batch.source, batch.target_out, strict=True):
        assert tuple(task.source_vocabulary.decode(source)) == pair.source
        assert tuple(task.target_vocabulary.decode(target)) == pair.target
        assert target[target != PAD][-1] == EOS


@every
def test_a_recipe_fits_the_model_it_describes(task: Task) -> None:
    config = configure(task)  # raises for a setting that is unknown or makes no sense
    assert config.training.warmup < config.training.steps
    assert 0 < task.goal <= 1
    assert task.budget > 0


DIGEST = """
import hashlib
from transformer.tasks import TASKS, pairs_for_step
content = [(name, task.source_vocabulary.tokens, task.target_vocabulary.tokens, task.test_set(40),
            [pairs_for_step(task, 16, 3, step) for step in range(4)]) for name, task in TASKS.items()]
print(hashlib.sha256(repr(content).encode()).hexdigest())
"""


def digest(hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    return run.stdout.strip()


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    assert len(digest("0")) == 64
    assert digest("0") == digest("1")
