"""A model answers sources by itself, and is scored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from transformer.batching import pad
from transformer.evaluation.score import Answer, Score
from transformer.model import Transformer
from transformer.tasks.task import Pair
from transformer.vocabulary import Vocabulary


class Question(NamedTuple):
    """A source, and every target that is right for it, at least one."""

    source: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]


def questions(pairs: Iterable[Pair]) -> list[Question]:
    """Each source once, in the order of the pairs, with all its targets, each once."""
    targets: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}
    for pair in pairs:
        targets.setdefault(pair.source, {})[pair.target] = None
    return [Question(source, tuple(right)) for source, right in targets.items()]


def evaluate(
    model: Transformer,
    pairs: Sequence[Pair],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    batch_size: int = 128,
    beam: int = 1,
) -> Score:
    """Let the model answer every pair's source, each against its own target; see `ask`."""
    alone = [Question(pair.source, (pair.target,)) for pair in pairs]
    return ask(model, alone, source_vocabulary, target_vocabulary, batch_size, beam)


def evaluate_splits(
    model: Transformer,
    splits: Mapping[str, Sequence[Pair]],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> dict[str, Score]:
    """Score each named split, every source once and against all its targets; one without pairs is left out."""
    return {
        name: ask(model, questions(pairs), source_vocabulary, target_vocabulary)
        for name, pairs in splits.items()
        if pairs
    }


def ask(
    model: Transformer,
    asked: Sequence[Question],
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    batch_size: int = 128,
    beam: int = 1,
) -> Score:
    """Let the model answer every question by greedy decoding, or by beam search of that width.

    Sources of one length are decoded together, so none is padded, and the answers do not depend on which others are in
    the list. Writing stops one token after the longest expected answer: what goes on by then is wrong anyway. An
    expected token that is outside the vocabulary is never met. Raises ValueError if there is no pair, or one has an
    empty source.
    """
    if not asked:
        raise ValueError("no pairs to score")
    limit = max(len(target) for question in asked for target in question.targets) + 1
    written: dict[int, tuple[str, ...]] = {}
    for places in _equal_lengths(asked, batch_size):
        source = pad([source_vocabulary.encode(asked[place].source) for place in places])  # (B, T_s)
        ids = model.generate(source, limit, beam)  # (B, <=limit)
        written |= {place: tuple(target_vocabulary.decode(row)) for place, row in zip(places, ids, strict=True)}
    return Score(
        tuple(
            Answer(source, first, written[place], tuple(others))
            for place, (source, (first, *others)) in enumerate(asked)
        )
    )


def _equal_lengths(asked: Sequence[Question], batch_size: int) -> Iterator[list[int]]:
    """The places of questions whose sources have the same length, at most `batch_size` at a time."""

    def length(place: int) -> int:
        return len(asked[place].source)

    for tokens, group in groupby(sorted(range(len(asked)), key=length), key=length):
        if tokens == 0:
            raise ValueError("a source without a token can't be answered")
        places = list(group)
        for start in range(0, len(places), batch_size):
            yield places[start : start + batch_size]
