"""Questions 12 and 13: NaNs counted and masks applied in plain NumPy, with gradients by the softmax's Jacobian."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.study.questions.masks import fully_masked_row, ways_to_mask
from transformer.vocabulary import PAD

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def text(label):
    return getattr(label, "en", label)


def table_of(answer):
    (table,) = answer.figures
    return [[text(cell) for cell in row] for row in table.rows]


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_the_answers_say_the_same_in_both_languages(subject):
    check(fully_masked_row(subject), 12)
    check(ways_to_mask(subject), 13)


@pytest.fixture
def one_head(subject):
    """(q, k, v, dz) of the first head of the last cross-attention."""
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    return *(trace.seen[f"{path}.{name}"].data[0, 0] for name in "qkv"), trace.seen[f"{path}.z"].grad.data[0, 0]


def test_nans_are_counted_step_by_step(subject, one_head):
    q, k, v, dz = one_head
    rows, keys, width = len(q), len(k), v.shape[1]
    scores = q @ k.T / np.sqrt(q.shape[1])
    scores[-1] = -np.inf
    with np.errstate(invalid="ignore"):
        shifted = scores - scores.max(-1, keepdims=True)
        pattern = softmax(scores)
        z = pattern @ v
        dz = np.where(np.arange(rows)[:, None] < rows - 1, dz, 0)
        dv = pattern.T @ dz
    expected = {
        "S": (0, rows * keys),
        "S, -inf where masked": (0, rows * keys),
        "maximum of each row": (0, rows),
        "S - maximum": (np.isnan(shifted).sum(), rows * keys),
        "exp": (np.isnan(np.exp(shifted)).sum(), rows * keys),
        "P": (np.isnan(pattern).sum(), rows * keys),
        "z = P V": (np.isnan(z).sum(), rows * width),
        "loss without that row": (np.isnan((z * dz)[:-1].sum()), 1),
        "dS": (0, rows * keys),  # the choice of -inf gives what was not chosen 0, NaN or not
        "dQ": (0, rows * q.shape[1]),
        "dK": (0, keys * q.shape[1]),
        "dV": (np.isnan(dv).sum(), keys * width),
    }
    answer = fully_masked_row(subject)
    found = table_of(answer)
    assert {row[0]: row[1] for row in found} == {name: f"{int(n)} / {size}" for name, (n, size) in expected.items()}
    assert np.isnan(dv).all()
    assert f"{dv.size} of {dv.size} numbers of dV are NaN" in answer.answer.en
    assert f"“S - maximum” (mg.detect_anomaly() stops at subtract, cell ({rows - 1}, 0))" in answer.answer.en


def test_with_the_mask_in_the_softmax_there_is_no_nan_and_the_row_is_0(subject):
    answer = fully_masked_row(subject)
    with_where = [row[2] for row in table_of(answer) if row[2]]
    assert len(with_where) == 8
    assert all(cell.startswith("0 / ") for cell in with_where)
    assert answer.answer.en.endswith("weights and output are exactly 0, and 0 numbers are NaN.")


def by_hand(subject, dtype):
    """{way: (largest hidden weight, largest hidden |gradient|, sums of rows, weights where all is hidden)}."""
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.self_attention"
    scores = trace.seen[f"{path}.scores"].data[0, 0].astype(dtype)
    g = trace.seen[f"{path}.pattern"].grad.data[0, 0].astype(dtype)
    length = len(scores)
    words = trace.target_in[0] != PAD
    mask = np.array([[key <= query and words[key] for key in range(length)] for query in range(length)])
    nothing = np.zeros(length, bool)
    added = dtype(-1e9)

    def measured(pattern, gradient, nothing_left):
        hidden = np.abs(gradient[~mask]).max(initial=0)
        return pattern[~mask].max(initial=0), hidden, pattern.sum(-1), nothing_left

    def back(p, g):
        return np.array([(np.diag(row) - np.outer(row, row)) @ each for row, each in zip(p, g, strict=True)])

    p = softmax(np.where(mask, scores, dtype(-np.inf)))
    with_inf = measured(p, np.where(mask, back(p, g), 0), np.full(length, np.nan))
    free = softmax(scores)
    return {
        "S = -inf": with_inf,
        "S = -1e9": (*with_inf[:3], np.full(length, 1 / length)),
        "S + (-1e9)": measured(p, back(p, g), softmax(scores[-1] + added)),
        "softmax(S) × mask": measured(free * mask, back(free, np.where(mask, g, 0)), nothing.astype(dtype)),
        "softmax(S, where=mask)": (*with_inf[:3], nothing.astype(dtype)),
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_way_to_mask(subject, dtype):
    rows = {row[0]: row[2:] for row in table_of(ways_to_mask(subject)) if row[1] == dtype.__name__}
    expected = by_hand(subject, dtype)
    assert rows.keys() == expected.keys()
    rtol, atol = (0.006, 1e-14) if dtype == np.float64 else (0.006, 1e-6)
    for name, (weight, gradient, sums, nothing_left) in expected.items():
        cells = rows[name]
        np.testing.assert_allclose(float(cells[0]), weight, rtol=rtol, atol=atol)
        np.testing.assert_allclose(float(cells[1]), gradient, rtol=rtol, atol=atol)
        for cell, numbers in ((cells[2], sums), (cells[3], nothing_left)):
            ends = [*map(float, cell.split(" to "))]
            np.testing.assert_allclose([ends[0], ends[-1]], [numbers.min(), numbers.max()], rtol=rtol, atol=atol)


def test_masked_before_the_softmax_weights_and_gradients_are_exactly_0(subject):
    for name, _, weight, gradient, *_ in table_of(ways_to_mask(subject)):
        assert weight == "0"
        if name != "softmax(S) × mask":
            assert gradient == "0"
    told = ways_to_mask(subject).answer.en
    assert told.endswith("where=mask: weight 0, gradient 0, and weight 0 in a row with nothing left.")


def test_the_text_tells_what_the_softmax_before_the_mask_leaks(subject):
    weight, gradient, sums, _ = by_hand(subject, np.float64)["softmax(S) × mask"]
    told = ways_to_mask(subject).answer.en
    found = told.split("they get gradients up to ")[1].split(". -inf")[0].split(" here, and rows sum to as little as ")
    np.testing.assert_allclose([*map(float, found)], [gradient, sums.min()], rtol=0.006, atol=1e-15)
    assert weight == 0
    gap = float(told.split("(within ")[1].split(")")[0])
    assert gap <= 1e-6  # float64 keeps 1e-7 of a score beside 1e9
    assert "neighbours there are 64 apart" in told
