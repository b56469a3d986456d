"""Training data as a stateless stream: batch number n of seed s is a function of n and s.

So a run that stops at any step goes on with exactly the batches it would have seen.

Steps come in windows. A window of W steps draws the pairs of all its steps together, sorts them by length, and cuts
them into W batches of about as many tokens each: few long pairs or many short ones, hardly a padded place among them.
The batches then come in random order. With W = 1 a step has pairs as they were drawn, of all lengths.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from transformer.batching import Batch, make_batch
from transformer.tasks.task import Pair, Task


def pairs_for_step(task: Task, batch_size: int, seed: int, step: int, window: int = 1) -> list[Pair]:
    """Return the training pairs of one step: the same for the same seed and step, whatever went before.

    step: from 1. window: how many steps share their pairs; `batch_size` is how many pairs a step has on average.
    """
    number = -(-step // window)  # from 1, too
    return list(_window(task, batch_size, seed, number, window)[step - 1 - (number - 1) * window])


def encode_pairs(task: Task, pairs: Iterable[Pair]) -> Batch:
    """Return token pairs as the id arrays a model reads."""
    encode_source, encode_target = task.source_vocabulary.encode, task.target_vocabulary.encode
    return make_batch([(encode_source(pair.source), encode_target(pair.target)) for pair in pairs])


def batch_for_step(task: Task, batch_size: int, seed: int, step: int, window: int = 1) -> Batch:
    """Return the training batch of one step, (B, T_s) and (B, T_t)."""
    return encode_pairs(task, pairs_for_step(task, batch_size, seed, step, window))


@lru_cache(maxsize=1)  # steps come in order, so that one window serves `window` of them
def _window(task: Task, batch_size: int, seed: int, number: int, window: int) -> Sequence[Sequence[Pair]]:
    """The pairs of each step of one window. Within a step they stand as they were drawn."""
    rng = np.random.default_rng([seed, number])
    drawn = [task.sample(rng) for _ in range(batch_size * window)]
    by_length = sorted(range(len(drawn)), key=lambda place: padded_length(drawn[place]))
    bounds = cut_evenly([len(drawn[place].source) + len(drawn[place].target) + 1 for place in by_length], window)
    batches = [[drawn[place] for place in sorted(by_length[start:stop])] for start, stop in pairwise(bounds)]
    return [batches[place] for place in rng.permutation(window)]


def padded_length(pair: Pair) -> tuple[int, int]:
    """What pairs are sorted by: the longer side decides how far others are padded, then both together."""
    return max(len(pair.source), len(pair.target)), len(pair.source) + len(pair.target)


def cut_evenly(weights: Sequence[int], parts: int) -> list[int]:
    """Where to cut a list into `parts` runs of about the same weight, none of them empty: 0, `parts` - 1 cuts, the end.

    weights: of the elements, positive; at least `parts` of them.
    """
    so_far = np.cumsum(weights)
    count = np.arange(1, parts)
    cuts = np.searchsorted(so_far, so_far[-1] * count / parts, side="right")
    cuts = np.maximum.accumulate(np.maximum(cuts - count, 0)) + count  # each behind the one before
    return [0, *np.minimum(cuts, len(weights) - parts + count).tolist(), len(weights)]
