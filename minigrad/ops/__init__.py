"""The operations: rows of the table of rules, and the public functions that apply them."""

from minigrad.ops.elementwise import (
    abs,
    add,
    astype,
    cos,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    relu,
    sin,
    sqrt,
    subtract,
    tanh,
    where,
)
from minigrad.ops.indexing import getitem, scatter_add
from minigrad.ops.neural import (
    attention,
    attention_steps,
    cross_entropy,
    dropout,
    layer_norm,
    linear,
    log_softmax,
    logsumexp,
    softmax,
)
from minigrad.ops.products import matmul
from minigrad.ops.reductions import max, mean, sum
from minigrad.ops.shapes import broadcast_to, concatenate, expand_dims, reshape, squeeze, swapaxes, transpose

__all__ = [
    "abs", "add", "astype", "attention", "attention_steps",
    "broadcast_to", "concatenate", "cos", "cross_entropy", "divide", "dropout",
    "exp", "expand_dims", "getitem", "layer_norm", "linear", "log", "log_softmax", "logsumexp", "matmul", "max",
    "maximum", "mean", "minimum", "multiply", "negative", "power", "relu", "reshape", "scatter_add", "sin", "softmax",
    "sqrt", "squeeze", "subtract", "sum", "swapaxes", "tanh", "transpose", "where",
]  # fmt: skip
