"""The layers of encoder and decoder. The paper, sections 3.1, 3.3 and 3.4.

Shapes: B batch, T length, D d_model, V vocabulary.
"""

import math
from collections.abc import Callable

import numpy as np

import minigrad as mg
from transformer.activations import in_parts
from transformer.attention import MultiHeadAttention
from transformer.config import TransformerConfig
from transformer.masks import Ids, Mask
from transformer.vocabulary import PAD


class TokenEmbedding(mg.nn.Embedding):
    """Word vectors times sqrt(D) (section 3.4); 0 at padding, whatever the table holds there.

    table: another embedding's table, where the two are tied.
    """

    def __init__(
        self, count: int, d_model: int, rng: np.random.Generator, table: mg.nn.Parameter | None = None
    ) -> None:
        if table is None:
            super().__init__(count, d_model, rng)
        else:
            self.weight = table

    def forward(self, ids: Ids) -> mg.Tensor:
        """(B, T) -> (B, T, D)."""
        return mg.embedding(self.weight, self.checked(ids), math.sqrt(self.weight.shape[1]), ids != PAD)


class FeedForward(mg.nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at each position alone (section 3.3). W_1 is `inner`, W_2 is `outer`."""

    def __init__(self, d_model: int, d_ff: int, rng: np.random.Generator) -> None:
        self.inner = mg.nn.Linear(d_model, d_ff, rng)
        self.outer = mg.nn.Linear(d_ff, d_model, rng)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        """(B, T, D) -> (B, T, D)."""
        if in_parts(self):
            out: mg.Tensor = self.outer(mg.relu(self.inner(x)))
            return out
        return mg.feed_forward(x, self.inner.weight, self.inner.bias, self.outer.weight, self.outer.bias)


class AddNorm(mg.nn.Module):
    """A residual connection around a sub-layer, and layer normalisation (section 3.1).

    Post-norm, as in the paper: LayerNorm(x + Dropout(sublayer(x))). Pre-norm: x + Dropout(sublayer(LayerNorm(x))).
    """

    def __init__(self, config: TransformerConfig) -> None:
        self.gain = mg.nn.ones(config.d_model)
        self.bias = mg.nn.zeros(config.d_model)
        self.dropout = config.dropout
        self.norm = config.norm

    def forward(
        self, x: mg.Tensor, sublayer: Callable[[mg.Tensor], mg.Tensor], rng: np.random.Generator | None
    ) -> mg.Tensor:
        """(B, T, D) -> (B, T, D)."""
        if self.norm == "pre":
            return x + mg.nn.dropout(sublayer(mg.layer_norm(x, self.gain, self.bias)), self.dropout, rng)
        refined = mg.nn.dropout(sublayer(x), self.dropout, rng)
        if in_parts(self):
            return mg.layer_norm(x + refined, self.gain, self.bias)
        return mg.add_norm(x, refined, self.gain, self.bias)


class EncoderLayer(mg.nn.Module):
    """Self-attention, then the feed-forward network, each within add & norm (section 3.1)."""

    def __init__(self, config: TransformerConfig, rng: np.random.Generator) -> None:
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, rng)
        self.self_attention_norm = AddNorm(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, rng)
        self.feed_forward_norm = AddNorm(config)

    def forward(self, x: mg.Tensor, mask: Mask, rng: np.random.Generator | None) -> mg.Tensor:
        """(B, T, D) -> (B, T, D)."""
        x = self.self_attention_norm(x, lambda h: self.self_attention(h, h, mask), rng)
        x = self.feed_forward_norm(x, self.feed_forward, rng)
        return x


class DecoderLayer(mg.nn.Module):
    """Masked self-attention, attention to the encoder's output, the feed-forward network, each within add & norm."""

    def __init__(self, config: TransformerConfig, rng: np.random.Generator) -> None:
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, rng)
        self.self_attention_norm = AddNorm(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.heads, rng)
        self.cross_attention_norm = AddNorm(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, rng)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self, y: mg.Tensor, memory: mg.Tensor, mask: Mask, memory_mask: Mask, rng: np.random.Generator | None
    ) -> mg.Tensor:
        """y (B, T_t, D), memory (B, T_s, D) -> (B, T_t, D)."""
        y = self.self_attention_norm(y, lambda h: self.self_attention(h, h, mask), rng)
        y = self.cross_attention_norm(y, lambda h: self.cross_attention(h, memory, memory_mask), rng)
        y = self.feed_forward_norm(y, self.feed_forward, rng)
        return y


class TiedProjection(mg.nn.Module):
    """x @ table^T + bias: the output projection that shares the embedding's table (section 3.4)."""

    def __init__(self, table: mg.nn.Parameter) -> None:
        self.weight = table
        self.bias = mg.nn.zeros(len(table))

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        """(..., D) -> (..., V)."""
        return mg.linear(x, self.weight.T, self.bias)
