"""The operations: rows of the table of rules, and the public functions that apply them."""

from minigrad.ops.activations import erf, logaddexp, sigmoid, silu, softplus
from minigrad.ops.arrangements import flip, pad, repeat, split, stack, tile, tril, triu
from minigrad.ops.choices import abs, clip, maximum, minimum, relu, where
from minigrad.ops.contractions import einsum
from minigrad.ops.elementwise import (
    add,
    astype,
    cos,
    divide,
    exp,
    log,
    multiply,
    negative,
    power,
    sin,
    sqrt,
    subtract,
    tanh,
)
from minigrad.ops.indexing import getitem, scatter_add
from minigrad.ops.neural import (
    add_norm,
    attention,
    attention_steps,
    cross_entropy,
    dropout,
    embedding,
    feed_forward,
    gelu,
    layer_norm,
    linear,
    log_softmax,
    logsumexp,
    merge_heads,
    multi_head_attention,
    rms_norm,
    softmax,
    split_heads,
)
from minigrad.ops.products import matmul
from minigrad.ops.reductions import max, mean, min, prod, sum
from minigrad.ops.scans import cumprod, cumsum
from minigrad.ops.selections import sort, take, take_along_axis
from minigrad.ops.shapes import broadcast_to, concatenate, expand_dims, reshape, squeeze, swapaxes, transpose
from minigrad.ops.statistics import norm, std, var

__all__ = [
    "abs", "add", "add_norm", "astype", "attention", "attention_steps", "broadcast_to", "clip", "concatenate", "cos",
    "cross_entropy", "cumprod", "cumsum", "divide", "dropout", "einsum", "embedding", "erf", "exp", "expand_dims",
    "feed_forward", "flip", "gelu", "getitem", "layer_norm", "linear", "log", "log_softmax", "logaddexp", "logsumexp",
    "matmul", "max", "maximum", "mean", "merge_heads", "min", "minimum", "multi_head_attention", "multiply", "negative",
    "norm", "pad", "power", "prod", "relu", "repeat", "reshape", "rms_norm", "scatter_add", "sigmoid", "silu", "sin",
    "softmax", "softplus", "sort", "split", "split_heads", "sqrt", "squeeze", "stack", "std", "subtract", "sum",
    "swapaxes", "take", "take_along_axis", "tanh", "tile", "transpose", "tril", "triu", "var", "where",
]  # fmt: skip
