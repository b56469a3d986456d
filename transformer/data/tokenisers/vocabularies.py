"""Vocabularies of what texts hold: the most frequent tokens, as many as there may be."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from transformer.vocabulary import SPECIALS, Vocabulary


class Coverage(NamedTuple):
    """How much of some tokens a vocabulary knows: all tokens, those outside, and how often each of these occurs."""

    total: int
    outside: int
    missing: dict[str, int]  # the most frequent first

    @property
    def share_outside(self) -> float:
        """The share of tokens that a model would see as unknown."""
        return self.outside / self.total if self.total else 0.0


def count_tokens(texts: Iterable[Iterable[str]]) -> Counter[str]:
    """How often each token occurs in texts that are tokens already."""
    return Counter(token for tokens in texts for token in tokens)


def limited_vocabulary(counts: Mapping[str, int], size: int | None = None, least: int = 1) -> Vocabulary:
    """Return the vocabulary of the most frequent tokens, ties by code points; `size` includes the four specials.

    Tokens that occur less than `least` times are outside. Raises ValueError if `size` leaves no place for a token.
    """
    if size is not None and size <= len(SPECIALS):
        raise ValueError(f"a vocabulary has {len(SPECIALS)} special tokens, so its size is at least 5, not {size}")
    known = [token for token, count in counts.items() if count >= least and token not in SPECIALS]
    known.sort(key=lambda token: (-counts[token], token))
    return Vocabulary(known if size is None else known[: size - len(SPECIALS)])


def coverage(counts: Mapping[str, int], vocabulary: Vocabulary) -> Coverage:
    """Return how much of the counted tokens `vocabulary` knows."""
    missing = {token: count for token, count in counts.items() if token not in vocabulary}
    ordered = dict(sorted(missing.items(), key=lambda item: (-item[1], item[0])))
    return Coverage(sum(counts.values()), sum(missing.values()), ordered)
