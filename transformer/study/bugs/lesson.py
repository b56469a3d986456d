"""The lesson that a model with a bug is taught: write letters from back to front, a few hundred quick steps.

A small model of the paper's kind on a small task, in parts, so that every planted function is met.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

import numpy as np

import minigrad as mg
from transformer.activations import watched
from transformer.batching import Batch, make_batch
from transformer.config import TransformerConfig
from transformer.evaluation import evaluate
from transformer.model import Transformer
from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair
from transformer.vocabulary import PAD, SPECIALS, Vocabulary

VOCABULARY = Vocabulary("abcdef")
LONGEST = 5
ONE_IN = 10  # so many strings are held out, by their hash
STEPS, WARMUP, PEAK_RATE = 500, 60, 1e-2
BATCH, TESTED = 24, 200
SMOOTHING = 0.05
CONFIG = TransformerConfig(
    source_vocab=len(VOCABULARY), target_vocab=len(VOCABULARY), d_model=32, heads=4, layers=1, d_ff=64, dropout=0.02,
    tied="all", max_length=2 * LONGEST,
)  # fmt: skip


@dataclass(frozen=True)
class Taught:
    """What came of a lesson: the loss of each step, and the share of held-out strings written without a mistake."""

    losses: tuple[float, ...]
    exact_match: float

    @property
    def first(self) -> float:
        """The loss of the first step."""
        return self.losses[0]

    @property
    def last(self) -> float:
        """The mean loss of the last tenth of the steps."""
        return float(np.mean(self.losses[-max(1, len(self.losses) // 10) :]))

    @property
    def came_down(self) -> float:
        """How far the loss came down, as a share of what it was."""
        return 1 - self.last / self.first


def teach(seed: int, steps: int = STEPS, watch: Callable[[int], None] = lambda step: None) -> Taught:
    """Train a new model, and let it write held-out strings. With the same seed, the same weights and strings.

    watch: called with the number of each step that is done.
    """
    model, rng = Transformer(CONFIG, rng=seed), np.random.default_rng(seed)
    optimizer, strings, losses = optimizer_of(model, steps), drawn(rng, False), []
    with in_parts(model), np.errstate(all="ignore"):  # what leaves the numbers is told by the loss
        for step in range(1, steps + 1):
            batch = batch_of(list(islice(strings, BATCH)))
            losses.append(backward(model, optimizer, batch, rng).item())
            optimizer.step()
            watch(step)
        return Taught(tuple(losses), exact_match(model))


def optimizer_of(model: Transformer, steps: int) -> mg.optim.Adam:
    """The paper's optimiser, its rate rising and falling in straight lines."""
    warmup = min(WARMUP, steps)
    return mg.optim.Adam(model.parameters(), mg.optim.warmup_linear(PEAK_RATE, warmup, steps), (0.9, 0.98), 1e-9)


def backward(
    model: Transformer, optimizer: mg.optim.Optimizer, batch: Batch, rng: np.random.Generator | None = None
) -> mg.Tensor:
    """Forget the last step's gradients, and leave this batch's in the parameters; the loss."""
    optimizer.zero_grad()
    loss = loss_of(model, batch, rng)
    loss.backward()
    return loss


def loss_of(model: Transformer, batch: Batch, rng: np.random.Generator | None = None) -> mg.Tensor:
    """The mean cross-entropy of the words of a batch, with label smoothing."""
    with in_parts(model):
        logits = model(batch.source, batch.target_in, rng=rng)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD, label_smoothing=SMOOTHING)


def in_parts(model: Transformer) -> AbstractContextManager[None]:
    """Let the model run step by step, as where somebody looks at it, and not as fused operations."""
    return nullcontext() if watched(model) else model.patch({})


def drawn(rng: np.random.Generator, unseen: bool, shortest: int = 1) -> Iterator[Pair]:
    """Strings without end, and what is to be written for each: those that are held out, or those that are not."""
    while True:
        ids = rng.integers(len(SPECIALS), len(VOCABULARY), rng.integers(shortest, LONGEST + 1))
        letters = tuple(VOCABULARY.tokens[n] for n in ids)
        if held_out("bugs:" + "".join(letters), ONE_IN) == unseen:
            yield Pair(letters, letters[::-1])


def batch_of(pairs: list[Pair]) -> Batch:
    """Strings as the ids a model reads."""
    return make_batch([(VOCABULARY.encode(pair.source), VOCABULARY.encode(pair.target)) for pair in pairs])


def exact_match(model: Transformer) -> float:
    """The share of held-out strings of at least 3 letters that the model, writing freely, gets right as a whole."""
    pairs = list(islice(drawn(np.random.default_rng(0), True, shortest=3), TESTED))
    with in_parts(model):
        return evaluate(model, pairs, VOCABULARY, VOCABULARY).exact_match
