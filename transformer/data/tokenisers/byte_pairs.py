"""Byte-pair encoding: frequent words are one token, rare ones several (Sennrich, Haddow and Birch 2016, section 3.2).

A word is the list of its characters and an end-of-word symbol. The merges that were learnt, each of two symbols into
one, are done in the order they were learnt. The end-of-word symbol is the space itself: no word can hold it, so nothing
a user writes can be mistaken for it, and decoding gives back every text exactly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

END = " "
REMEMBERED = 50_000  # words whose tokens are kept


@dataclass(frozen=True)
class BytePairTokeniser:
    """Encodes by `merges`, pairs of symbols in the order in which they were learnt (`learn_byte_pairs`).

    `decode(encode(text))` is `text`, whatever is in it: a character never seen in learning is a token of its own, and a
    space too many is a word without characters. Raises ValueError for merges that are not distinct pairs of strings.
    """

    merges: tuple[tuple[str, str], ...]
    _ranks: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False)
    _known: dict[str, list[str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for place, merge in enumerate(self.merges):
            if not (isinstance(merge, tuple) and len(merge) == 2 and all(part and type(part) is str for part in merge)):
                raise ValueError(f"a merge is a pair of two symbols, not {merge!r} (merge {place})")
        ranks = {merge: rank for rank, merge in enumerate(self.merges)}
        if len(ranks) < len(self.merges):
            raise ValueError("a merge is there twice")
        object.__setattr__(self, "_ranks", ranks)

    def encode(self, text: str) -> list[str]:
        """Return the tokens; the last of each word ends in a space, or is one."""
        tokens: list[str] = []
        for word in text.split(END) if text else []:
            if word not in self._known:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[word] = merge_all([*word, END], self._ranks)
            tokens += self._known[word]
        return tokens

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the text."""
        return "".join(tokens).removesuffix(END)


def merge_all(symbols: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """The symbols after every merge that applies, always the one of the lowest rank next."""
    while len(symbols) > 1:
        pair = min(pairwise(symbols), key=lambda pair: ranks.get(pair, len(ranks)))
        if pair not in ranks:
            break
        symbols = merged(symbols, pair)
    return symbols


def merged(symbols: Iterable[str], pair: tuple[str, str]) -> list[str]:
    """The symbols with each occurrence of `pair` as one symbol, from the left: of a a a, the first two."""
    out: list[str] = []
    for symbol in symbols:
        if out and symbol == pair[1] and out[-1] == pair[0]:  # never one that is merged already: that is longer
            out[-1] += symbol
        else:
            out.append(symbol)
    return out
