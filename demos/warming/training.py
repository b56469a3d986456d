"""The same training with the norm behind or before, without warm-up or with it.

The rate rises in a straight line to its highest at step `warmup`, or is that from the first step on, and falls in a
straight line to 0 after the last.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import minigrad as mg
from demos.terminal.progress import progress
from transformer import Transformer, TransformerConfig
from transformer.training.memory import keep_freed_memory
from transformer.vocabulary import BOS, SPECIALS

WORDS, LENGTH, BATCH = 8, 4, 32  # how many words there are, in a text, and texts in a batch
CHANCE = math.log(WORDS)
D_MODEL, HEADS, D_FF = 64, 4, 128


@dataclass(frozen=True)
class Setting:
    """What the four trainings share. deadline: by `time.monotonic()`, after which no more steps are begun."""

    layers: int
    steps: int
    rate: float
    warmup: int
    seed: int
    deadline: float = math.inf


@dataclass(frozen=True)
class Trained:
    """What came of one. gradients: norms at the first step, of each decoder layer's feed-forward network.

    losses: of each step. right: the share of words that are right, on texts of its own.
    """

    name: str
    gradients: list[float]
    losses: list[float]
    right: float

    @property
    def last_loss(self) -> float:
        """The mean over the last tenth of the steps; NaN if it left the numbers."""
        return float(np.mean(self.losses[-max(1, len(self.losses) // 10) :]))

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.last_loss < 0.85 * CHANCE:
            return "learnt next to nothing"
        return "learnt it" if self.right >= 0.9 else "is learning"


def settings() -> Iterator[tuple[str, bool]]:
    """(norm, whether there is a warm-up), for each of the four."""
    for norm in ("post", "pre"):
        for warm in (False, True):
            yield norm, warm


def schedule(setting: Setting, warm: bool) -> Callable[[int], float]:
    """The learning rate at each step, from 1."""
    return mg.optim.warmup_linear(setting.rate, setting.warmup if warm else 1, setting.steps)


def texts(rng: np.random.Generator, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Random texts: (count, LENGTH) ids."""
    return rng.integers(len(SPECIALS), len(SPECIALS) + WORDS, (count, LENGTH))


def train(setting: Setting, norm: str, warm: bool) -> Trained:
    """One training: with the same seed, the same weights and texts."""
    keep_freed_memory()
    size, name = len(SPECIALS) + WORDS, f"{norm}-norm, {'with' if warm else 'no'} warm-up"
    config = TransformerConfig(
        source_vocab=size, target_vocab=size, d_model=D_MODEL, heads=HEADS, d_ff=D_FF, layers=setting.layers,
        norm=norm, dropout=0.0, max_length=LENGTH,
    )  # fmt: skip
    model, rng = Transformer(config, rng=setting.seed), np.random.default_rng(setting.seed)
    optimizer = mg.optim.Adam(model.parameters(), lr=schedule(setting, warm), betas=(0.9, 0.98), eps=1e-9)
    losses: list[float] = []
    first: list[float] = []
    watcher = progress("step", "")
    watcher.start(name, setting.steps)
    try:
        for step in range(1, setting.steps + 1):
            source = texts(rng, BATCH)
            optimizer.zero_grad()
            with np.errstate(all="ignore"):  # what leaves the numbers is told by the losses
                loss = mg.cross_entropy(model(source, shifted(source)), source)
                loss.backward()
                first = first or gradients(model)
                optimizer.step()
            losses.append(loss.item())
            watcher.update(step)
            if time.monotonic() >= setting.deadline:
                break
    finally:
        watcher.close()
    fresh = texts(np.random.default_rng([setting.seed, 1]), 500)
    with mg.no_grad(), np.errstate(all="ignore"):
        right = float((model(fresh, shifted(fresh)).data.argmax(-1) == fresh).mean())
    return Trained(name, first, losses, right)


def shifted(ids: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The target as the decoder reads it: one to the right, bos first."""
    return np.concatenate([np.full((len(ids), 1), BOS), ids[:, :-1]], axis=1)


def gradients(model: Transformer) -> list[float]:
    """The norm of the gradient of each decoder layer's feed-forward weights."""
    norms = []
    for layer in model.decoder.layers:
        found = [parameter.grad for parameter in layer.feed_forward.parameters() if parameter.grad is not None]
        norms.append(math.sqrt(sum(float((gradient.data**2).sum()) for gradient in found)))
    return norms
