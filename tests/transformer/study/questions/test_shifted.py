"""Question 15: what the decoder reads, what it is asked for, what counts, and the mask."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from transformer.study.questions.shifted import shifted_right
from transformer.vocabulary import PAD


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_position_reads_the_target_of_the_one_before(name):
    subject = SUBJECTS[name]
    answer = shifted_right(subject)
    check(answer, 15)
    (_, *read), (_, *asked), _ = answer.figures[0].rows
    assert read[0] == "<bos>"
    assert read[1:] == asked[:-1]
    assert asked == list(subject.target_words)


@pytest.mark.parametrize("name", SUBJECTS)
def test_padding_weighs_nothing_and_words_share_the_loss(name):
    trace = SUBJECTS[name].trace
    answer = shifted_right(SUBJECTS[name])
    weights = [float(weight) for weight in answer.figures[0].rows[2][1:]]
    words = [int(word) for word in trace.target[0]]
    count = sum(word != PAD for word in words)
    assert weights == [0 if word == PAD else pytest.approx(1 / count, rel=5e-3) for word in words]
    logits = trace.seen["logits"].data[0]
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    loss = -sum(np.log(p[place, word]) / count for place, word in enumerate(words) if word != PAD)
    *_, added, whole = numbers(answer.answer.en)
    assert added == whole == f"{loss:.4g}"


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_mask_hides_what_comes_after_and_padding_and_nothing_else(name):
    trace = SUBJECTS[name].trace
    answer = shifted_right(SUBJECTS[name])
    grid = answer.figures[1]
    read = trace.target_in[0]
    for query in range(len(read)):
        for key in range(len(read)):
            assert grid.hidden[query, key] == (key > query or read[key] == PAD)
            assert (grid.values[query, key] == 0) == grid.hidden[query, key]
    assert str(int(grid.hidden.sum())) in numbers(answer.answer.en)
    assert value(numbers(answer.answer.en)[2]) == 0
    patterns = trace.seen["decoder.layers.0.self_attention.pattern"].data[0]
    assert np.allclose(grid.values, sum(patterns) / len(patterns), rtol=0, atol=1e-15)
