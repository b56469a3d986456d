"""The training step that is compared, in four sizes: the paper's encoder-decoder, post-norm, without dropout.

Loss: cross-entropy of every target position. Update: Adam. float32. One batch, the same at every step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

RATE, BETAS, EPS = 1e-3, (0.9, 0.98), 1e-9
SPECIAL = 4  # the first ids are padding, begin, end and unknown: no word of the batch

Step = Callable[[], float | None]
"""One training step. It gives the loss before its update; None if it computes none."""


@dataclass(frozen=True)
class StepConfig:
    """A size of the step.

    repeats: rounds that make its median steady. goals: minigrad's time by a competitor's, at most; one thread each.
    """

    name: str
    d_model: int
    heads: int
    layers: int
    d_ff: int
    batch: int
    length: int
    vocab: int
    repeats: int = 1
    goals: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def d_head(self) -> int:
        return self.d_model // self.heads


CONFIGS = {
    config.name: config
    for config in (
        StepConfig("micro", 32, 4, 1, 64, 32, 10, 16, 100, {"torch": 0.55, "jax": 1.0, "floor": 2.8}),
        StepConfig("tiny", 64, 4, 2, 256, 64, 12, 16, 50, {"torch": 0.8, "jax": 1.0, "floor": 1.5}),
        StepConfig("small", 128, 8, 2, 512, 64, 20, 200, 20, {"torch": 0.9, "jax": 1.0, "floor": 1.3}),
        StepConfig("paper", 512, 8, 6, 2048, 8, 32, 1000, 6, {"torch": 1.0, "jax": 1.2, "floor": 1.3}),
    )
}


def batch(config: StepConfig, seed: int) -> list[np.ndarray]:
    """(source, target_in, target_out), each (B, T) of ids that are words."""
    rng = np.random.default_rng([seed, 0])
    return [rng.integers(SPECIAL, config.vocab, (config.batch, config.length)) for _ in range(3)]
