"""Multi-head attention. The paper, section 3.2.

Shapes: B batch, T_q / T_k lengths, D d_model, H heads, D_h = D / H.
"""

import numpy as np

import minigrad as mg
from transformer.activations import in_parts, named, watched
from transformer.masks import Mask


class MultiHeadAttention(mg.nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O, head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    The H projections of Q stand side by side in one Linear (D, D), and so do those of K and V: W_Q, W_K, W_V and W_O
    are `query`, `key`, `value`, `output`.
    """

    def __init__(self, d_model: int, heads: int, rng: np.random.Generator) -> None:
        if d_model % heads:
            raise ValueError(f"d_model={d_model} must be a multiple of heads={heads}")
        self.heads = heads
        self.query = mg.nn.Linear(d_model, d_model, rng)
        self.key = mg.nn.Linear(d_model, d_model, rng)
        self.value = mg.nn.Linear(d_model, d_model, rng)
        self.output = mg.nn.Linear(d_model, d_model, rng)

    def forward(self, x: mg.Tensor, memory: mg.Tensor, mask: Mask | None = None) -> mg.Tensor:
        """x (B, T_q, D) asks, memory (B, T_k, D) answers -> (B, T_q, D). In self-attention both are the same tensor.

        mask: boolean, True = may attend, broadcast to (B, H, T_q, T_k). A query that may see nothing gets 0 from every
        head. Activations: q (B, H, T_q, D_h), k, v (B, H, T_k, D_h), scores and pattern (B, H, T_q, T_k), z like q.
        """
        if in_parts(self):
            return self._in_parts(x, memory, mask)
        query, key, value, output = ((p.weight, p.bias) for p in (self.query, self.key, self.value, self.output))
        return mg.multi_head_attention(x, memory, query, key, value, output, self.heads, mask)

    def _in_parts(self, x: mg.Tensor, memory: mg.Tensor, mask: Mask | None) -> mg.Tensor:
        q, k, v = (
            mg.split_heads(projection(source), self.heads)
            for projection, source in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        if watched(self):
            scores, pattern, z = mg.attention_steps(q, k, v, mask)
            named(self, q=q, k=k, v=v, scores=scores, pattern=pattern, z=z)
        else:
            z = mg.attention(q, k, v, mask)
        out: mg.Tensor = self.output(mg.merge_heads(z))
        return out
