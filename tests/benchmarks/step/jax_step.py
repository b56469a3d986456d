"""The step in jax: plain functions of the weights, gradient and Adam in one `jax.jit`.

Parameters and moments are donated, so that jax may write the new ones where the old ones stand.
"""

import os
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from tests.benchmarks.step.configs import BETAS, EPS, RATE, Step, StepConfig, batch
from tests.benchmarks.step.weights import weights
from transformer.positions import sinusoids

Weights = dict[str, jax.Array]


def prepare(threads: int) -> None:
    """No threads for matrix products where one is asked for; XLA reads this at the first use of jax.

    XLA takes threads of its own for other work: only a process that is held on one core has but one.
    """
    if threads == 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"


def affine(p: Weights, name: str, x: jax.Array) -> jax.Array:
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def layer_norm(p: Weights, name: str, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.gain"] + p[f"{name}.bias"]


def attention(
    p: Weights, name: str, heads: int, x: jax.Array, memory: jax.Array, allowed: jax.Array | None = None
) -> jax.Array:
    """Multi-head attention, then add & norm: (B, T, D), (B, T, D) -> (B, T, D)."""

    def split(z: jax.Array) -> jax.Array:
        return z.reshape(*z.shape[:2], heads, -1).swapaxes(1, 2)

    q = split(affine(p, f"{name}.query", x))
    k, v = (split(affine(p, f"{name}.{part}", memory)) for part in ("key", "value"))
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    if allowed is not None:
        scores = jnp.where(allowed, scores, -jnp.inf)
    z = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape)
    return layer_norm(p, f"{name}_norm", x + affine(p, f"{name}.output", z))


def feed_forward(p: Weights, name: str, x: jax.Array) -> jax.Array:
    """The feed-forward network, then add & norm."""
    inner = jax.nn.relu(affine(p, f"{name}.inner", x))
    return layer_norm(p, f"{name}_norm", x + affine(p, f"{name}.outer", inner))


def loss_of(
    p: Weights, source: jax.Array, target_in: jax.Array, target_out: jax.Array, config: StepConfig
) -> jax.Array:
    """The mean cross-entropy."""
    d, heads, length = config.d_model, config.heads, config.length
    positions = jnp.asarray(sinusoids(length, d), jnp.float32)
    causal = jnp.tril(jnp.ones((length, length), bool))
    x = p["source_embedding.weight"][source] * d**0.5 + positions
    for n in range(config.layers):
        x = attention(p, f"encoder.layers.{n}.self_attention", heads, x, x)
        x = feed_forward(p, f"encoder.layers.{n}.feed_forward", x)
    y = p["target_embedding.weight"][target_in] * d**0.5 + positions
    for n in range(config.layers):
        y = attention(p, f"decoder.layers.{n}.self_attention", heads, y, y, causal)
        y = attention(p, f"decoder.layers.{n}.cross_attention", heads, y, x)
        y = feed_forward(p, f"decoder.layers.{n}.feed_forward", y)
    log_p = jax.nn.log_softmax(affine(p, "output", y))
    return -jnp.take_along_axis(log_p, target_out[..., None], -1).mean()


def adam(p: jax.Array, m: jax.Array, v: jax.Array, i: jax.Array) -> jax.Array:
    """A parameter after step i, with m and v that hold that step's gradient."""
    first, second = BETAS
    return p - RATE * (m / (1 - first**i)) / (jnp.sqrt(v / (1 - second**i)) + EPS)


@partial(jax.jit, static_argnames="config", donate_argnames=("p", "m", "v"))
def update(
    p: Weights, m: Weights, v: Weights, i: jax.Array, data: tuple[jax.Array, ...], config: StepConfig
) -> tuple[Weights, Weights, Weights, jax.Array]:
    """The weights and moments after a step, and the loss before it."""
    loss, g = jax.value_and_grad(loss_of)(p, *data, config)
    first, second = BETAS
    m = jax.tree.map(lambda m, g: first * m + (1 - first) * g, m, g)
    v = jax.tree.map(lambda v, g: second * v + (1 - second) * g * g, v, g)
    return jax.tree.map(lambda p, m, v: adam(p, m, v, i), p, m, v), m, v, loss


def build(config: StepConfig, seed: int) -> Callable[[], Step]:
    """The weights; what it gives makes Adam's moments, and then is the step."""
    start = {name: jnp.asarray(array) for name, array in weights(config, seed).items()}
    data = tuple(jnp.asarray(part) for part in batch(config, seed))

    def begin() -> Step:
        p, m, v, made = start, jax.tree.map(jnp.zeros_like, start), jax.tree.map(jnp.zeros_like, start), 0

        def step() -> float:
            nonlocal p, m, v, made
            made += 1
            p, m, v, loss = jax.block_until_ready(update(p, m, v, jnp.float32(made), data, config))
            return float(loss)

        return step

    return begin
