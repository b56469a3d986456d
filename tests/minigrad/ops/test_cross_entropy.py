"""Cross-entropy: every reduction, smoothing and ignored row, and logits at the edges of the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.operations import seeds
from tests.minigrad.ops.kernels import garbage
from tests.minigrad.strategies import FLOATS, leaf, numbers


def reference(logits, targets, ignore, smoothing, reduction):
    """One row after the other, in float64, as the definition says."""
    flat, labels = logits.reshape(-1, logits.shape[-1]).astype(np.float64), targets.reshape(-1)
    losses, gradient, count = np.zeros(len(labels)), np.zeros(flat.shape), 0
    for i, (row, label) in enumerate(zip(flat, labels, strict=True)):
        if label == ignore:
            continue
        count += 1
        log_p = row - np.log(np.exp(row - row.max()).sum()) - row.max()
        wanted = np.full(len(row), smoothing / len(row))
        wanted[label] += 1 - smoothing
        losses[i] = -(wanted * log_p).sum()
        gradient[i] = np.exp(log_p) - wanted
    if reduction == "none":
        return losses.reshape(targets.shape), gradient.reshape(logits.shape)
    share = 1 if reduction == "sum" else 1 / max(count, 1)
    return losses.sum() * share, gradient.reshape(logits.shape) * share


@given(
    st.sampled_from(((), (3,), (2, 3))), st.sampled_from((1, 2, 5)), st.sampled_from((None, 0, -100)),
    st.sampled_from((0.0, 0.1, 1.0)), st.sampled_from(("mean", "sum", "none")), garbage, seeds,
)  # fmt: skip
def test_cross_entropy_is_its_definition_and_blind_to_ignored_rows(
    shape, classes, ignore, smoothing, reduction, hidden, seed
):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, shape)
    if ignore is not None:
        targets = np.where(rng.random(shape) < 0.5, ignore, targets)
    logits = numbers((*shape, classes), seed) * 5
    dirty = logits if ignore is None else np.where((targets == ignore)[..., None], hidden, logits)
    x = leaf(np.array(dirty))
    loss = mg.cross_entropy(x, targets, ignore, smoothing, reduction)
    g = 0.7 * np.ones(loss.shape)
    (found,) = mg.gradients(loss, [x], g)
    expected, derivative = reference(logits, targets, ignore, smoothing, reduction)
    np.testing.assert_allclose(loss.data, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.data, 0.7 * derivative, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_nothing_is_zero_with_zero_gradient(reduction):
    """Row 32: every target ignored, or no target at all."""
    for logits, targets in ((np.ones((3, 4)), [7, 7, 7]), (np.ones((0, 4)), np.zeros(0, int))):
        x = leaf(logits)
        loss = mg.cross_entropy(x, targets, ignore_index=7, reduction=reduction)
        assert not loss.data.any()
        loss.sum().backward()
        assert not x.grad.data.any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy_of_impossible_classes_has_the_gradient_of_the_others(dtype):
    """A logit of -inf, wherever it stands: probability 0, gradient 0; were the target there, an infinite loss."""
    for place in range(3):
        logits = np.insert(np.array([1.0, 2.0]), place, -np.inf).astype(dtype)
        x = leaf(logits[None])
        target = 0 if place else 1
        (gradient,) = mg.gradients(mg.cross_entropy(x, [target]), [x])
        p = np.exp(logits) / np.exp(logits).sum()
        p[target] -= 1
        np.testing.assert_allclose(gradient.data[0], p, rtol=1e-6)
        assert np.isposinf(mg.cross_entropy(x, [place]).item())
    nothing = leaf(np.full((1, 3), -np.inf, dtype))
    assert np.isposinf(mg.cross_entropy(nothing, [0]).item())
    assert np.isfinite(mg.gradients(mg.cross_entropy(nothing, [0]), [nothing])[0].data).all()


@pytest.mark.parametrize("spread", [1e4, 1e8, 1e20])
def test_cross_entropy_keeps_its_gradient_where_logits_are_far_apart_or_far_out(spread):
    """float32: neither a first logit far below the others nor a common offset may cost digits."""
    x = leaf(np.array([[-spread, 1.0, 2.0], [spread, spread, 0.0]], np.float32))
    (gradient,) = mg.gradients(mg.cross_entropy(x, [1, 0], reduction="sum"), [x])
    high = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(gradient.data, [[0, -high, high], [-0.5, 0.5, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("logits", "targets", "options", "error", "words"),
    [
        ((2, 3), [0.0, 1.0], {}, mg.DtypeError, "targets are class indices, integers, not float32"),
        ((2, 3), [True, False], {}, mg.DtypeError, "not bool"),
        ((2, 3), [0], {}, mg.ShapeError, r"targets \(1,\): targets must have the shape \(2,\)"),
        ((2, 3), [[0, 1]], {}, mg.ShapeError, "must have the shape"),
        ((), 0, {}, mg.ShapeError, "must have the shape"),
        (
            (2, 3),
            [0, 3],
            {},
            mg.OutOfRangeError,
            r"target 3 at \(1,\) is not one of the 3 classes .* ignore_index not set",
        ),
        ((2, 3), [-1, 0], {}, mg.OutOfRangeError, r"target -1 at \(0,\)"),
        ((2, 3), [-1, 0], {"ignore_index": 0}, mg.OutOfRangeError, "target -1"),
        ((2, 3), [0, 1], {"label_smoothing": 1.5}, mg.ShapeError, r"in \[0, 1\], not 1.5"),
        ((2, 3), [0, 1], {"reduction": "avg"}, mg.ShapeError, "'mean', 'sum' or 'none', not 'avg'"),
    ],
)
def test_cross_entropy_refuses_what_does_not_fit(logits, targets, options, error, words):
    with pytest.raises(error, match=words):
        mg.cross_entropy(np.ones(logits), targets, **options)
