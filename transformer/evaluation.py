"""How a model is judged: it writes freely, from the source alone, and what it wrote is held against the right answer.

Exact match is first: the share of sentences that are right from the first token to the end. Token accuracy is second:
of the tokens that should be written, the end included, the share that stands at its place. Under teacher forcing, where
the model reads the right answer while it writes, both would flatter it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from transformer.batching import pad
from transformer.model import Transformer
from transformer.tasks.task import Pair
from transformer.vocabulary import Vocabulary


@dataclass(frozen=True)
class Answer:
    """One sentence: what was read, what should be written, what was."""

    source: tuple[str, ...]
    expected: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether every token is as expected, and no more were written."""
        return self.written == self.expected

    @property
    def tokens(self) -> int:
        """How many tokens should be written, the end included."""
        return len(self.expected) + 1

    @property
    def tokens_right(self) -> int:
        """How many of these stand at their place; the end does where both are of the same length."""
        matches = sum(wanted == got for wanted, got in zip(self.expected, self.written, strict=False))
        return matches + (len(self.written) == len(self.expected))


@dataclass(frozen=True)
class Score:
    """The answers to a list of pairs, in its order."""

    answers: tuple[Answer, ...]

    def __add__(self, other: "Score") -> "Score":
        return Score(self.answers + other.answers)

    @property
    def size(self) -> int:
        """How many pairs were scored."""
        return len(self.answers)

    @property
    def mistakes(self) -> tuple[Answer, ...]:
        """The answers that are not right."""
        return tuple(answer for answer in self.answers if not answer.right)

    @property
    def exact_match(self) -> float:
        """The share of answers that are right as a whole."""
        return sum(answer.right for answer in self.answers) / self.size

    @property
    def token_accuracy(self) -> float:
        """The share of expected tokens that stand at their place, over all answers together."""
        return sum(answer.tokens_right for answer in self.answers) / sum(answer.tokens for answer in self.answers)


def evaluate(
    model: Transformer,
    pairs: Sequence[Pair],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    batch_size: int = 128,
    beam: int = 1,
) -> Score:
    """Let the model answer every pair's source by greedy decoding, or by beam search of that width.

    Sources of one length are decoded together, so none is padded, and the answers do not depend on which others are in
    the list. Writing stops one token after the longest expected answer: what goes on by then is wrong anyway. An
    expected token that is outside the vocabulary is never met. Raises ValueError if there is no pair, or one has an
    empty source.
    """
    if not pairs:
        raise ValueError("no pairs to score")
    limit = max(len(pair.target) for pair in pairs) + 1
    written: dict[int, tuple[str, ...]] = {}
    for places in _equal_lengths(pairs, batch_size):
        source = pad([source_vocabulary.encode(pairs[place].source) for place in places])  # (B, T_s)
        ids = model.generate(source, limit, beam)  # (B, <=limit)
        written |= {place: tuple(target_vocabulary.decode(row)) for place, row in zip(places, ids, strict=True)}
    return Score(tuple(Answer(pair.source, pair.target, written[place]) for place, pair in enumerate(pairs)))


def evaluate_splits(
    model: Transformer,
    splits: Mapping[str, Sequence[Pair]],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> dict[str, Score]:
    """Score each named split; one without pairs is left out."""
    return {
        name: evaluate(model, pairs, source_vocabulary, target_vocabulary) for name, pairs in splits.items() if pairs
    }


def _equal_lengths(pairs: Sequence[Pair], batch_size: int) -> Iterator[list[int]]:
    """The places of pairs whose sources have the same length, at most `batch_size` at a time."""

    def length(place: int) -> int:
        return len(pairs[place].source)

    for tokens, group in groupby(sorted(range(len(pairs)), key=length), key=length):
        if tokens == 0:
            raise ValueError("a source without a token can't be answered")
        places = list(group)
        for start in range(0, len(places), batch_size):
            yield places[start : start + batch_size]
