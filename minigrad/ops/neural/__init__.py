"""What neural networks are made of: fused operations, each a textbook definition and a hand-derived kernel."""

from minigrad.ops.neural.attention import attention, attention_steps
from minigrad.ops.neural.gelu import gelu
from minigrad.ops.neural.linear import dropout, linear
from minigrad.ops.neural.losses import cross_entropy
from minigrad.ops.neural.normalisation import layer_norm, rms_norm
from minigrad.ops.neural.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "attention",
    "attention_steps",
    "cross_entropy",
    "dropout",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "logsumexp",
    "rms_norm",
    "softmax",
]
