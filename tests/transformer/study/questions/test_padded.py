"""Question 23: padding changes nothing, to the bit where shapes are equal."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from transformer.study.questions.padded import padding
from transformer.vocabulary import PAD


def padded_run(trace, changed):
    """(loss, {parameter: gradient}) with 3 more positions of padding, and what is `changed` at padding."""
    behind = [np.append(ids, [[PAD] * 3], axis=1) for ids in (trace.source, trace.target_in, trace.target)]
    source, target_in, target = behind
    model = trace.model

    def put(ids):
        def patch(x):
            array = np.where((ids == PAD)[..., None], changed, 0.0)
            return mg.where((ids == PAD)[..., None], mg.Tensor(array), x)

        return patch

    patches = {"source_positions.out": put(source), "target_positions.out": put(target_in)}
    with mg.enable_grad(), model.patch(patches if changed is not None else {}):
        logits = model(source, target_in)
    loss = mg.cross_entropy(logits, target, ignore_index=PAD)
    named = dict(model.named_parameters())
    return float(loss.data), dict(zip(named, mg.gradients(loss, list(named.values())), strict=True)), logits.data


@pytest.mark.parametrize("name", SUBJECTS)
def test_other_numbers_at_the_padding_change_no_bit_and_more_padding_only_rounding(name):
    trace = SUBJECTS[name].trace
    answer = padding(SUBJECTS[name])
    check(answer, 23)
    loss, gradients, _ = padded_run(trace, None)
    for changed in (7.0, -1e6, np.random.default_rng(1).standard_normal(trace.model.config.d_model)):
        other_loss, others, _ = padded_run(trace, changed)
        assert other_loss == loss
        assert all(np.array_equal(others[key].data, gradients[key].data) for key in gradients)
    wider = [float(number) for number in answer.figures[0].rows[0][1:]]
    noisier = list(answer.figures[0].rows[1][1:])
    assert noisier == ["0", "0"]
    assert answer.figures[0].rows[2][2] == "0"
    assert max(wider) < 1e-12
    largest = max(np.abs(gradients[key].data - trace.parameters[key]).max() for key in gradients)
    assert wider[1] == pytest.approx(largest, rel=0.06, abs=1e-15)
    more, said_loss, moved, most, by_loss, by_gradient = numbers(answer.answer.en)[:6]
    assert (more, said_loss) == ("3", f"{float(trace.loss.data):.4g}")
    assert [value(moved), value(most)] == wider
    assert (by_loss, by_gradient) == ("0", "0")


@pytest.mark.parametrize("name", SUBJECTS)
def test_padding_that_counts_changes_the_loss_as_is_said(name):
    trace = SUBJECTS[name].trace
    answer = padding(SUBJECTS[name])
    logits = padded_run(trace, None)[2][0]
    asked = [*trace.target[0], PAD, PAD, PAD]
    losses = [np.log(np.exp(row).sum()) - row[word] for row, word in zip(logits, asked, strict=True)]
    assert numbers(answer.answer.en)[-1] == f"{np.mean(losses):.4g}"
    change = answer.figures[0].rows[3][1]
    assert float(change) == pytest.approx(abs(np.mean(losses) - float(trace.loss.data)), rel=0.06)
    assert float(answer.figures[0].rows[3][2]) > 1e-3
