"""Questions 16 and 17: a whole target at once, word by word, and with a cache; every multiply-add counted by hand."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from transformer.study.questions.decoding import key_value_cache, parallel_training


@pytest.mark.parametrize("name", SUBJECTS)
def test_one_pass_and_word_by_word_give_the_same_logits(name):
    trace = SUBJECTS[name].trace
    answer = parallel_training(SUBJECTS[name])
    check(answer, 16)
    steps = trace.target_in.shape[1]
    positions, passes = numbers(answer.answer.en)[:2], numbers(answer.answer.en)[1:3]
    assert positions == [str(steps), str(steps)]
    assert passes == [str(steps), str(sum(range(steps + 1)))]
    apart, size = (value(number) for number in numbers(answer.answer.en)[-2:])
    assert apart < 1e-12
    with mg.no_grad():
        logits = trace.model(trace.source, trace.target_in).data[0]
    assert size == pytest.approx(np.abs(logits).max(), rel=0.006)
    for place, (word, at_once, step_by_step, difference) in enumerate(answer.figures[0].rows):
        assert word == SUBJECTS[name].target_words[place]
        assert at_once == step_by_step == f"{logits[place, trace.target[0, place]]:.6f}"
        assert float(difference) <= apart * 1.06


def decoder_work(config, source_length, new, known, memory_is_new):
    """Multiply-adds of matrix products for `new` positions where `known` are known with them, written out."""
    d, kv = config.d_model, config.d_head * config.key_value_heads
    own = new * d * (d + 2 * kv) + 2 * new * known * d + new * d * d
    cross = new * d * d + memory_is_new * source_length * d * 2 * kv + 2 * new * source_length * d + new * d * d
    feed_forward = new * d * config.d_ff * (3 if config.feed_forward == "swiglu" else 2)
    return config.layers * (own + cross + feed_forward) + new * d * config.target_vocab


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_cache_changes_no_logit_and_saves_the_work_that_is_counted(name):
    trace = SUBJECTS[name].trace
    answer = key_value_cache(SUBJECTS[name])
    check(answer, 17)
    source_length, steps = trace.source.shape[1], trace.target_in.shape[1]
    again = [decoder_work(trace.model.config, source_length, n, n, True) for n in range(1, steps + 1)]
    kept = [decoder_work(trace.model.config, source_length, 1, n, n == 1) for n in range(1, steps + 1)]
    without, with_cache = answer.figures[0].curves.values()
    assert list(without) == again
    assert list(with_cache) == kept
    apart, one, step, last, last_again, saved = numbers(answer.answer.en)
    assert value(apart) < 1e-12
    assert (one, step) == ("1", str(steps))
    assert (last, last_again) == (f"{kept[-1]:,}", f"{again[-1]:,}")
    assert saved == f"{sum(again) / sum(kept):.2g}"
