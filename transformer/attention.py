"""Multi-head attention. The paper, section 3.2.

Shapes: B batch, T_q / T_k lengths, D d_model, H heads, H_k heads of keys and values, D_h = D / H.
"""

from functools import partial

import numpy as np

import minigrad as mg
from transformer.activations import in_parts, noted, watched
from transformer.cache import Grown, KeysValues, Once
from transformer.masks import Mask
from transformer.positions import NOTHING, Relative, turned


class MultiHeadAttention(mg.nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O, head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    The H projections of Q stand side by side in one Linear (D, D), and so do those of K and V, (D, H_k D_h): W_Q, W_K,
    W_V and W_O are `query`, `key`, `value`, `output`.
    kv_heads: H_k, each of which serves H / H_k heads of queries, side by side (Ainslie et al. 2023); 0: H.
    """

    def __init__(
        self, d_model: int, heads: int, rng: np.random.Generator, kv_heads: int = 0, bias: bool = True
    ) -> None:
        if d_model % heads:
            raise ValueError(f"d_model={d_model} must be a multiple of heads={heads}")
        self.heads = heads
        self.kv_heads = kv_heads or heads
        if heads % self.kv_heads:
            raise ValueError(f"heads={heads} must be a multiple of kv_heads={kv_heads}")
        d_kv = d_model // heads * self.kv_heads
        self.query = mg.nn.Linear(d_model, d_model, rng, bias)
        self.key = mg.nn.Linear(d_model, d_kv, rng, bias)
        self.value = mg.nn.Linear(d_model, d_kv, rng, bias)
        self.output = mg.nn.Linear(d_model, d_model, rng, bias)

    def forward(
        self,
        x: mg.Tensor,
        memory: mg.Tensor,
        mask: Mask | None = None,
        relative: Relative = NOTHING,
        cache: Grown | Once | None = None,
    ) -> mg.Tensor:
        """x (B, T_q, D) asks, memory (B, T_k, D) answers -> (B, T_q, D). In self-attention both are the same tensor.

        mask: boolean, True = may attend, broadcast to (B, H, T_q, T_k). A query that may see nothing gets 0 from every
        head. relative: what places do, see `transformer.positions`. cache: the keys and values of earlier positions,
        which these join; T_k is then how many there are in all.
        Activations: q (B, H, T_q, D_h), k, v (B, H_k, T_k, D_h), scores and pattern (B, H, T_q, T_k), z like q; more in
        `transformer.activations`.
        """
        if in_parts(self) or relative is not NOTHING or cache is not None or self.kv_heads != self.heads:
            return self._in_parts(x, memory, mask, relative, cache)
        query, key, value, output = ((p.weight, p.bias) for p in (self.query, self.key, self.value, self.output))
        return mg.multi_head_attention(x, memory, query, key, value, output, self.heads, mask)

    def _in_parts(
        self, x: mg.Tensor, memory: mg.Tensor, mask: Mask | None, relative: Relative, cache: Grown | Once | None
    ) -> mg.Tensor:
        q = mg.split_heads(noted(self, "query", self.query(x)), self.heads)
        q = noted(self, "q", q if relative.query is None else turned(q, relative.query))
        make = partial(self._keys_and_values, memory, relative)
        k, v = make() if cache is None else cache.through(make)
        k, v = (part if self.kv_heads == self.heads else self._shared(part) for part in (k, v))
        if watched(self):
            z = mg.attention_steps(q, k, v, mask, relative.bias, partial(noted, self))
        else:
            z = mg.attention(q, k, v, mask, relative.bias)
        out: mg.Tensor = self.output(mg.merge_heads(z))
        return noted(self, "out", out)

    def _keys_and_values(self, memory: mg.Tensor, relative: Relative) -> KeysValues:
        key, value = noted(self, "key", self.key(memory)), noted(self, "value", self.value(memory))
        k, v = mg.split_heads(key, self.kv_heads), mg.split_heads(value, self.kv_heads)
        return noted(self, "k", k if relative.key is None else turned(k, relative.key)), noted(self, "v", v)

    def _shared(self, part: mg.Tensor) -> mg.Tensor:
        """(B, H_k, T, D_h) -> (B, H, T, D_h): each head of keys or values once for each query head that it serves."""
        return mg.repeat(part, self.heads // self.kv_heads, axis=-3)
