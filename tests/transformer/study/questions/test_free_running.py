"""Question 25: accuracy with the right words before one's eyes, and with one's own."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers
from transformer.study.questions.free_running import LEVELS, teacher_forcing
from transformer.study.trace import in_float64
from transformer.vocabulary import BOS, EOS


def judged(subject, level):
    """(loss, forced, free, exact, repeating) of the model with noise, one pair after the other."""
    model = in_float64(subject.trace.model)
    rng = np.random.default_rng(0)
    for parameter in model.parameters():
        noise = rng.standard_normal(parameter.shape)
        parameter.data = parameter.data + level * parameter.data.std() * noise
    limit = max(len(pair.target) for pair in subject.pairs) + 1
    losses, forced, free, exact, repeating = [], [], [], [], []
    for pair in subject.pairs:
        source = [subject.source_vocabulary.encode(pair.source)]
        words = subject.target_vocabulary.encode(pair.target)
        with mg.no_grad():
            logits = model(source, [[BOS, *words]]).data[0]
        for row, word in zip(logits, [*words, EOS], strict=True):
            losses.append(np.log(np.exp(row).sum()) - row[word])
            forced.append(row.argmax() == word)
        written = subject.target_vocabulary.decode(model.generate(source, limit)[0])
        free += [len(written) > n and written[n] == word for n, word in enumerate(pair.target)]
        free.append(len(written) == len(pair.target))
        exact.append(tuple(written) == pair.target)
        repeating.append(any(written[n] == written[n - 1] for n in range(1, len(written))))
    return [float(np.mean(each)) for each in (losses, forced, free, exact, repeating)]


@pytest.mark.parametrize("name", ["plain", "other choices"])
def test_shares_are_those_of_pairs_judged_one_by_one_and_the_text_tells_where_they_part_most(name):
    subject = SUBJECTS[name]
    answer = teacher_forcing(subject)
    check(answer, 25)
    found = [judged(subject, level) for level in LEVELS]
    lines = answer.figures[0]
    assert list(lines.x) == list(LEVELS)
    for place, curve in enumerate(lines.curves.values(), start=1):
        assert curve == pytest.approx([each[place] for each in found], abs=1e-12)
    apart = int(np.argmax([forced - free for _, forced, free, _, _ in found]))
    own, (loss, forced, free, exact, repeating) = found[0], found[apart]
    assert numbers(answer.answer.en) == [
        str(len(subject.pairs)), *(f"{share:.0%}" for share in own[1:4]), str(LEVELS[apart]), f"{loss:.2g}",
        *(f"{share:.0%}" for share in (forced, free, exact, repeating)),
    ]  # fmt: skip


def test_examples_are_the_first_pairs_and_what_was_written_for_them():
    subject = SUBJECTS["plain"]
    table = teacher_forcing(subject).figures[1]
    limit = max(len(pair.target) for pair in subject.pairs) + 1
    for (reads, right, mine, _), pair in zip(table.rows, subject.pairs, strict=False):
        assert (reads, right) == (" ".join(pair.source), " ".join(pair.target))
        ids = subject.trace.model.generate([subject.source_vocabulary.encode(pair.source)], limit)[0]
        assert mine == " ".join(subject.target_vocabulary.decode(ids))
    assert len(table.rows) == 4
