"""Question 27: the first loss of fresh models beside ln V."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers
from transformer import Transformer
from transformer.study.questions.first_loss import first_loss
from transformer.vocabulary import BOS, EOS


@pytest.mark.parametrize("name", SUBJECTS)
def test_first_losses_are_the_mean_over_all_words_of_all_pairs_each_alone(name):
    subject = SUBJECTS[name]
    answer = first_loss(subject)
    check(answer, 27)
    losses, variances = [], []
    for seed in range(5):
        with mg.default_dtype("float64"):
            model = Transformer(subject.trace.model.config, rng=seed)
        each, spread = [], []
        for pair in subject.pairs:
            source = [subject.source_vocabulary.encode(pair.source)]
            words = subject.target_vocabulary.encode(pair.target)
            logits = model(source, [[BOS, *words]]).data[0]
            each += [np.log(np.exp(row).sum()) - row[word] for row, word in zip(logits, [*words, EOS], strict=True)]
            spread += [np.mean((row - row.mean()) ** 2) for row in logits]
        losses.append(np.mean(each))
        variances.append(np.mean(spread))
    size = subject.trace.model.config.target_vocab
    mean, even = np.mean(losses), np.log(size)
    assert numbers(answer.answer.en) == [
        str(size), f"{even:.3g}", "5", f"{mean:.3g}", f"{mean - even:.2g}".lstrip("-"), f"{np.mean(variances) / 2:.2g}",
        f"{float(subject.trace.loss.data):.3g}",
    ]  # fmt: skip
    ((bars, *_),) = (list(figure.groups.values()) for figure in answer.figures)
    assert bars == pytest.approx([even, *losses], rel=1e-9)
