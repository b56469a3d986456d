"""Layer normalisation of every position: y = n * gain + bias. Ba, Kiros and Hinton 2016; the paper, section 3.1.

    mu    = 1/D sum_i x_i
    c_i   = x_i - mu
    sigma = sqrt(1/D sum_i c_i^2 + eps)          the biased variance, and eps inside the root
    n_i   = c_i / sigma
    y_i   = n_i gain_i + bias_i

Derivation, of one position, from the last line to the first. mean() is over the D numbers.

y reads n, gain and bias; the last two are shared by all positions p:
    dgain_i = sum_p dy_pi n_pi,  dbias_i = sum_p dy_pi,  and  h_i = dn_i = dy_i gain_i

n_i reads c_i, and every c_k through sigma:  ∂sigma/∂c_k = (2 c_k / D) / (2 sigma) = n_k / D,  so
    ∂n_i/∂c_k = δ_ik / sigma - c_i / sigma^2 * n_k / D = (δ_ik - n_i n_k / D) / sigma
    dc_k = sum_i h_i ∂n_i/∂c_k = (h_k - n_k mean(h * n)) / sigma

c_k reads x_k, and every x_i through mu:  ∂c_k/∂x_i = δ_ik - 1/D,  so
    dx_i = dc_i - mean(dc)
    and mean(dc) = (mean(h) - mean(n) mean(h * n)) / sigma = mean(h) / sigma,  as mean(n) = 0

    dx = (h - mean(h) - n * mean(h * n)) / sigma

To be read off: what is taken away from h is its part along (1, ..., 1) and its part along n. To move x in these
directions, all up or all further from the mean, does not change y, so no gradient points there (along n: but for eps).
"""

from typing import NamedTuple

import numpy as np

from transformer.study.hand.arrays import Array

EPS = 1e-5


class Weights(NamedTuple):
    """gain and bias (D,), or None for no bias; or the gradients of these."""

    gain: Array
    bias: Array | None

    def named(self) -> dict[str, Array | None]:
        """Each by the model's name for it."""
        return self._asdict()


class Kept(NamedTuple):
    """n (..., D), sigma (..., 1), gain (D,): what the backward pass reads."""

    n: Array
    sigma: Array
    gain: Array


class Gradients(NamedTuple):
    """Of x (..., D) and the weights; where there was no bias, that of one that is 0."""

    x: Array
    weights: Weights


def forward(x: Array, weights: Weights) -> tuple[Array, Kept]:
    """n * gain + bias: (..., D) -> (..., D)."""
    c = x - x.mean(-1, keepdims=True)
    sigma = np.sqrt((c * c).mean(-1, keepdims=True) + EPS)
    n = c / sigma
    y = n * weights.gain
    return (y if weights.bias is None else y + weights.bias), Kept(n, sigma, weights.gain)


def backward(d_y: Array, kept: Kept) -> Gradients:
    """dx = (h - mean(h) - n * mean(h * n)) / sigma, h = dy * gain; dgain = sum dy * n, dbias = sum dy."""
    n, sigma, gain = kept
    h = d_y * gain
    d_x = (h - h.mean(-1, keepdims=True) - n * (h * n).mean(-1, keepdims=True)) / sigma
    positions = tuple(range(d_y.ndim - 1))
    return Gradients(d_x, Weights(gain=(d_y * n).sum(positions), bias=d_y.sum(positions)))
