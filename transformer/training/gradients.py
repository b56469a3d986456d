"""The loss of a batch and its gradients, by one thread or by several that share the batch.

The loss is a mean over the batch's target tokens, so that of the whole is the sum of its parts' losses, each weighted
by its share of the tokens; the gradients likewise. The parts are summed in their order, whichever was ready first: the
same bits every time. Nothing shared is written: a part has a graph of its own, and `mg.gradients` writes no `.grad`.
NumPy lets other threads run while it computes, so two threads, each on half of the batch with a BLAS of one thread, are
the better use of two cores: a BLAS of two threads divides single products, most of which are too small to gain.

Between NumPy's calls a thread has Python to itself, so the calls must be long. Measured by turns on two idle cores:
two workers are about 1.6 times as fast as one with d_model 128 and 64 x 20 tokens, no faster with d_model 64 and
64 x 12, and take half as much CPU time more.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import pairwise
from types import TracebackType
from typing import Self

import numpy as np

import minigrad as mg
from transformer.batching import Batch
from transformer.model import Transformer
from transformer.vocabulary import PAD

DROPOUT_STREAM = 1  # keeps dropout's random numbers apart from the data's, which are seeded by [seed, window]


class Workers:
    """Threads that share the work of every batch: the one that asks, and `count` - 1 more.

    accumulate: into how many micro-batches each cuts its part. It computes one after another and adds up their
    gradients, so that it holds the graph of one at a time.
    A hook on a parameter is called once a part, from that part's thread, with that part's gradient.
    Used as `with Workers(2) as workers: workers.loss_and_gradients(...)`.
    """

    def __init__(self, count: int, accumulate: int = 1) -> None:
        self._count, self._accumulate = count, accumulate
        self._others = ThreadPoolExecutor(max(1, count - 1), "worker")  # starts a thread once it has something to do

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._others.shutdown()

    def loss_and_gradients(
        self,
        model: Transformer,
        parameters: Sequence[mg.Tensor],
        batch: Batch,
        label_smoothing: float,
        seed: int,
        step: int,
    ) -> tuple[float, list[mg.Tensor]]:
        """The mean loss per target token, and its gradient for each of the model's `parameters`.

        seed, step: each part's dropout is drawn from [seed, DROPOUT_STREAM, step, part].
        What a part raises is raised here, the first part's first, once all have come to an end.
        """
        workers = min(self._count, len(batch))
        parts = list(enumerate(batch.split(min(workers * self._accumulate, len(batch)))))
        bounds = [len(parts) * worker // workers for worker in range(workers + 1)]
        shares = [parts[start:stop] for start, stop in pairwise(bounds)]

        def work(share: list[tuple[int, Batch]]) -> tuple[float, list[mg.Tensor]]:
            return summed(
                part_of_gradients(
                    model,
                    parameters,
                    part,
                    batch.tokens,
                    label_smoothing,
                    np.random.default_rng([seed, DROPOUT_STREAM, step, number]),
                )
                for number, part in share
            )

        # What holds here (errstate, default dtype) is to hold there: a new thread begins with an empty context.
        others = [self._others.submit(copy_context().run, work, share) for share in shares[1:]]
        try:
            first = work(shares[0])
        finally:
            wait(others)
        return summed(iter([first, *(other.result() for other in others)]))


def summed(results: Iterator[tuple[float, list[mg.Tensor]]]) -> tuple[float, list[mg.Tensor]]:
    """The sums of the losses and of each gradient, added in their order, as soon as they come."""
    loss, gradients = next(results)
    for more, others in results:
        loss += more
        for place, other in enumerate(others):
            gradients[place] = gradients[place] + other  # one at a time: the old one is freed
    return loss, gradients


def part_of_gradients(
    model: Transformer,
    parameters: Sequence[mg.Tensor],
    batch: Batch,
    tokens: int,
    label_smoothing: float,
    rng: np.random.Generator,
) -> tuple[float, list[mg.Tensor]]:
    """What one part of a batch adds to the loss and to the gradient of each parameter.

    tokens: of the whole batch. rng: where dropout's randomness comes from.
    """
    share = batch.tokens / tokens
    logits = model(batch.source, batch.target_in, rng=rng)  # (B, T_s), (B, T_t) -> (B, T_t, V)
    loss = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD, label_smoothing=label_smoothing)
    gradients = mg.gradients(loss, parameters, gradient=np.asarray(share, loss.dtype))
    return loss.item() * share, gradients
