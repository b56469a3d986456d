"""Question 7: the terms of layer norm's gradient, against Jacobians written out by hand."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.study.questions.norms import EPS, layer_norm_terms

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def rows(subject):
    """(x, gain times the cotangent) of each row of the last norm of the decoder's last layer."""
    trace = subject.trace
    layer = trace.model.decoder.layers[-1]
    path = f"decoder.layers.{trace.model.config.layers - 1}"
    post = trace.model.config.norm == "post"
    x = trace.seen[f"{path}.feed_forward_norm.sum" if post else f"{path}.cross_attention_norm.out"].data[0]
    g = trace.seen[f"{path}.feed_forward_norm.{'out' if post else 'normal'}"].grad.data[0]
    return list(zip(x, g * layer.feed_forward_norm.gain.data, strict=True))


def by_jacobian(x, h, eps):
    """(dx by the whole Jacobian of x -> normal, normal)."""
    width = len(x)
    centre = np.eye(width) - 1 / width
    c = centre @ x
    sigma = np.sqrt(c @ c / width + eps)
    jacobian = centre / sigma - np.outer(c, c) @ centre / (width * sigma**3)
    return jacobian.T @ h, c / sigma


def test_the_answer_says_the_same_in_both_languages(subject):
    check(layer_norm_terms(subject), 7)


def test_the_norms_of_the_terms_and_of_their_sum(subject):
    (bars,) = layer_norm_terms(subject).figures
    (norms,) = bars.groups.values()
    squares = np.zeros(5)
    for x, h in rows(subject):
        dx, normal = by_jacobian(x, h, EPS)
        rate = 1 / np.sqrt(((x - x.mean()) ** 2).mean() + EPS)
        through_variance = -rate * normal * (h * normal).mean()
        terms = [rate * h, np.full_like(x, -rate * h.mean()), through_variance, np.zeros_like(x), dx]
        squares += [term @ term for term in terms]
    np.testing.assert_allclose(norms, np.sqrt(squares), rtol=1e-10, atol=1e-14)
    assert norms[3] <= 1e-15 * max(norms)


def test_the_norms_stand_in_the_text(subject):
    answer = layer_norm_terms(subject)
    (norms,) = answer.figures[0].groups.values()
    told = [f"{norm:.3g}" for norm in norms]
    assert f"the norms are {told[0]}, {told[1]} and {told[2]}, and {norms[3]:.1g} for" in answer.answer.en
    assert f"together {told[4]}, at most " in answer.answer.en


def test_the_sum_is_the_tapes_gradient_where_the_tape_has_one(subject):
    if subject.trace.model.config.norm == "post":  # in pre-norm what enters has the residual's gradient too
        path = f"decoder.layers.{subject.trace.model.config.layers - 1}.feed_forward_norm.sum"
        (norms,) = layer_norm_terms(subject).figures[0].groups.values()
        np.testing.assert_allclose(norms[4], np.linalg.norm(subject.trace.seen[path].grad.data), rtol=1e-12)
    gap = layer_norm_terms(subject).answer.en.split("at most ")[1].split(" from")[0]
    assert float(gap) <= 1e-14


def test_dx_is_orthogonal_to_1_and_but_for_eps_to_normal(subject):
    told = layer_norm_terms(subject).answer.en.split("of dx with 1 is at most ")[1]
    flat, rest = told.split(", with x̂ ")
    stretch, exact = rest.split(", and ")
    assert float(flat) <= 1e-12
    assert float(exact.split(" without eps = ")[0]) <= 1e-12
    found = []
    for x, h in rows(subject):
        dx, normal = by_jacobian(x, h, EPS)
        length = np.linalg.norm(dx) * np.linalg.norm(normal)
        found.append(abs(dx @ normal) / length if length else 0)
    assert stretch == f"{max(found):.1g}"
    assert float(exact.split(" without eps = ")[1].rstrip(".")) == EPS
