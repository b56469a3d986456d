"""Linear, Embedding, LayerNorm, RMSNorm and dropout: the layers a Transformer is made of."""

import math
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, OutOfRangeError
from minigrad.nn.module import Module, Parameter
from minigrad.ops import dropout as dropout_with_mask
from minigrad.ops import embedding, layer_norm, linear, rms_norm
from minigrad.state import current
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike


def xavier_uniform(rng: np.random.Generator, inputs: int, outputs: int) -> Parameter:
    """A weight (inputs, outputs), uniform in +-sqrt(6 / (inputs + outputs)). Source: Glorot and Bengio 2010."""
    bound = math.sqrt(6 / (inputs + outputs))
    return Parameter(rng.uniform(-bound, bound, (inputs, outputs)).astype(current().default_dtype))


def normal(rng: np.random.Generator, rows: int, width: int, deviation: float) -> Parameter:
    """A table (rows, width), normal with mean 0 and this standard deviation."""
    return Parameter((deviation * rng.standard_normal((rows, width))).astype(current().default_dtype))


def zeros(*shape: int) -> Parameter:
    """A parameter of zeros."""
    return Parameter(np.zeros(shape, current().default_dtype))


def ones(*shape: int) -> Parameter:
    """A parameter of ones."""
    return Parameter(np.ones(shape, current().default_dtype))


class Linear(Module):
    """x @ weight + bias: (..., inputs) -> (..., outputs). weight is (inputs, outputs), so it reads as the paper does.

    rng: where the initial weight (Xavier, uniform) comes from; the bias starts at 0.
    """

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator, bias: bool = True) -> None:
        self.weight = xavier_uniform(rng, inputs, outputs)
        self.bias = zeros(outputs) if bias else None

    def forward(self, x: TensorLike) -> Tensor:
        """(..., inputs) -> (..., outputs)."""
        return linear(x, self.weight, self.bias)


class Embedding(Module):
    """A table of vectors: integer ids (...) -> (..., width).

    rng: where the initial table comes from, normal with standard deviation width**-0.5, so that vectors multiplied by
    sqrt(width), as the paper does, have elements of size 1.
    """

    def __init__(self, count: int, width: int, rng: np.random.Generator) -> None:
        self.weight = normal(rng, count, width, 1 / math.sqrt(width))

    def forward(self, ids: Any) -> Tensor:
        """ids (...), integers in [0, count) -> (..., width). Raises IndexError that names the first id outside."""
        return embedding(self.weight, self.checked(ids))

    def checked(self, ids: Any) -> Array:
        """The ids as an array, every one a row of the table; raises as `forward` does."""
        rows: Array = np.asarray(ids.data if isinstance(ids, Tensor) else ids)
        if rows.dtype.kind not in "iu":
            raise DtypeError(f"{self.path or 'embedding'}: ids are integers, not {rows.dtype}")
        count = self.weight.shape[0]
        if rows.size and (rows.min() < 0 or rows.max() >= count):
            position = tuple(int(i) for i in np.argwhere((rows < 0) | (rows >= count))[0])
            raise OutOfRangeError(
                f"{self.path or 'embedding'}: id {rows[position]} at {position} is not one of the {count} in the table"
            )
        return rows


class LayerNorm(Module):
    """Layer normalisation over the last axis, with a learnt gain (first 1) and bias (first 0); see `mg.layer_norm`."""

    def __init__(self, width: int, eps: float = 1e-5, bias: bool = True) -> None:
        self.gain = ones(width)
        self.bias = zeros(width) if bias else None
        self.eps = eps

    def forward(self, x: TensorLike) -> Tensor:
        """(..., width) -> (..., width)."""
        return layer_norm(x, self.gain, self.bias, self.eps)


class RMSNorm(Module):
    """Normalisation by the root mean square over the last axis, with a learnt gain (first 1); see `mg.rms_norm`."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        self.gain = ones(width)
        self.eps = eps

    def forward(self, x: TensorLike) -> Tensor:
        """(..., width) -> (..., width)."""
        return rms_norm(x, self.gain, self.eps)


def dropout(x: Tensor, rate: float, rng: np.random.Generator | None) -> Tensor:
    """Each element kept with probability 1 - rate and divided by it, else 0. With `rng` None, x itself.

    There is no training mode: randomness is handed in, so inference can't be left with it on.
    Source: the paper, section 5.4.
    """
    if rng is None or rate == 0:
        return x
    return dropout_with_mask(x, rng.random(x.shape, np.float32) >= rate, rate)
