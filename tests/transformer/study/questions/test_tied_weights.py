"""Question 18: the contributions to a tied table are the gradients of an untied model with equal weights."""

from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from transformer import Transformer
from transformer.study.questions.tied_weights import weight_tying
from transformer.vocabulary import PAD


def gradients_of_the_untied(trace):
    """{use: gradient} of a model with three tables of its own, which hold what the tied one's hold."""
    with mg.default_dtype("float64"):
        model = Transformer(replace(trace.model.config, tied="none"))
    own = dict(trace.model.named_parameters())
    table = own["target_embedding.weight" if trace.model.config.tied != "all" else "source_embedding.weight"].data
    for name, parameter in model.named_parameters():
        if name == "output.weight":
            parameter.data = table.T
        elif name == "target_embedding.weight":
            parameter.data = table
        else:
            parameter.data = own[name].data
    mg.cross_entropy(model(trace.source, trace.target_in), trace.target, ignore_index=PAD).backward()
    found = {
        "target embedding": model.target_embedding.weight.grad.data,
        "output projection": model.output.weight.grad.data.T,
    }
    if trace.model.config.tied == "all":
        found = {"source embedding": model.source_embedding.weight.grad.data} | found
    return found


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_contribution_is_an_untied_models_gradient_and_their_sum_the_tied_ones(name):
    subject = SUBJECTS[name]
    answer = weight_tying(subject)
    check(answer, 18)
    parts = gradients_of_the_untied(subject.trace)
    said = iter(numbers(answer.answer.en))
    for part in parts.values():
        assert next(said) == f"{np.linalg.norm(part):.3g}"
        assert int(next(said)) == np.count_nonzero(np.abs(part).sum(axis=1))
    total, apart, rows = said
    assert total == f"{np.linalg.norm(sum(parts.values())):.3g}"
    assert value(apart) <= 1e-12
    assert int(rows) == len(part)
    if subject.trace.model.config.tied != "none":
        table = "source_embedding.weight" if "source embedding" in parts else "target_embedding.weight"
        assert np.allclose(sum(parts.values()), subject.trace.parameters[table], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SUBJECTS)
def test_bars_are_the_norms_of_the_rows_of_words_that_are_read_or_asked_for(name):
    subject = SUBJECTS[name]
    (bars,) = weight_tying(subject).figures
    trace = subject.trace
    parts = gradients_of_the_untied(trace)
    parts["sum"] = sum(parts.values())
    used = {*map(int, trace.target_in[0]), *map(int, trace.target[0])}
    used = sorted(used | ({*map(int, trace.source[0])} if trace.model.config.tied == "all" else set()))
    assert list(bars.labels[:-1]) == [subject.target_vocabulary.tokens[word] for word in used]
    assert [words.en for words in bars.groups] == list(parts)
    for (_, norms), part in zip(bars.groups.items(), parts.values(), strict=True):
        assert norms[:-1] == pytest.approx([np.linalg.norm(part[word]) for word in used], rel=1e-9, abs=1e-12)
        others = [row for word, row in enumerate(part) if word not in used]
        assert norms[-1] == pytest.approx(np.sqrt(np.sum(np.square(others))), rel=1e-9, abs=1e-12)
