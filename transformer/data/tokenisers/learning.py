"""Learning byte-pair encoding: merge the most frequent pair, again and again (Sennrich et al. 2016, algorithm 1).

The definition counts all pairs anew for each merge. Here only the words that hold the merged pair are counted anew.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from transformer.data.tokenisers.byte_pairs import END, BytePairTokeniser, merged

Pair = tuple[str, str]


@dataclass
class Word:
    """A word that the texts hold so many times, as the symbols it is made of by now."""

    symbols: list[str]
    times: int


def learn_byte_pairs(texts: Iterable[str], merges: int, least: int = 2) -> BytePairTokeniser:
    """Return the tokeniser of the first `merges` merges, fewer if no pair is left that occurs `least` times.

    Of pairs that are equally frequent the first by code points is merged, so the result depends on how often each word
    occurs, and not on the order of the texts or on the machine. Raises ValueError for a negative number of merges.
    """
    if merges < 0 or least < 1:
        raise ValueError(f"merges has to be at least 0 and least at least 1, not {merges} and {least}")
    frequencies = Counter(word for text in texts if text for word in text.split(END))
    words = [Word([*word, END], times) for word, times in frequencies.items()]
    counts: Counter[Pair] = Counter()
    holders: defaultdict[Pair, set[int]] = defaultdict(set)  # in which words a pair is, or was
    for number, word in enumerate(words):
        for pair in pairwise(word.symbols):
            counts[pair] += word.times
            holders[pair].add(number)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(queue)
    learnt: dict[Pair, None] = {}  # in order, each once
    while queue and len(learnt) < merges:
        count, best = heapq.heappop(queue)
        if counts[best] != -count:  # an entry from before the pair's count changed
            continue
        if -count < least:
            break
        learnt[best] = None
        changes: Counter[Pair] = Counter()
        for number in holders.pop(best):
            for pair, change in merge_in(words[number], best).items():
                changes[pair] += change
                holders[pair].add(number)
        for pair, change in changes.items():
            counts[pair] += change
            if change and counts[pair]:
                heapq.heappush(queue, (-counts[pair], pair))
    return BytePairTokeniser(tuple(learnt))


def merge_in(word: Word, pair: Pair) -> Counter[Pair]:
    """Merge `pair` in a word, and return by how much this changes the count of each pair."""
    changes: Counter[Pair] = Counter()
    for old in pairwise(word.symbols):
        changes[old] -= word.times
    word.symbols = merged(word.symbols, pair)
    for new in pairwise(word.symbols):
        changes[new] += word.times
    return Counter({pair: change for pair, change in changes.items() if change})
