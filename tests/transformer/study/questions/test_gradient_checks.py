"""Questions 21 and 22: the key bias, and how near a difference comes to a slope."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from tests.transformer.study.questions.subjects import subject as subject_of
from transformer import Transformer
from transformer.study.questions.gradient_checks import bias_by_differences, key_bias, step_of_a_check
from transformer.study.trace import differences, in_float64
from transformer.vocabulary import PAD

ROTARY = subject_of(6, padded=True, positions="rotary")


@pytest.mark.parametrize("subject", [*SUBJECTS.values(), ROTARY], ids=[*SUBJECTS, "rotary"])
def test_the_key_bias_has_no_gradient_and_a_relative_check_of_it_fails(subject):
    answer = key_bias(subject)
    check(answer, 21)
    (table,) = answer.figures
    layers = range(1, subject.trace.model.config.layers + 1)
    names = {f"{name.format(n)}" for n in layers for name in ("encoder {}", "decoder {}, self", "decoder {}, cross")}
    assert {words.en for words, *_ in table.rows} == names
    rows = np.array([[float(number) for number in row[1:]] for row in table.rows])
    keys, bias, by_differences, relative, beside_keys = rows.T
    assert np.all(bias <= 1e-13 * keys.max())
    assert np.all(by_differences <= 1e-8)
    assert relative.max() > 0.9
    assert np.all(beside_keys <= 1e-5)
    zero, most, wrong, beside = (value(number) for number in numbers(answer.answer.en)[1:])
    assert zero == bias.max()
    assert most == pytest.approx(keys.max(), rel=0.06)
    assert wrong == pytest.approx(relative.max(), rel=0.06)
    assert beside == beside_keys.max()


@pytest.mark.parametrize("name", ["plain", "padded", "one word"])
def test_it_is_the_gradient_of_the_bias_itself_and_dk_is_what_differences_give(name):
    trace = SUBJECTS[name].trace
    for words, keys, bias, *_ in key_bias(SUBJECTS[name]).figures[0].rows:
        stack, layer, *kinds = words.en.replace(",", "").split()
        kind = kinds[0] if kinds else "self"
        path = f"{stack}.layers.{int(layer) - 1}.{kind}_attention.key"
        assert float(keys) == pytest.approx(np.abs(differences(trace, path)).max(), rel=0.06, abs=1e-9)
        assert float(bias) == pytest.approx(np.abs(trace.parameters[f"{path}.bias"]).max(), abs=1e-15)


def test_where_keys_are_turned_the_bias_has_a_gradient_and_differences_find_it():
    path = "decoder.layers.0.self_attention.key"
    rule = ROTARY.trace.parameters[f"{path}.bias"]
    assert np.abs(rule).max() > 1e-6
    assert np.allclose(bias_by_differences(ROTARY.trace, path, np.arange(12)), rule, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", ["plain", "other choices"])
def test_errors_by_step_are_a_u_in_both_dtypes_and_those_of_the_differences(name):
    trace = SUBJECTS[name].trace
    answer = step_of_a_check(SUBJECTS[name])
    check(answer, 22)
    (lines,) = answer.figures
    steps, single, double = lines.x, lines.curves["float32"], lines.curves["float64"]
    assert (lines.x_log, lines.y_log) == (True, True)
    assert single.shape == double.shape == (3, len(steps))
    assert single.mean(axis=0).min() > 100 * double.mean(axis=0).min()
    for errors in (single.mean(axis=0), double.mean(axis=0)):
        assert errors[0] > 5 * errors.min() < errors[-1]
        assert 0 < errors.argmin() < len(steps) - 1
    assert np.all(single[:, -1] >= 1)  # the step is lost in the weights, or is a rounding of the loss
    for part, place in ((0, 0), (1, 1), (2, 2)):  # where rounding shows little
        expected = error_of_a_difference(trace, part, steps[place])
        assert double[part, place] == pytest.approx(expected, rel=1e-3, abs=1e-10)
    said = [value(number) for number in numbers(answer.answer.en)]
    best, at, best64, at64, tape = (n for n in said if n not in (32, 64, 1))
    for curve, least, step in ((single, best, at), (double, best64, at64)):
        assert least == pytest.approx(curve.mean(axis=0).min(), rel=0.06)
        assert step == pytest.approx(steps[curve.mean(axis=0).argmin()], rel=1e-9)
    assert tape == pytest.approx(error_of_the_float32_tape(trace), rel=0.06)


def error_of_a_difference(trace, part, step):
    """Of the loss in NumPy, along the gradient of every third parameter."""
    moved = list(trace.parameters)[part::3]
    slope = np.sqrt(sum((trace.parameters[name] ** 2).sum() for name in moved))

    def loss(by):
        model = in_float64(trace.model)
        for name, parameter in model.named_parameters():
            parameter.data = parameter.data + (name in moved) * by / slope * trace.parameters[name]
        with mg.no_grad():
            logits = model(trace.source, trace.target_in).data
        losses = np.log(np.exp(logits).sum(axis=-1)) - np.take_along_axis(logits, trace.target[..., None], -1)[..., 0]
        return losses[trace.target != PAD].mean()

    return abs((loss(step) - loss(-step)) / (2 * step) - slope) / slope


def error_of_the_float32_tape(trace):
    with mg.default_dtype("float32"):
        model = Transformer(trace.model.config)
    for name, parameter in trace.model.named_parameters():
        dict(model.named_parameters())[name].data = parameter.data.astype(np.float32)
    mg.cross_entropy(model(trace.source, trace.target_in), trace.target, ignore_index=PAD).backward()
    wrong = {name: parameter.grad.data - trace.parameters[name] for name, parameter in model.named_parameters()}
    assert all(parameter.grad.dtype == np.float32 for parameter in model.parameters())
    norms = [np.sqrt(sum(np.sum(np.float64(each) ** 2) for each in of.values())) for of in (wrong, trace.parameters)]
    return norms[0] / norms[1]
