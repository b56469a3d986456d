"""What a trained model writes freely for unseen strings of each length."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, product

import numpy as np

from transformer.evaluation import evaluate
from transformer.model import Transformer
from transformer.study.lengths.setting import VOCABULARY, Setting, can_read, drawn, pair_of
from transformer.tasks.symbols import LETTERS, is_unseen
from transformer.tasks.task import Pair

JUDGED = 2**32 - 2  # seeds the strings that all are judged by: no training is seeded so


def judge(model: Transformer, setting: Setting, kind: str, at: Sequence[int]) -> dict[int, float]:
    """Exact match of what the model writes freely for unseen strings, by length: {length: share}.

    A model that can't read a length, for want of positions, has 0 there. All models are given the same strings.
    """

    def share(length: int) -> float:
        if not can_read(kind, length, setting):
            return 0.0
        return evaluate(model, unseen(setting, length), VOCABULARY, VOCABULARY).exact_match

    return {length: share(length) for length in at}


@cache
def unseen(setting: Setting, length: int) -> tuple[Pair, ...]:
    """Distinct strings of this length that are held out from every training: `strings` of them, or as many as are."""
    strings = islice(dict.fromkeys(_held_out(length, setting.strings)), setting.strings)
    return tuple(pair_of(setting, letters) for letters in strings)


def _held_out(length: int, count: int) -> Iterator[tuple[str, ...]]:
    """All of one or two letters, of which there are 2 and 44; of more, so many that `count` of them differ."""
    if length <= 2:
        yield from filter(is_unseen, product(LETTERS, repeat=length))
        return
    rng = np.random.default_rng([JUDGED, length])
    found: set[tuple[str, ...]] = set()
    while len(found) < count:
        if is_unseen(letters := drawn(rng, length)):
            found.add(letters)
            yield letters
