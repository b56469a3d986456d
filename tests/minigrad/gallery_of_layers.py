"""Classic mistakes in the derivatives of a network's layers; they go into the same `GALLERY`."""

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.fused import Fused
from tests.minigrad.gallery import Entry, Function, both, entry, numbers


def fused(forward: Any, definition: Any, wrong: Any, right: Any, reads: str) -> tuple[Function, Function]:
    """A fused operation with either kernel."""
    kernel = lambda *arrays, **params: (forward(*arrays, **params), None)  # noqa: E731
    return (
        Fused("wrong", definition, kernel, wrong, "", reads),
        Fused("right", definition, kernel, right, "", reads),
    )


def normalised(x: np.ndarray) -> Any:
    """Layer normalisation, written so that complex numbers can go through it."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


@entry
def mask_after_the_softmax() -> Entry:
    seen = np.array([True, True, False, True])

    def definition(x: mg.Tensor) -> mg.Tensor:
        return mg.softmax(x, where=seen)

    def forward(x: np.ndarray) -> np.ndarray:
        e = np.exp(x) * seen
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    def wrong(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        e = np.exp(x)
        whole = e / e.sum(axis=-1, keepdims=True)  # the masked elements still take part in the sum
        return ((whole * (g - (g * whole).sum(axis=-1, keepdims=True))) * seen,)

    def right(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        return (out * (g - (g * out).sum(axis=-1, keepdims=True)),)

    return *fused(forward, definition, wrong, right, "x out"), [numbers(2, 4)]


@entry
def attention_scores_without_their_scale() -> Entry:
    def scores(query: Any, key: Any) -> Any:
        return query @ np.swapaxes(key, -1, -2) / 2.0

    def wrong(g: Any, out: Any, residuals: Any, query: Any, key: Any) -> Any:
        return g @ key, np.swapaxes(g, -1, -2) @ query

    def right(g: Any, out: Any, residuals: Any, query: Any, key: Any) -> Any:
        return g @ key / 2.0, np.swapaxes(g, -1, -2) @ query / 2.0

    return *fused(scores, scores, wrong, right, "query key"), [numbers(3, 4), numbers(5, 4, seed=1)]


@entry
def layer_norm_as_if_the_variance_were_constant() -> Entry:
    def wrong(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        rate = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return (rate * (g - g.mean(axis=-1, keepdims=True)),)

    def right(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        rate = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return (rate * (g - g.mean(axis=-1, keepdims=True) - out * (g * out).mean(axis=-1, keepdims=True)),)

    return *fused(normalised, mg.layer_norm, wrong, right, "x out"), [numbers(2, 5)]


@entry
def layer_norm_over_the_unbiased_variance() -> Entry:
    """The rule of a variance divided by n - 1, for a forward pass that divides by n."""

    def rule(g: Any, x: Any, out: Any, ddof: int) -> Any:
        rate = 1 / np.sqrt(x.var(axis=-1, keepdims=True, ddof=ddof) + 1e-5)
        return (rate * (g - g.mean(axis=-1, keepdims=True) - out * (g * out).mean(axis=-1, keepdims=True)),)

    return *fused(
        normalised, mg.layer_norm,
        lambda g, out, residuals, x: rule(g, x, out, 1), lambda g, out, residuals, x: rule(g, x, out, 0), "x out",
    ), [numbers(2, 5)]  # fmt: skip


@entry
def cross_entropy_divided_twice_by_the_count() -> Entry:
    targets = np.array([1, 0, 2])

    def definition(logits: mg.Tensor) -> mg.Tensor:
        return mg.cross_entropy(logits, targets)

    def loss(logits: np.ndarray) -> Any:
        return definition(mg.Tensor(logits)).data

    def rule(g: Any, logits: Any, count: int) -> Any:
        p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        return ((p - np.eye(4)[targets]) * g / count,)

    return *fused(
        loss, definition,
        lambda g, out, residuals, logits: rule(g, logits, 9), lambda g, out, residuals, logits: rule(g, logits, 3),
        "logits",
    ), [numbers(3, 4)]  # fmt: skip


@entry
def bias_summed_over_one_axis_only() -> Entry:
    def forward(x: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return x + bias

    def wrong(g: Any, out: Any, residuals: Any, x: Any, bias: Any) -> Any:
        return g, g[0].sum(axis=0)

    def right(g: Any, out: Any, residuals: Any, x: Any, bias: Any) -> Any:
        return g, g.sum(axis=(0, 1))

    return *fused(forward, mg.add, wrong, right, ""), [numbers(2, 3, 4), numbers(4, seed=1)]


@entry
def variance_in_one_pass() -> Entry:
    """E[x**2] - E[x]**2, of numbers near 10,000: half of the digits are gone."""

    def rule(g: Any, out: Any, variance: Any) -> Any:
        rate = 1 / np.sqrt(variance + 1e-5)
        return (rate * (g - g.mean(axis=-1, keepdims=True) - out * (g * out).mean(axis=-1, keepdims=True)),)

    def wrong(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        return rule(g, out, (x * x).mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2)

    def right(g: Any, out: Any, residuals: Any, x: Any) -> Any:
        return rule(g, out, x.var(axis=-1, keepdims=True))

    return *fused(normalised, mg.layer_norm, wrong, right, "x out"), [1e4 + numbers(2, 5)]


@entry
def gain_forgotten_in_the_gradient_of_x() -> Entry:
    def forward(x: np.ndarray, gain: np.ndarray) -> Any:
        return normalised(x) * gain

    def rule(g: Any, x: Any, inner: Any) -> Any:
        rate, out = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5), normalised(x)
        dx = rate * (inner - inner.mean(axis=-1, keepdims=True) - out * (inner * out).mean(axis=-1, keepdims=True))
        return dx, (g * out).sum(axis=0)

    return *fused(
        forward, mg.layer_norm,
        lambda g, out, residuals, x, gain: rule(g, x, g),
        lambda g, out, residuals, x, gain: rule(g, x, g * gain), "x gain",
    ), [numbers(2, 5), numbers(5, seed=1)]  # fmt: skip


@entry
def dropout_without_its_scale() -> Entry:
    keep = np.array([True, False, True])
    return *both(lambda x: x * keep / 0.5, lambda g, out, x: g * keep, lambda g, out, x: g * keep / 0.5), [
        numbers(2, 3)
    ]


@entry
def dropout_with_another_mask() -> Entry:
    keep, other = np.array([True, False, True]), np.array([True, True, False])
    rules = lambda g, out, x: g * other / 0.5, lambda g, out, x: g * keep / 0.5
    return *both(lambda x: x * keep / 0.5, *rules), [numbers(2, 3)]


@entry
def log_softmax_that_takes_its_output_for_probabilities() -> Entry:
    def forward(x: np.ndarray) -> np.ndarray:
        return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))

    rules = (
        lambda g, out, x: g - out * g.sum(axis=-1, keepdims=True),
        lambda g, out, x: g - np.exp(out) * g.sum(axis=-1, keepdims=True),
    )
    return *both(forward, *rules), [numbers(2, 4)]


@entry
def residual_branch_forgotten() -> Entry:
    rules = lambda g, out, x: g * np.cos(x), lambda g, out, x: g + g * np.cos(x)
    return *both(lambda x: x + np.sin(x), *rules), [numbers(2, 3)]


@entry
def derivative_of_another_gelu() -> Entry:
    """That of x * sigmoid(1.702 x), for the tanh form."""
    c = float(np.sqrt(2 / np.pi))

    def forward(x: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * x * (1 + np.tanh(c * (x + 0.044715 * x * x * x))))

    def wrong(g: Any, out: Any, x: Any) -> Any:
        s = 1 / (1 + np.exp(-1.702 * x))
        return g * (s + 1.702 * x * s * (1 - s))

    def right(g: Any, out: Any, x: Any) -> Any:
        t = np.tanh(c * (x + 0.044715 * x * x * x))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))

    return *both(forward, wrong, right), [numbers(4)]


def cross_entropy_entry(wrong: Any, right: Any, targets: np.ndarray, **options: Any) -> Entry:
    """A cross-entropy of 3 targets among 4 classes, with a rule that is given the probabilities."""

    def definition(logits: mg.Tensor) -> mg.Tensor:
        return mg.cross_entropy(logits, targets, **options)

    def loss(logits: np.ndarray) -> Any:
        return definition(mg.Tensor(logits)).data

    def kernel(rule: Any) -> Any:
        return lambda g, out, residuals, logits: (
            g * rule(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)),
        )

    return *fused(loss, definition, kernel(wrong), kernel(right), "logits"), [numbers(3, 4)]


@entry
def label_smoothing_forgotten() -> Entry:
    targets = np.array([1, 0, 2])
    hot = np.eye(4)[targets]
    return cross_entropy_entry(
        lambda p: (p - hot) / 3, lambda p: (p - 0.9 * hot - 0.1 / 4) / 3, targets, label_smoothing=0.1
    )


@entry
def ignored_target_counted_in_the_mean() -> Entry:
    targets = np.array([1, 0, 2])
    hot, counts = np.eye(4)[targets], np.array([[1.0], [0.0], [1.0]])
    return cross_entropy_entry(
        lambda p: (p - hot) * counts / 3, lambda p: (p - hot) * counts / 2, targets, ignore_index=0
    )


@entry
def ignored_target_with_a_gradient() -> Entry:
    targets = np.array([1, 0, 2])
    hot, counts = np.eye(4)[targets], np.array([[1.0], [0.0], [1.0]])
    return cross_entropy_entry(lambda p: (p - hot) / 2, lambda p: (p - hot) * counts / 2, targets, ignore_index=0)


@entry
def heads_joined_in_the_wrong_order() -> Entry:
    """(T, H, D) joined from (H, T, D): reshaped back without the transpose. Of the right shape, and wrong."""
    rules = (
        lambda g, out, x: g.reshape(2, 3, 4),
        lambda g, out, x: g.reshape(3, 2, 4).transpose(1, 0, 2),
    )
    return *both(lambda x: x.transpose(1, 0, 2).reshape(3, 8), *rules), [numbers(2, 3, 4)]


@entry
def gradient_clipped_on_its_way() -> Entry:
    rules = lambda g, out, x: np.clip(g * out, -1, 1), lambda g, out, x: g * out
    return *both(np.exp, *rules), [numbers(4)]


@entry
def attention_whose_softmax_forgets_the_row() -> Entry:
    """The softmax's own derivative taken for the diagonal alone, inside attention."""

    def forward(scores: np.ndarray, value: np.ndarray) -> Any:
        e = np.exp(scores)
        return (e / e.sum(axis=-1, keepdims=True)) @ value

    def definition(scores: mg.Tensor, value: mg.Tensor) -> mg.Tensor:
        return mg.softmax(scores) @ value

    def rule(g: Any, scores: Any, value: Any, row: bool) -> Any:
        p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        dp = g @ value.T
        return p * (dp - row * (dp * p).sum(axis=-1, keepdims=True)), p.T @ g

    return *fused(
        forward, definition,
        lambda g, out, residuals, scores, value: rule(g, scores, value, False),
        lambda g, out, residuals, scores, value: rule(g, scores, value, True), "scores value",
    ), [numbers(3, 4), numbers(4, 2, seed=1)]  # fmt: skip
