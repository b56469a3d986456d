"""Subjects with several pairs, for questions about more than one sentence; and what is true of every answer."""

import re
from dataclasses import replace

import numpy as np

from tests.transformer.study.questions import subjects
from transformer.study.figures import Bars, Grid, Lines, Table, Words
from transformer.study.questions.answer import Answer
from transformer.tasks.task import Pair


def with_pairs(subject, count=6, seed=7):
    """The same with pairs of random words, of every length from 1 to 5."""
    rng = np.random.default_rng(seed)
    vocabularies = (subject.source_vocabulary, subject.target_vocabulary)
    words = [
        [tuple(map(str, rng.choice(v.tokens[4:], rng.integers(1, 6)))) for v in vocabularies] for _ in range(count)
    ]
    return replace(subject, pairs=[Pair(*each) for each in words])


SUBJECTS = {name: with_pairs(subject) for name, subject in subjects.SUBJECTS.items()}
"""Each of another kind; every parameter is random, and no two dimensions are equal."""

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?%?")


def numbers(text):
    """The numbers in a text, as they are written, in order."""
    return NUMBER.findall(text)


def value(number):
    return float(number.replace(",", "").rstrip("%")) / (100 if number.endswith("%") else 1)


def check(answer, number):
    """What must be true of every answer: both languages say the same numbers, and figures fit themselves."""
    assert isinstance(answer, Answer)
    assert answer.number == number
    assert 1 <= len(answer.figures) <= 3
    for words in (answer.question, answer.answer):
        assert sorted(numbers(words.en)) == sorted(numbers(words.zh))
        assert re.search("[\u4e00-\u9fff]", words.zh)
        assert not re.search("[\u4e00-\u9fff]", words.en)
    assert len(numbers(answer.answer.en)) >= 2
    for figure in answer.figures:
        check_figure(figure)


def check_figure(figure):
    assert isinstance(figure.title, Words)
    match figure:
        case Grid():
            assert figure.values.shape == (len(figure.rows), len(figure.columns))
            assert figure.hidden is None or figure.hidden.shape == figure.values.shape
            assert np.isfinite(figure.values).all()
        case Bars():
            assert all(len(bars) == len(figure.labels) for bars in figure.groups.values())
        case Lines():
            assert all(np.shape(curve)[-1] == len(figure.x) for curve in figure.curves.values())
        case Table():
            assert all(len(row) == len(figure.columns) for row in figure.rows)
