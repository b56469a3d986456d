"""Question 8: a table's gradient by a loop over the places that read it."""

import numpy as np
import pytest

from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS, subject
from transformer.study.questions.tables import repeated_ids
from transformer.vocabulary import PAD

ASKED = SUBJECTS | {
    "a source word twice": subject(8, padded=True, source_length=9),
    "a target word twice": subject(4, source_length=3, target_length=13),
    "no word twice": subject(7, source_length=4, target_length=4),
}


def read(subject):
    """(ids, words, cotangents) of the source, else of the target, else of the source with its first word at its end."""
    trace = subject.trace
    for side, ids, words in (
        ("source", trace.source[0], subject.source_words),
        ("target", trace.target_in[0], ("<bos>", *subject.target_words)),
    ):
        places = [t for t, word in enumerate(ids) if word != PAD]
        if len({ids[t] for t in places}) < len(places):
            grads = trace.seen[f"{side}_embedding.out"].grad.data[0]
            return [ids[t] for t in places], [words[t] for t in places], grads[places]
    places = [t for t, word in enumerate(trace.source[0]) if word != PAD]
    replaced = [*places[:-1], places[0]]
    grads = trace.seen["source_embedding.out"].grad.data[0, places]
    return [trace.source[0, t] for t in replaced], [subject.source_words[t] for t in replaced], grads


def test_the_three_kinds_of_subject_are_among_those_asked():
    told = [repeated_ids(each).answer.en for each in ASKED.values()]
    assert any("In this sentence:" in text for text in told)
    assert any("No word stands twice" in text for text in told)
    assert "<bos>" in repeated_ids(ASKED["a target word twice"]).figures[0].labels[0]


@pytest.mark.parametrize("subject", ASKED.values(), ids=ASKED)
def test_the_answer_says_the_same_in_both_languages(subject):
    check(repeated_ids(subject), 8)


@pytest.mark.parametrize("subject", ASKED.values(), ids=ASKED)
def test_rows_add_their_cotangents_and_lose_all_but_the_last_where_they_overwrite(subject):
    answer = repeated_ids(subject)
    (bars,) = answer.figures
    ids, words, grads = read(subject)
    scale = np.sqrt(grads.shape[1])
    added, last, name = {}, {}, {}
    for word, row, g in zip(words, ids, grads, strict=True):
        added[row] = added.get(row, 0) + scale * g
        last[row] = scale * g
        name[row] = word
    assert list(bars.labels) == [f"{name[row]} ×{ids.count(row)}" for row in added]
    right, wrong = bars.groups.values()
    np.testing.assert_allclose(right, [np.linalg.norm(g) for g in added.values()], rtol=1e-12)
    np.testing.assert_allclose(wrong, [np.linalg.norm(g) for g in last.values()], rtol=1e-12)
    often = max(added, key=ids.count)
    assert f"“{name[often]}” stands {ids.count(often)} times; added, its row's gradient has norm " in answer.answer.en
    assert f"has norm {np.linalg.norm(added[often]):.3g}. With" in answer.answer.en
    assert f"the last place wins: {np.linalg.norm(last[often]):.3g}. Lost" in answer.answer.en


@pytest.mark.parametrize("subject", ASKED.values(), ids=ASKED)
def test_the_lost_share_is_of_the_places_that_a_later_one_overwrites(subject):
    ids, _, grads = read(subject)
    table = np.zeros((max(ids) + 1, grads.shape[1]))
    table[ids] += grads  # NumPy's own trap, which the answer warns of
    kept = np.abs(table).sum()
    share = 100 * (1 - kept / np.abs(grads).sum())
    told = repeated_ids(subject).answer.en.split("Lost: ")[1]
    places, percent = told.split("% of the cotangents")[0].split(" places, and ")
    assert places == f"{len(ids) - len(set(ids))} of {len(ids)}"
    np.testing.assert_allclose(float(percent), share, rtol=0.005, atol=1e-12)
