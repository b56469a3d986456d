"""The boxes of the hand derivation, each with its arrays, its two functions, and the product's operation."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.positions import places_of, sinusoids
from transformer.study.hand import (
    add_norm,
    attention,
    cross_entropy,
    embedding,
    feed_forward,
    layer_norm,
    linear,
    multi_head,
    pre_norm,
    projection,
    softmax,
    sublayer,
)


class Case(NamedTuple):
    """arrays: what is differentiated, by name. forward: these -> (out, pull), and pull(d_out) gives {name: gradient}.
    product: the same out of Tensors."""

    arrays: dict[str, np.ndarray]
    forward: Callable
    product: Callable


def normal(rng, **shapes):
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def mask_of(rng, *shape):
    """About half may be seen; one query sees nothing, and one key is seen by nobody."""
    mask = rng.random(shape) < 0.6
    mask[..., rng.integers(shape[-2]), :] = False
    mask[..., rng.integers(shape[-1])] = False
    return mask


def linear_case(rng, b, t, i, j, *_):
    def forward(x, W, b):
        y, kept = linear.forward(x, W, b)
        return y, lambda d: linear.backward(d, kept)._asdict()

    return Case(normal(rng, x=(b, t, i), W=(i, j), b=(j,)), forward, lambda x, W, b: mg.linear(x, W, b))


def softmax_case(rng, b, h, q, k, *_):
    mask = mask_of(rng, b, 1, q, k)

    def forward(scores):
        pattern, kept = softmax.forward(scores, mask)
        return pattern, lambda d: {"scores": softmax.backward(d, kept)}

    return Case({"scores": 3 * rng.standard_normal((b, h, q, k))}, forward, lambda scores: mg.softmax(scores, -1, mask))


def attention_case(rng, b, h, q, k, d, v, *_):
    mask = mask_of(rng, b, 1, q, k)

    def forward(q, k, v):
        z, kept = attention.forward(q, k, v, mask)
        return z, lambda d_z: attention.backward(d_z, kept)._asdict()

    arrays = normal(rng, q=(b, h, q, d), k=(b, h, k, d), v=(b, h, k, v))
    return Case(arrays, forward, lambda q, k, v: mg.attention(q, k, v, mask))


def attention_weights(rng, width):
    return normal(
        rng, **{f"{kind}_{box}": (width, width) if kind == "W" else (width,) for box in "QKVO" for kind in "Wb"}
    )


def multi_head_product(x, memory, heads, mask, weights):
    pairs = [(weights[f"W_{box}"], weights[f"b_{box}"]) for box in "QKVO"]
    return mg.multi_head_attention(x, memory, *pairs, heads, mask)


def cross_attention_case(rng, b, h, q, k, d, *_):
    mask = mask_of(rng, b, 1, q, k)

    def forward(x, memory, **weights):
        out, kept = multi_head.forward(x, memory, multi_head.Weights(**weights), h, mask)

        def pull(d_out):
            found = multi_head.backward(d_out, kept)
            return {"x": found.x, "memory": found.memory, **found.weights._asdict()}

        return out, pull

    arrays = normal(rng, x=(b, q, h * d), memory=(b, k, h * d)) | attention_weights(rng, h * d)
    return Case(arrays, forward, lambda x, memory, **weights: multi_head_product(x, memory, h, mask, weights))


def self_attention_case(rng, b, h, t, _, d, *__):
    mask = mask_of(rng, b, 1, t, t)

    def forward(x, **weights):
        box = sublayer.self_attention(multi_head.Weights(**weights), h, mask)
        out, kept = box.forward(x)

        def pull(d_out):
            d_x, found = box.backward(d_out, kept)
            return {"x": d_x, **found.weights._asdict()}

        return out, pull

    arrays = normal(rng, x=(b, t, h * d)) | attention_weights(rng, h * d)
    return Case(arrays, forward, lambda x, **weights: multi_head_product(x, x, h, mask, weights))


def feed_forward_arrays(rng, d, f):
    return normal(rng, W_1=(d, f), b_1=(f,), W_2=(f, d), b_2=(d,))


def feed_forward_product(x, W_1, b_1, W_2, b_2):
    return mg.feed_forward(x, W_1, b_1, W_2, b_2)


def feed_forward_case(rng, b, t, d, f, *_):
    def forward(x, **weights):
        out, kept = feed_forward.forward(x, feed_forward.Weights(**weights))

        def pull(d_out):
            found = feed_forward.backward(d_out, kept)
            return {"x": found.x, **found.weights._asdict()}

        return out, pull

    return Case(normal(rng, x=(b, t, d)) | feed_forward_arrays(rng, d, f), forward, feed_forward_product)


def layer_norm_case(rng, b, t, d, *_):
    def forward(x, gain, bias):
        y, kept = layer_norm.forward(x, layer_norm.Weights(gain, bias))

        def pull(d_y):
            found = layer_norm.backward(d_y, kept)
            return {"x": found.x, **found.weights._asdict()}

        return y, pull

    return Case(
        normal(rng, x=(b, t, d), gain=(d,), bias=(d,)), forward, lambda x, gain, bias: mg.layer_norm(x, gain, bias)
    )


def connection_case(connection, product):
    """A residual connection around the feed-forward network."""

    def case(rng, b, t, d, f, *_):
        def forward(x, gain, bias, **weights):
            box = sublayer.feed_forward_network(feed_forward.Weights(**weights))
            out, kept = connection.forward(x, box, layer_norm.Weights(gain, bias))

            def pull(d_out):
                found = connection.backward(d_out, kept, box)
                return {"x": found.x, **found.norm._asdict(), **found.inner.weights._asdict()}

            return out, pull

        arrays = normal(rng, x=(b, t, d), gain=(d,), bias=(d,)) | feed_forward_arrays(rng, d, f)
        return Case(arrays, forward, product)

    return case


def add_norm_product(x, gain, bias, W_1, b_1, W_2, b_2):
    return mg.add_norm(x, mg.feed_forward(x, W_1, b_1, W_2, b_2), gain, bias)


def pre_norm_product(x, gain, bias, W_1, b_1, W_2, b_2):
    return x + mg.feed_forward(mg.layer_norm(x, gain, bias), W_1, b_1, W_2, b_2)


def embedding_case(rng, b, t, v, d, *_):
    ids = rng.integers(0, v, (b, t))  # more places than words: some stand twice
    words = rng.random((b, t)) < 0.7

    def forward(table):
        total, kept = embedding.forward(table, ids, words)
        return total, lambda d_total: {"table": embedding.backward(d_total, kept).table}

    def product(table):
        return mg.embedding(table, ids, math.sqrt(d), words) + sinusoids(t, d)[places_of(words)]

    return Case(normal(rng, table=(v, d)), forward, product)


def projection_case(rng, b, t, d, v, *_):
    def forward(x, table, b):
        logits, kept = projection.forward(x, table, b)
        return logits, lambda d_logits: projection.backward(d_logits, kept)._asdict()

    return Case(
        normal(rng, x=(b, t, d), table=(v, d), b=(v,)), forward, lambda x, table, b: mg.linear(x, table.T, b)
    )  # fmt: skip


def cross_entropy_case(rng, b, t, v, *_):
    target = rng.integers(0, v, (b, t))
    target[0, 0] = 0
    smoothing = rng.choice([0.0, 0.3])

    def forward(logits):
        loss, kept = cross_entropy.forward(logits, target, target != 0, smoothing)
        return loss, lambda d_loss: {"logits": cross_entropy.backward(d_loss, kept)}

    def product(logits):
        return mg.cross_entropy(logits, target, ignore_index=0, label_smoothing=smoothing)

    return Case({"logits": 3 * rng.standard_normal((b, t, v))}, forward, product)


CASES = {
    "linear": linear_case,
    "softmax": softmax_case,
    "attention": attention_case,
    "cross_attention": cross_attention_case,
    "self_attention": self_attention_case,
    "feed_forward": feed_forward_case,
    "layer_norm": layer_norm_case,
    "add_norm": connection_case(add_norm, add_norm_product),
    "pre_norm": connection_case(pre_norm, pre_norm_product),
    "embedding": embedding_case,
    "projection": projection_case,
    "cross_entropy": cross_entropy_case,
}
