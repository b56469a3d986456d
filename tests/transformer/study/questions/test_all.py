"""All questions of a page: each number once, in order, each in two languages, each with a figure that can be drawn."""

import re
from xml.etree import ElementTree

import pytest

from tests.transformer.study.questions.asked import SUBJECTS
from transformer.study.questions import QUESTIONS


@pytest.fixture(scope="module")
def answers():
    subject = next(iter(SUBJECTS.values()))
    return [question(subject) for question in QUESTIONS]


def test_they_are_numbered_in_the_order_in_which_they_are_asked(answers):
    assert [answer.number for answer in answers] == list(range(1, 28))


def test_each_has_both_languages_and_at_least_one_figure(answers):
    for answer in answers:
        for english, chinese in (answer.question, answer.answer):
            assert not re.search(r"[\u4e00-\u9fff]{3}", english), answer.number  # a word of a sentence may be quoted
            assert re.search(r"[\u4e00-\u9fff]", chinese), answer.number
        assert 1 <= len(answer.figures) <= 3
        for figure in answer.figures:
            for language in ("en", "zh"):
                ElementTree.fromstring(figure.svg(language))
