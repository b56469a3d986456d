"""Question 19: how large the word's part and the place's part are, and which word can be read from their sum."""

import math

import numpy as np
import pytest

from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from tests.transformer.study.questions.subjects import subject as subject_of
from transformer.positions import sinusoids
from transformer.study.questions.scaled_embeddings import scaled_embeddings
from transformer.vocabulary import PAD

OTHERS = {
    "learned positions": subject_of(6, padded=True, positions="learned", max_length=9),
    "a long sentence": subject_of(7, source_length=40, d_model=6, source_vocab=30),
}


@pytest.mark.parametrize("subject", [*SUBJECTS.values(), *OTHERS.values()], ids=[*SUBJECTS, *OTHERS])
def test_norms_cosine_and_nearest_words_are_those_of_table_and_positions(subject):
    answer = scaled_embeddings(subject)
    check(answer, 19)
    model = subject.trace.model
    width = model.config.d_model
    table = model.source_embedding.weight.data
    words = [int(word) for word in subject.trace.source[0] if word != PAD]
    places = sinusoids(len(words), width)
    if model.config.positions == "learned":
        places = model.source_positions.weight.data[: len(words)]
    before = [np.linalg.norm(table[word]) for word in words]
    after = [math.sqrt(width) * norm for norm in before]
    beside = [np.linalg.norm(place) for place in places]
    cosines = [
        abs(table[word] @ place) / np.linalg.norm(table[word]) / np.linalg.norm(place)
        for word, place in zip(words, places, strict=True)
    ]

    def still_nearest(factor):
        sums = [factor * table[word] + place for word, place in zip(words, places, strict=True)]
        nearest = [min(range(len(table)), key=lambda n: np.linalg.norm(each - factor * table[n])) for each in sums]
        return sum(found == word for found, word in zip(nearest, words, strict=True))

    said = numbers(answer.answer.en)
    expected = [f"{np.mean(before):.3g}", str(width), f"{np.mean(after):.3g}", f"{np.mean(beside):.3g}"]
    expected += [str(still_nearest(math.sqrt(width))), str(len(words)), str(still_nearest(1.0)), str(len(words))]
    expected += [f"{np.mean(cosines):.2g}", str(width), f"{math.sqrt(2 / (math.pi * width)):.2g}"]
    assert said == expected
    (bars,) = answer.figures
    for found, right in zip(bars.groups.values(), (before, after, beside), strict=True):
        assert found == pytest.approx(right, rel=1e-9)


def test_random_directions_have_the_cosine_that_is_said_of_them():
    width = SUBJECTS["other choices"].trace.model.config.d_model
    said = value(numbers(scaled_embeddings(SUBJECTS["other choices"]).answer.en)[-1])
    vectors = np.random.default_rng(0).standard_normal((2, 20000, width))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    assert said == pytest.approx(np.abs(np.sum(vectors[0] * vectors[1], axis=-1)).mean(), rel=0.06)
