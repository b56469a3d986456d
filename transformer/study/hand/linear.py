"""A linear map of every position: y = x W + b. The paper, sections 3.2.2 (W_Q, W_K, W_V, W_O), 3.3 (W_1, W_2).

    y_nj = sum_i x_ni W_ij + b_j         n: the positions, of all sentences

Derivation. y_nj reads x_ni times W_ij, so ∂y_nj/∂x_ni = W_ij, ∂y_nj/∂W_ij = x_ni and ∂y_nj/∂b_j = 1. What is not in
y_nj's formula has no part in it: position n of y reads position n of x alone. By the chain rule

    dx_ni = sum_j dy_nj W_ij             x_ni reaches every y_nj of its position       dx = dy W'
    dW_ij = sum_n dy_nj x_ni             W_ij reaches y_nj of every position           dW = x' dy
    db_j  = sum_n dy_nj                                                                db = column sums of dy

Shapes help to remember it: dW must be (I, J), and x' dy, (I, N) (N, J), is the only product of x and dy that is.
"""

from typing import NamedTuple

from transformer.study.hand.arrays import Array


class Kept(NamedTuple):
    """What the backward pass reads."""

    x: Array
    W: Array


class Gradients(NamedTuple):
    """Of x (..., I), W (I, J) and b (J,); where there was no b, that of one that is 0."""

    x: Array
    W: Array
    b: Array


def forward(x: Array, W: Array, b: Array | None) -> tuple[Array, Kept]:
    """x W + b: (..., I), (I, J), (J,) -> (..., J). b None: nothing is added."""
    y = x @ W
    return (y if b is None else y + b), Kept(x, W)


def backward(d_y: Array, kept: Kept) -> Gradients:
    """dx = dy W', dW = x' dy, db = column sums of dy."""
    inputs, outputs = kept.W.shape
    d_rows = d_y.reshape(-1, outputs)  # one row a position
    x_rows = kept.x.reshape(-1, inputs)
    return Gradients(x=d_y @ kept.W.T, W=x_rows.T @ d_rows, b=d_rows.sum(0))
