"""What neural networks are made of: fused operations, each a textbook definition and a hand-derived kernel."""

from minigrad.ops.neural.attention import attention, attention_steps
from minigrad.ops.neural.embedding import embedding
from minigrad.ops.neural.feed_forward import feed_forward
from minigrad.ops.neural.gelu import gelu
from minigrad.ops.neural.linear import dropout, linear
from minigrad.ops.neural.losses import cross_entropy
from minigrad.ops.neural.multi_head import merge_heads, multi_head_attention, split_heads
from minigrad.ops.neural.normalisation import add_norm, layer_norm, rms_norm
from minigrad.ops.neural.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "add_norm",
    "attention",
    "attention_steps",
    "cross_entropy",
    "dropout",
    "embedding",
    "feed_forward",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "logsumexp",
    "merge_heads",
    "multi_head_attention",
    "rms_norm",
    "softmax",
    "split_heads",
]
