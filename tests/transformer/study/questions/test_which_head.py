"""Question 26: what cutting a head costs, and what gradient times attention foretells."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers
from transformer.batching import make_batch
from transformer.study.questions.which_head import which_head
from transformer.study.trace import in_float64
from transformer.vocabulary import PAD


def paths(trace):
    layers = range(trace.model.config.layers)
    return [f"encoder.layers.{n}.self_attention" for n in layers] + [
        f"decoder.layers.{n}.{kind}_attention" for n in layers for kind in ("self", "cross")
    ]


def batch_of(subject):
    pairs = [
        (subject.source_vocabulary.encode(pair.source), subject.target_vocabulary.encode(pair.target))
        for pair in subject.pairs
    ]
    return make_batch(pairs)


def loss_of(model, batch):
    with mg.no_grad():
        logits = model(batch.source, batch.target_in)
    return float(mg.cross_entropy(logits, batch.target_out, ignore_index=PAD).data)


@pytest.mark.parametrize("name", SUBJECTS)
def test_cutting_a_head_is_zeroing_its_rows_of_w_o(name):
    trace, batch = SUBJECTS[name].trace, batch_of(SUBJECTS[name])
    answer = which_head(SUBJECTS[name])
    check(answer, 26)
    cost, *_ = answer.figures
    width, heads = trace.model.config.d_head, trace.model.config.heads
    whole = loss_of(trace.model, batch)
    expected = np.empty((len(paths(trace)), heads))
    for row, path in enumerate(paths(trace)):
        for head in range(heads):
            model = in_float64(trace.model)
            weight = dict(model.named_parameters())[f"{path}.output.weight"]
            changed = weight.data.copy()
            changed[head * width : (head + 1) * width] = 0
            weight.data = changed
            expected[row, head] = loss_of(model, batch) - whole
    assert np.allclose(cost.values, expected, rtol=0, atol=1e-12)
    row, head = np.unravel_index(expected.argmax(), expected.shape)
    assert f"head {head + 1} of “{cost.rows[row].en}”" in answer.answer.en
    said = numbers(answer.answer.en.split("”")[1])
    cheap = np.count_nonzero(expected < 0.1 * expected.max())
    assert said[:5] == [f"{whole:.2g}", f"{expected.max():.2g}", str(expected.size), str(cheap), "10%"]


@pytest.mark.parametrize("name", ["padded", "one word"])
def test_gradient_times_attention_is_the_slope_of_the_loss_as_a_pattern_fades(name):
    trace, batch = SUBJECTS[name].trace, batch_of(SUBJECTS[name])
    answer = which_head(SUBJECTS[name])
    cost, foretold, *_ = answer.figures
    for row, path in enumerate(paths(trace)):
        for head in range(trace.model.config.heads):
            fade = np.arange(trace.model.config.heads)[:, None, None] == head
            losses = []
            for change in (1e-5, -1e-5):
                scaled = {f"{path}.pattern": lambda p, change=change, fade=fade: p * (1 - change * fade)}
                with trace.model.patch(scaled):
                    losses.append(loss_of(trace.model, batch))
            assert foretold.values[row, head] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4, abs=1e-8)
    centred = [grid.values - grid.values.mean() for grid in (cost, foretold)]
    agreement = np.sum(centred[0] * centred[1]) / np.sqrt(np.sum(centred[0] ** 2) * np.sum(centred[1] ** 2))
    told = foretold.values.ravel()[cost.values.argmax()]
    assert f"foretells {told:.1g} for" in answer.answer.en
    assert f"true cost is {agreement:.2f}." in answer.answer.en
