"""Question 20: gradient norms of fresh models, layer by layer, in both orders of norm and residual."""

from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, with_pairs
from tests.transformer.study.questions.subjects import subject as subject_of
from transformer import Transformer
from transformer.batching import make_batch
from transformer.study.questions.norm_order import pre_norm_or_post_norm
from transformer.vocabulary import PAD


def norms_of(subject, norm, stack):
    """(3 seeds, 6 layers), from `backward`."""
    vocabularies = subject.source_vocabulary, subject.target_vocabulary
    batch = make_batch([[v.encode(side) for v, side in zip(vocabularies, pair, strict=True)] for pair in subject.pairs])
    found = np.zeros((3, 6))
    for seed, row in enumerate(found):
        with mg.default_dtype("float64"):
            model = Transformer(replace(subject.trace.model.config, layers=6, norm=norm), rng=seed)
        logits = model(batch.source, batch.target_in)
        mg.cross_entropy(logits, batch.target_out, ignore_index=PAD).backward()
        for name, parameter in model.named_parameters():
            kind, _, rest = name.partition(".layers.")
            if kind == stack and rest:
                row[int(rest.split(".")[0])] += np.sum(parameter.grad.data**2)
    return np.sqrt(found)


@pytest.mark.parametrize("name", ["plain", "other choices"])
def test_curves_are_the_gradient_norms_of_layers_and_the_text_tells_the_decoders(name):
    answer = pre_norm_or_post_norm(SUBJECTS[name])
    check(answer, 20)
    (lines,) = answer.figures
    means = {}
    for words, curve in lines.curves.items():
        stack, norm = words.en.removesuffix("-norm").split(", ")
        expected = norms_of(SUBJECTS[name], norm, stack)
        assert np.allclose(curve, expected, rtol=1e-9, atol=1e-14)
        means[stack, norm] = expected.mean(axis=0)
    said = numbers(answer.answer.en)
    assert said[:2] == ["6", "6"]
    post, pre = means["decoder", "post"], means["decoder", "pre"]
    assert said[2:] == [f"{n:.2g}" for each in (post, pre) for n in (each[0], each[-1], each[-1] / each[0])]


def test_at_the_width_of_the_recipes_post_norm_gives_the_last_decoder_layer_most_and_pre_norm_does_not():
    subject = with_pairs(subject_of(d_model=64, heads=4, d_ff=256))
    curves = {words.en: curve.mean(axis=0) for words, curve in pre_norm_or_post_norm(subject).figures[0].curves.items()}
    post, pre = curves["decoder, post-norm"], curves["decoder, pre-norm"]
    assert post[-1] / post[0] > 3
    assert pre[-1] / pre[0] < 1.5
