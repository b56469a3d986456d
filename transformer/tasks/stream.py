"""Training data as a stateless stream: batch number n of seed s is a function of n and s.

So a run that stops at any step goes on with exactly the batches it would have seen.
"""

from collections.abc import Iterable

import numpy as np

from transformer.batching import Batch, make_batch
from transformer.tasks.task import Pair, Task


def pairs_for_step(task: Task, batch_size: int, seed: int, step: int) -> list[Pair]:
    """Return the `batch_size` training pairs of one step: the same for the same seed and step, whatever went before."""
    rng = np.random.default_rng([seed, step])
    return [task.sample(rng) for _ in range(batch_size)]


def encode_pairs(task: Task, pairs: Iterable[Pair]) -> Batch:
    """Return token pairs as the id arrays a model reads."""
    encode_source, encode_target = task.source_vocabulary.encode, task.target_vocabulary.encode
    return make_batch([(encode_source(pair.source), encode_target(pair.target)) for pair in pairs])


def batch_for_step(task: Task, batch_size: int, seed: int, step: int) -> Batch:
    """Return the training batch of one step, (B, T_s) and (B, T_t)."""
    return encode_pairs(task, pairs_for_step(task, batch_size, seed, step))
