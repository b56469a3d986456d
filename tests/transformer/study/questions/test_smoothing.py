"""Question 24: the smoothed row, the loss by the margin, and where infinities come from."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers
from transformer.study.questions.smoothing import label_smoothing
from transformer.vocabulary import PAD

E = 0.1


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_row_that_the_tape_asks_for_is_the_papers_and_its_entropy_the_floor(name):
    subject = SUBJECTS[name]
    answer = label_smoothing(subject)
    check(answer, 24)
    size = subject.trace.model.config.target_vocab
    right, other = 1 - E + E / size, E / size
    floor = -right * np.log(right) - (size - 1) * other * np.log(other)
    in_one_step = other * 800 * (size - 1)
    said = numbers(answer.answer.en)
    assert said[:5] == ["0.1", f"{right:.4g}", f"{other:.2g}", str(size), f"{floor:.3g}"]
    assert said[-1] == f"{in_one_step:.3g}"
    for text in answer.answer:
        assert " inf" in text
        assert " nan" in text


@pytest.mark.parametrize("name", SUBJECTS)
def test_bars_show_the_surest_word_of_the_sentence_and_its_rivals(name):
    subject = SUBJECTS[name]
    trace = subject.trace
    bars, _ = label_smoothing(subject).figures
    size = trace.model.config.target_vocab
    p = np.exp(trace.seen["logits"].data[0])
    p /= p.sum(axis=-1, keepdims=True)
    sureness = [(p[place, word], place) for place, word in enumerate(trace.target[0]) if word != PAD]
    place = max(sureness)[1]
    right = trace.target[0, place]
    rivals = sorted((word for word in range(size) if word != right), key=lambda word: -p[place, word])[:3]
    names = subject.target_vocabulary.tokens
    assert list(bars.labels[:-1]) == [names[right], *(names[word] for word in rivals)]
    one_hot, smoothed, model = bars.groups.values()
    assert one_hot == [1, 0, 0, 0, 0]
    assert smoothed == pytest.approx([1 - E + E / size, *[E / size] * 3, E / size * (size - 4)], abs=1e-12)
    shown = [p[place, word] for word in (right, *rivals)]
    assert model == pytest.approx([*shown, 1 - sum(shown)], abs=1e-12)


def test_a_hard_target_wants_ever_more_and_a_smoothed_one_has_had_enough():
    _, lines = label_smoothing(SUBJECTS["plain"]).figures
    size = SUBJECTS["plain"].trace.model.config.target_vocab
    hard, smoothed = lines.curves.values()
    p = 1 / (1 + (size - 1) * np.exp(-np.array(lines.x)))
    assert np.allclose(hard, -np.log(p), rtol=1e-9, atol=1e-12)
    rest = np.log((1 - p) / (size - 1))
    right = 1 - E + E / size
    assert np.allclose(smoothed, -right * np.log(p) - (1 - right) * rest, rtol=1e-3, atol=1e-9)
    assert np.all(np.diff(hard) < 0)
    assert 0 < smoothed.argmin() < len(smoothed) - 1
    best = lines.x[int(smoothed.argmin())]
    assert best == pytest.approx(np.log(right / (E / size)), abs=0.5)


def test_a_word_masked_to_minus_infinity_makes_the_smoothed_loss_infinite_and_the_hard_one_not():
    logits = np.array([[0.0, 1.0, -np.inf]])
    assert mg.cross_entropy(logits, np.array([0]), label_smoothing=E).data == np.inf
    assert np.isfinite(mg.cross_entropy(logits, np.array([0])).data)
