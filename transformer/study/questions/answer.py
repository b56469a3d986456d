"""What an answer is, and what it is given to answer from."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.study.figures import Figure, Words
from transformer.study.trace import Trace
from transformer.tasks.task import Pair
from transformer.vocabulary import Vocabulary


@dataclass(frozen=True)
class Subject:
    """The model at hand and one sentence through it.

    trace: of one sentence (B = 1), without label smoothing. source_words, target_words: its tokens, the target's with
    the end as its last. pairs: held-out sentence pairs, for what needs more than one sentence.
    label_smoothing: with which the model was trained.
    """

    trace: Trace
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    pairs: Sequence[Pair]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    label_smoothing: float = 0.0


@dataclass(frozen=True)
class Answer:
    """number: of the question. answer: a few sentences with the measured numbers in them. figures: one, seldom more."""

    number: int
    question: Words
    answer: Words
    figures: tuple[Figure, ...]
