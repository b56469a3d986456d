"""What a task is: pairs without end to train on, pairs never trained on to be judged by, and words for both sides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from transformer.vocabulary import Vocabulary


class Pair(NamedTuple):
    """One example: the tokens a model reads and the tokens it has to write."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """The model and the training that are known to learn a task in its time, as far as they are not the default.

    model: fields of TransformerConfig; those that the task itself decides (vocabularies, lengths) are not named here.
    training: fields of `transformer.training.config.TrainingConfig`; steps, warmup and peak_rate have to be there.
    """

    model: Mapping[str, Any]
    training: Mapping[str, Any]


class MakeTestSet(Protocol):
    """`test_set(size, seed=0)`: see `Task`."""

    def __call__(self, size: int, seed: int = 0) -> dict[str, list[Pair]]:
        """Return the named splits."""


@dataclass(frozen=True, eq=False)
class Task:
    """A sequence-to-sequence task, as data and functions.

    `sample(rng)` draws one training pair, never a held-out one. `test_set(size, seed)` draws named splits of distinct
    held-out pairs, at most `size` each; the first is the one the goal is stated on, and what is held out depends on
    the pair alone, never on a seed. Lengths count words only: without bos and eos.
    """

    name: str
    title: str
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    sample: Callable[[np.random.Generator], Pair]
    test_set: MakeTestSet
    test_size: int  # the size the goal is stated for
    tokenize_source: Callable[[str], list[str]]  # a user's text; [] if there is no word in it
    render_source: Callable[[Sequence[str]], str]
    render_target: Callable[[Sequence[str]], str]
    example: str  # a source text to try
    max_source_length: int  # of any pair of this task
    max_target_length: int
    recipe: Recipe
    goal: float  # the exact match that the recipe should reach on the first split
    budget: float  # CPU seconds that it may take to learn, evaluation not counted
