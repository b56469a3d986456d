"""The layers of encoder and decoder. The paper, sections 3.1, 3.3 and 3.4.

Shapes: B batch, T length, D d_model, V vocabulary.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.activations import in_parts, noted
from transformer.attention import MultiHeadAttention
from transformer.cache import LayerCache
from transformer.config import StackConfig
from transformer.masks import Ids, Mask
from transformer.positions import NOTHING, Relative
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
        vectors = mg.embedding(self.weight, self.checked(ids), math.sqrt(self.weight.shape[1]), ids != PAD)
        return noted(self, "out", vectors)


class FeedForward(mg.nn.Module):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2, at each position alone (section 3.3). W_1 is `inner`, W_2 is `outer`.

    activation: f, "relu", max(0, x), as in the paper, or "gelu" (Hendrycks and Gimpel 2016).
    """

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.activation = config.feed_forward
        self.inner = mg.nn.Linear(config.d_model, config.d_ff, rng, config.bias)
        self.outer = mg.nn.Linear(config.d_ff, config.d_model, rng, config.bias)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        """(B, T, D) -> (B, T, D). Activations: inner, hidden (B, T, F), out."""
        if self.activation == "relu" and not in_parts(self):
            return mg.feed_forward(x, self.inner.weight, self.inner.bias, self.outer.weight, self.outer.bias)
        f = mg.relu if self.activation == "relu" else mg.gelu
        inner = noted(self, "inner", self.inner(x))
        return noted(self, "out", self.outer(noted(self, "hidden", f(inner))))


class GatedFeedForward(mg.nn.Module):
    """FFN(x) = (silu(x W_g) * (x W_1)) W_2, "SwiGLU": one product opens or shuts what the other carries.

    W_g is `gate`, W_1 `inner`, W_2 `outer`. Source: Shazeer 2020, equation 6.
    """

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.gate = mg.nn.Linear(config.d_model, config.d_ff, rng, config.bias)
        self.inner = mg.nn.Linear(config.d_model, config.d_ff, rng, config.bias)
        self.outer = mg.nn.Linear(config.d_ff, config.d_model, rng, config.bias)

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        """(B, T, D) -> (B, T, D). Activations: gate, opened, inner, hidden (B, T, F), out."""
        opened = noted(self, "opened", mg.silu(noted(self, "gate", self.gate(x))))
        hidden = noted(self, "hidden", opened * noted(self, "inner", self.inner(x)))
        return noted(self, "out", self.outer(hidden))


def feed_forward(config: StackConfig, rng: np.random.Generator) -> mg.nn.Module:
    """The feed-forward network that a config asks for."""
    return GatedFeedForward(config, rng) if config.feed_forward == "swiglu" else FeedForward(config, rng)


def norm(config: StackConfig) -> mg.nn.Module:
    """The normalisation that a config asks for."""
    if config.norm_kind == "rms":
        return mg.nn.RMSNorm(config.d_model)
    return mg.nn.LayerNorm(config.d_model, bias=config.bias)


class AddNorm(mg.nn.Module):
    """A residual connection around a sub-layer, and normalisation (section 3.1).

    Post-norm, as in the paper: LayerNorm(x + Dropout(sublayer(x))). Pre-norm: x + Dropout(sublayer(LayerNorm(x))).
    Where the norm is "rms", or the config wants none, there is no bias.
    """

    def __init__(self, config: StackConfig) -> None:
        self.gain = mg.nn.ones(config.d_model)
        self.bias = mg.nn.zeros(config.d_model) if config.norm_kind == "layer" and config.bias else None
        self.dropout = config.dropout
        self.norm = config.norm
        self.norm_kind = config.norm_kind

    def forward(
        self, x: mg.Tensor, sublayer: Callable[[mg.Tensor], mg.Tensor], rng: np.random.Generator | None
    ) -> mg.Tensor:
        """(B, T, D) -> (B, T, D). Activations: refined, out; normal if the norm goes before, sum if it comes behind."""
        if self.norm == "pre":
            refined = mg.nn.dropout(sublayer(noted(self, "normal", self._normalised(x))), self.dropout, rng)
            return noted(self, "out", x + noted(self, "refined", refined))
        refined = noted(self, "refined", mg.nn.dropout(sublayer(x), self.dropout, rng))
        if self.bias is None or in_parts(self):
            return noted(self, "out", self._normalised(noted(self, "sum", x + refined)))
        return mg.add_norm(x, refined, self.gain, self.bias)

    def _normalised(self, x: mg.Tensor) -> mg.Tensor:
        return mg.rms_norm(x, self.gain) if self.norm_kind == "rms" else mg.layer_norm(x, self.gain, self.bias)


class View(NamedTuple):
    """What queries see of keys: where they may look, and what places do."""

    mask: Mask | None
    relative: Relative = NOTHING


class EncoderLayer(mg.nn.Module):
    """Self-attention, then the feed-forward network, each within add & norm (section 3.1).

    In a decoder-only model the same layer looks at what went before alone: its view says so.
    """

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.self_attention = attention(config, rng)
        self.self_attention_norm = AddNorm(config)
        self.feed_forward = feed_forward(config, rng)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self, x: mg.Tensor, view: View, rng: np.random.Generator | None, cache: LayerCache | None = None
    ) -> mg.Tensor:
        """(B, T, D) -> (B, T, D). cache: of the positions before these, if there were any."""
        kept = None if cache is None else cache.self_attention
        x = self.self_attention_norm(x, lambda h: self.self_attention(h, h, *view, kept), rng)
        x = self.feed_forward_norm(x, self.feed_forward, rng)
        return x


class DecoderLayer(mg.nn.Module):
    """Masked self-attention, attention to the encoder's output, the feed-forward network, each within add & norm."""

    def __init__(self, config: StackConfig, rng: np.random.Generator) -> None:
        self.self_attention = attention(config, rng)
        self.self_attention_norm = AddNorm(config)
        self.cross_attention = attention(config, rng)
        self.cross_attention_norm = AddNorm(config)
        self.feed_forward = feed_forward(config, rng)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self,
        y: mg.Tensor,
        memory: mg.Tensor,
        view: View,
        memory_view: View,
        rng: np.random.Generator | None,
        cache: LayerCache | None = None,
    ) -> mg.Tensor:
        """y (B, T_t, D), memory (B, T_s, D) -> (B, T_t, D). cache: of the positions before these, if there were any."""
        own, other = (None, None) if cache is None else (cache.self_attention, cache.cross_attention)
        y = self.self_attention_norm(y, lambda h: self.self_attention(h, h, *view, own), rng)
        y = self.cross_attention_norm(y, lambda h: self.cross_attention(h, memory, *memory_view, other), rng)
        y = self.feed_forward_norm(y, self.feed_forward, rng)
        return y


def attention(config: StackConfig, rng: np.random.Generator) -> MultiHeadAttention:
    """The multi-head attention that a config asks for."""
    return MultiHeadAttention(config.d_model, config.heads, rng, config.kv_heads, config.bias)


class TiedProjection(mg.nn.Module):
    """x @ table^T + bias: the output projection that shares the embedding's table (section 3.4)."""

    def __init__(self, table: mg.nn.Parameter, bias: bool = True) -> None:
        self.weight = table
        self.bias = mg.nn.zeros(len(table)) if bias else None

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        """(..., D) -> (..., V)."""
        return mg.linear(x, self.weight.T, self.bias)
