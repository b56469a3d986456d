"""What no competitor can do without: the matrix products of the step, forward, and two for each of them backward."""

from collections.abc import Callable

import numpy as np

from tests.benchmarks.step.configs import Step, StepConfig
from tests.benchmarks.step.weights import products


def prepare(threads: int) -> None:
    """Nothing: NumPy's threads are held by whoever measures."""


def build(config: StepConfig, seed: int) -> Callable[[], Step]:
    """The operands; results go to memory that is there already."""
    rng = np.random.default_rng(seed)
    affine = [affine_operands(rng, config, *shape) for shape in products(config)]
    q, pattern = attention_operands(rng, config)
    new_q, new_pattern = np.empty_like(q), np.empty_like(pattern)

    def attend() -> None:
        """z = pattern @ v and its two cotangents, or scores = q @ k^T and its two: in both, three products."""
        np.matmul(q, q.swapaxes(-1, -2), out=new_pattern)
        np.matmul(pattern, q, out=new_q)
        np.matmul(pattern.swapaxes(-1, -2), q, out=new_q)

    def step() -> None:
        for x, w, g, y, dx, dw in affine:
            np.matmul(x, w, out=y)
            np.matmul(g, w.T, out=dx)
            np.matmul(x.T, g, out=dw)
        for _ in range(3 * config.layers):  # self-attention of both stacks, and cross-attention
            attend()
            attend()

    return lambda: step


def affine_operands(rng: np.random.Generator, config: StepConfig, inputs: int, outputs: int) -> list[np.ndarray]:
    """x, w, the cotangent g of y = x w; and room for y, dx, dw."""
    tokens = config.batch * config.length
    shapes = [(tokens, inputs), (inputs, outputs), (tokens, outputs), (tokens, outputs), (tokens, inputs)]
    return [normal(rng, *shape) for shape in [*shapes, (inputs, outputs)]]


def attention_operands(rng: np.random.Generator, config: StepConfig) -> tuple[np.ndarray, np.ndarray]:
    """One array for all that has the shape (B, H, T, D_h), and one for (B, H, T, T)."""
    front = (config.batch, config.heads, config.length)
    return normal(rng, *front, config.d_head), normal(rng, *front, config.length)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)
