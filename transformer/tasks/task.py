"""What a task is: pairs without end to train on, pairs never trained on to be judged by, and words for both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from transformer.vocabulary import Vocabulary


class Pair(NamedTuple):
    """One example: the tokens a model reads and the tokens it has to write."""

    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """The model and the training that are known to learn a task in its time.

    The learning rate rises to `peak_rate` at step `warmup`. From there the schedule "linear" goes straight down to 0
    at the last step; "paper" falls with the root of the step (section 5.3), and is still high at the end of a short
    training: then single letters and words flicker from step to step.
    """

    d_model: int
    heads: int
    layers: int
    d_ff: int
    steps: int
    batch_size: int
    peak_rate: float
    warmup: int
    dropout: float = 0.0
    label_smoothing: float = 0.0
    norm: str = "post"
    schedule: str = "linear"


class MakeTestSet(Protocol):
    """`test_set(size, seed=0)`: see `Task`."""

    def __call__(self, size: int, seed: int = 0) -> dict[str, list[Pair]]:
        """Return the named splits."""


@dataclass(frozen=True)
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
