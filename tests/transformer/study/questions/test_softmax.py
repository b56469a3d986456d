"""Questions 4 to 6, every number computed anew in plain NumPy."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.study.questions.softmax import minus_one, softmax_jacobian, two_jacobians
from transformer.vocabulary import PAD

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def softmax(z):
    powers = np.exp(z - z.max())
    return powers / powers.sum()


def hardest(subject):
    """(place, right id, p, how many words are written) of the word with the greatest loss, by a loop."""
    trace = subject.trace
    found = []
    for place, right in enumerate(trace.target[0]):
        if right != PAD:
            p = softmax(trace.seen["logits"].data[0, place])
            found.append((p[right], place, right, p))
    return *min(found, key=lambda each: each[0])[1:], len(found)


def test_the_answers_say_the_same_in_both_languages(subject):
    check(two_jacobians(subject), 4)
    check(softmax_jacobian(subject), 5)
    check(minus_one(subject), 6)


def test_two_jacobians_and_p_minus_y_and_the_tape_agree(subject):
    answer = two_jacobians(subject)
    (table,) = answer.figures
    place, right, p, written = hardest(subject)
    y = np.eye(len(p))[right]
    of_loss = np.where(y == 1, -1 / p, 0)
    product = of_loss @ (np.diag(p) - np.outer(p, p))
    taped = subject.trace.seen["logits"].grad.data[0, place] * written
    np.testing.assert_allclose(product, p - y, atol=1e-15)
    ids = [subject.target_vocabulary.tokens.index(row[0]) for row in table.rows]
    assert ids[0] == right
    assert ids[1:] == sorted(set(range(len(p))) - {right}, key=lambda i: -p[i])[:4]
    shown = np.array([[float(cell) for cell in row[1:]] for row in table.rows])
    expected = np.array([p, of_loss, product, p - y, taped]).T[ids]
    np.testing.assert_allclose(shown, expected, rtol=1e-5, atol=1e-15)
    assert f"“{subject.target_words[place]}”" in answer.answer.en
    assert f"-1/p = {-1 / p[right]:.4g})" in answer.answer.en


def test_the_differences_that_are_told_are_rounding(subject):
    told = two_jacobians(subject).answer.en
    gap, taped = told.split("largest difference is ")[1].split(". But")[0].split(", and to the tape ")
    assert float(gap) <= 2e-15
    assert float(taped) <= 2e-15


def test_in_two_steps_float32_gives_nan_and_in_one_p_minus_y(subject):
    told = two_jacobians(subject).answer.en
    with np.errstate(all="ignore"):
        p = softmax(np.array([0, 200], dtype=np.float32))
        steps = np.array([-1 / p[0], 0], dtype=np.float32) @ (np.diag(p) - np.outer(p, p))
    assert np.isnan(steps).all()
    assert "two steps give NaN and NaN, p - y gives -1 and 1." in told


def test_the_jacobian_is_that_of_a_real_row_and_its_rows_sum_to_0(subject):
    trace = subject.trace
    answer = softmax_jacobian(subject)
    (grid,) = answer.figures
    number = int(answer.answer.en.split("head ")[1].split()[0])
    words = trace.source[0] != PAD
    pattern = trace.seen[f"decoder.layers.{trace.model.config.layers - 1}.cross_attention.pattern"].data[0]
    entropies = {
        (head, place): -sum(w * np.log(w) for w in row if w > 0)
        for head, rows in enumerate(pattern)
        for place, row in enumerate(rows)
        if trace.target[0, place] != PAD
    }
    head, place = max(entropies, key=entropies.get)
    p = pattern[head, place]
    assert number == head + 1
    assert f"“{subject.target_words[place]}”" in answer.answer.en
    assert f"weights from {p[words].min():.3g} to {p[words].max():.3g}" in answer.answer.en
    expected = np.array([[p[i] * (float(i == j) - p[j]) for j in range(len(p))] for i in range(len(p))])
    np.testing.assert_allclose(grid.values, expected, atol=1e-15)
    assert np.abs(grid.values.sum(axis=1)).max() <= 1e-15
    assert np.abs(grid.values.sum(axis=0)).max() <= 1e-15
    assert (grid.hidden == ~np.outer(words, words)).all()
    assert (grid.values[grid.hidden] == 0).all()
    assert tuple(grid.rows) == tuple(grid.columns) == subject.source_words
    total, gap = answer.answer.en.split("(to within ")[1].split(")")[0], answer.answer.en.rsplit("at most ")[-1]
    assert float(total) <= 1e-15
    assert float(gap.rstrip(".")) <= 1e-15


def test_bars_are_p_and_y_and_their_difference(subject):
    answer = minus_one(subject)
    (bars,) = answer.figures
    place, right, p, written = hardest(subject)
    others = sorted(set(range(len(p))) - {right}, key=lambda i: -p[i])
    shown = [right, *others[:4]]
    assert list(bars.labels[:-1]) == [subject.target_vocabulary.tokens[i] for i in shown]
    np.testing.assert_allclose(bars.groups["p"], [*p[shown], sum(p[i] for i in others[4:])], rtol=1e-12)
    np.testing.assert_array_equal(bars.groups["y"], [1, 0, 0, 0, 0, 0])
    difference = np.array(bars.groups["p"]) - np.array(bars.groups["y"])
    np.testing.assert_allclose(bars.groups["p - y"], difference, atol=1e-15)
    assert abs(sum(bars.groups["p - y"])) <= 1e-15
    taped = subject.trace.seen["logits"].grad.data[0, place, right] * written
    told = answer.answer.en
    assert f"it gives it p = {p[right]:.3g}, so the gradient there is {taped:.3g}; all other words together get" in told
    assert f"get {1 - p[right]:.3g}, and the sum is 0" in told
    assert f"divided by {written}," in told
