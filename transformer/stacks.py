"""The stacks: N layers each. The paper, section 3.1.

Shapes: B batch, T_s / T_t source and target lengths, D d_model.
"""

import numpy as np

import minigrad as mg
from transformer.activations import noted
from transformer.cache import Cache
from transformer.config import StackConfig
from transformer.layers import DecoderLayer, EncoderLayer, View, norm


class Encoder(mg.nn.Module):
    """N encoder layers; in a pre-norm model a last norm, in the paper's none."""

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.layers = [EncoderLayer(config, rng) for _ in range(config.layers)]
        self.norm = norm(config) if config.norm == "pre" else None

    def forward(
        self, x: mg.Tensor, view: View, rng: np.random.Generator | None, cache: Cache | None = None
    ) -> mg.Tensor:
        """(B, T, D) -> (B, T, D)."""
        for n, layer in enumerate(self.layers):
            x = layer(x, view, rng, None if cache is None else cache.layers[n])
        return noted(self, "out", x if self.norm is None else self.norm(x))


class Decoder(mg.nn.Module):
    """N decoder layers; in a pre-norm model a last norm, in the paper's none."""

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.layers = [DecoderLayer(config, rng) for _ in range(config.layers)]
        self.norm = norm(config) if config.norm == "pre" else None

    def forward(
        self,
        y: mg.Tensor,
        memory: mg.Tensor,
        view: View,
        memory_view: View,
        rng: np.random.Generator | None,
        cache: Cache | None = None,
    ) -> mg.Tensor:
        """y (B, T_t, D), memory (B, T_s, D) -> (B, T_t, D)."""
        for n, layer in enumerate(self.layers):
            y = layer(y, memory, view, memory_view, rng, None if cache is None else cache.layers[n])
        return noted(self, "out", y if self.norm is None else self.norm(y))
