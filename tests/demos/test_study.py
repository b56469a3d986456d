"""`python -m demos study`: the page of a small run; what can't be studied is one line, and nothing is lost."""

import json
import re

import numpy as np
import pytest

import demos.study
import transformer.study.questions
from transformer.study.hand import hand_gradients
from transformer.study.leaks import leaks
from transformer.study.ledger import ledgers
from transformer.training.run import open_run


@pytest.fixture(autouse=True)
def two_questions(monkeypatch):
    """All of them are asked in tests/transformer/study/questions; here two are enough."""
    few = transformer.study.questions.QUESTIONS[:1] + transformer.study.questions.QUESTIONS[4:5]
    monkeypatch.setattr(transformer.study.questions, "QUESTIONS", few)


def data_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.S)[1])


def test_sentences_make_one_page_with_a_picker(command, translate_run, workplace):
    status, out, err = command("study", "i love you .", "he loves her .", "--out", "pages/mine.html")
    assert (status, err) == (0, "")
    page = workplace / "pages/mine.html"
    assert re.search(r"saved: pages/mine.html, \d+\.\d MB", out)
    assert page.stat().st_size < 5e6
    lessons = data_of(page)["lessons"]
    assert [lesson["source"] for lesson in lessons] == [["i", "love", "you", "."], ["he", "loves", "her", "."]]
    assert all(lesson["target"] == [lesson["target_in"][n + 1] for n in range(len(lesson["target"]) - 1)]
               + lesson["target"][-1:] for lesson in lessons)  # fmt: skip
    assert page.read_text("utf-8").count('<details id="question-') == 2


def test_words_without_quotes_are_one_sentence_and_none_is_the_tasks_own(command, translate_run, workplace):
    assert command("study", "they", "know", "him", ".")[0] == 0
    assert [lesson["source"] for lesson in data_of(workplace / "study.html")["lessons"]] == [
        ["they", "know", "him", "."]
    ]
    assert command("study")[0] == 0  # a page that this command wrote is written anew
    assert data_of(workplace / "study.html")["lessons"][0]["source"] == ["i", "love", "you", "."]


def test_any_tasks_run_can_be_studied(command, copy_run, workplace):
    status, _, _ = command("study", "--run", copy_run, "a b c")
    assert status == 0
    assert data_of(workplace / "study.html")["lessons"][0]["source"] == ["a", "b", "c"]


def test_a_page_from_elsewhere_stays(refused, translate_run, workplace):
    (workplace / "study.html").write_text("mine")
    assert "study.html" in refused("study", "i love you .")
    assert (workplace / "study.html").read_text() == "mine"


@pytest.mark.parametrize(("sentence", "told"), [("", "empty"), ("?!", "no word in"), ("i " * 40 + ".", "too long: 4")])
def test_a_sentence_that_can_not_be_read_is_one_line_before_any_training(refused, workplace, sentence, told):
    assert told in refused("study", sentence)
    assert list(workplace.iterdir()) == []


def test_an_unknown_word_is_warned_of_and_shown_as_it_was_typed(command, translate_run, workplace):
    status, _, err = command("study", "i love <b>xyzzy</b> .")
    assert status == 0
    assert "read as <unk>" in err


def test_without_a_run_one_is_trained_first(command, workplace, monkeypatch):
    monkeypatch.setattr(demos.study, "write_page", lambda subjects: "a page")  # an untrained model writes on and on
    status, out, _ = command("study", "--max-seconds", "0.001")
    assert status == 0
    assert out.startswith("There is no trained run yet: training one first, into runs/translate ")
    assert (workplace / "study.html").exists()


def test_a_model_that_the_derivations_do_not_cover_is_one_line(refused, translate_run):
    config = translate_run / "config.toml"
    config.write_text(config.read_text().replace('positions = "sinusoidal"', 'positions = "rotary"'))
    assert "positions" in refused("study", "i love you .")


def test_a_pre_norm_model_is_one_line(refused, translate_run):
    config = translate_run / "config.toml"
    config.write_text(config.read_text().replace('norm = "post"', 'norm = "pre"'))
    assert "norm" in refused("study", "i love you .")


def test_ledger_hand_and_leaks_hold_on_the_translation_model(translate_run):
    opened = open_run(translate_run)
    traces = demos.study.subject(opened, opened.load_model(), "i love you .").trace
    names = [*traces.seen]
    for name, book in zip(names, ledgers(traces.loss, [*traces.seen.values()]), strict=True):
        total = sum(contribution.value for contribution in book.contributions)
        gradient = traces.seen[name].grad.data
        assert np.abs(total - gradient).max() <= 1e-12 * np.abs(gradient).max(), name
    by_hand = hand_gradients(traces.model, traces.source, traces.target_in, traces.target)
    greatest = max(np.abs(gradient).max() for gradient in traces.parameters.values())
    for name, gradient in traces.parameters.items():
        scale = max(np.abs(gradient).max(), 1e-4 * greatest)  # a key's bias has none
        assert np.abs(by_hand.parameters[name] - gradient).max() <= 1e-10 * scale, name
    assert leaks(traces.model).clean
