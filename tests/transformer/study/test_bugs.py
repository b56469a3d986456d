"""The zoo of planted bugs: each is caught, the model as it is by nobody, and nothing of a bug is left behind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from transformer.study.bugs import ZOO, embedding, layers, lesson, masks, planted, scores, training
from transformer.study.bugs.bug import valued
from transformer.study.bugs.examination import UNTRAINED, WITNESSES, Examined, examine, untrained
from transformer.study.bugs.lesson import Taught, teach
from transformer.study.bugs.shown import losses, table
from transformer.study.bugs.witnesses import invariance
from transformer.study.bugs.witnesses.gradient import gradient_check
from transformer.study.bugs.witnesses.invariance import LAWS, invariances
from transformer.study.bugs.witnesses.learning import exact_match, loss_curve
from transformer.study.bugs.witnesses.reference import reference
from transformer.study.bugs.witnesses.specimen import specimen
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words

SEED = 5

BROKEN_BY = {
    "repeatable": "dropout in evaluation",
    "unforeseen": "sees the next word",
    "remembered": "causal mask transposed",
    "source_read": "cross-attention to itself",
    "company_ignored": "padding mask missing",
    "padding_ignored": "padding counted as place",
    "nothing_seen": "mask is -1e9",
    "loss_of_words": "mean over padding too",
    "order_read": "positions missing",
    "cache_unseen": "cache forgets the place",
    "dropout_fair": "dropout not rescaled",
    "first_loss": "smoothing not divided by V",
}
"""For each law a bug that breaks it."""


def of_kind(*kinds):
    return sorted(name for name, bug in ZOO.items() if bug.kind in kinds)


def test_the_zoo_is_large_and_no_two_have_one_name():
    rooms = (scores, masks, layers, embedding, training)
    assert len(ZOO) == sum(len(room.BUGS) for room in rooms) >= 40


@pytest.mark.parametrize("name", ZOO)
def test_a_bug_is_told_in_both_languages_in_a_sentence_or_two(name):
    what = ZOO[name].what
    assert what.en.endswith(".")
    assert what.zh.endswith("。")
    assert len(what.en) <= 130
    assert len(what.zh) <= 70
    assert sum("\u4e00" <= sign <= "\u9fff" for sign in what.zh) >= 5


@pytest.mark.parametrize("name", of_kind("gradient"))
def test_a_gradient_bug_is_caught_by_the_gradient_check_and_changes_no_value(name):
    with planted(ZOO[name]):
        assert gradient_check(SEED).caught
        assert not reference(SEED).caught


@pytest.mark.parametrize("name", sorted(set(of_kind("forward", "training")) - {"zero_grad forgotten"}))
def test_a_bug_of_values_is_caught_by_a_law_or_by_hand(name):
    with planted(ZOO[name]):
        assert reference(SEED).caught or invariances(SEED).caught


@pytest.mark.parametrize(
    "name", ["scale missing", "causal mask missing", "heads cut by reshape", "loss counts padding"]
)
def test_the_gradients_of_a_wrong_forward_pass_are_right_all_the_same(name):
    with planted(ZOO[name]):
        assert not gradient_check(SEED).caught


def test_gradients_left_over_are_caught_by_the_gradient_check():
    with planted(ZOO["zero_grad forgotten"]):
        assert gradient_check(SEED).caught


@pytest.mark.parametrize("name", BROKEN_BY)
def test_each_law_is_broken_by_a_bug(name):
    law = getattr(invariance, name)
    assert law(SEED) is None
    with planted(ZOO[BROKEN_BY[name]]):
        told = law(SEED)
    assert told.en != told.zh


def test_for_every_law_such_a_bug_is_named():
    assert sorted(BROKEN_BY) == sorted(law.__name__ for law in LAWS)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_nobody_catches_the_model_as_it_is(seed):
    verdicts = untrained(seed)
    assert set(verdicts) == set(UNTRAINED)
    assert not any(verdict.caught for verdict in verdicts.values()), verdicts


@pytest.mark.parametrize("name", ZOO)
def test_a_bug_is_taken_out_again_whatever_happens(name):
    bug = ZOO[name]
    right = vars(bug.place.owner)[bug.place.name]
    with planted(bug):
        assert vars(bug.place.owner)[bug.place.name] is bug.wrong is not right
    assert vars(bug.place.owner)[bug.place.name] is right
    with pytest.raises(ZeroDivisionError), planted(bug):
        raise ZeroDivisionError
    assert vars(bug.place.owner)[bug.place.name] is right


def test_bugs_can_be_planted_within_each_other():
    model, batch = specimen(SEED), lesson.batch_of(list(map(pair_of, ["abc", "fed"])))
    healthy = lesson.loss_of(model, batch).item()
    with planted(ZOO["scale missing"]):
        one = lesson.loss_of(model, batch).item()
        with planted(ZOO["mask is -1e9"]):  # in the same place
            assert lesson.loss_of(model, batch).item() == pytest.approx(healthy, abs=1e-12)
        assert lesson.loss_of(model, batch).item() == one != healthy
    assert lesson.loss_of(model, batch).item() == healthy


def pair_of(letters):
    return lesson.Pair(tuple(letters), tuple(reversed(letters)))


@given(seed=st.integers(0, 99))
def test_valued_takes_its_value_from_one_and_its_gradient_from_the_other(seed):
    rng = np.random.default_rng(seed)
    x = mg.Tensor(rng.standard_normal((3, 2)), requires_grad=True)
    cotangent = rng.standard_normal((3, 2))
    both = valued(mg.exp(x), mg.sin(x))
    np.testing.assert_allclose(both.data, np.exp(x.data), rtol=1e-14)
    np.testing.assert_allclose(mg.gradients(both, [x], cotangent)[0].data, cotangent * np.cos(x.data), rtol=1e-14)


def test_a_lesson_is_the_same_every_time_and_a_gradient_bug_shows_from_the_second_step_on():
    healthy, again = teach(0, 3), teach(0, 3)
    assert healthy == again
    with planted(ZOO["memory detached"]):
        ill = teach(0, 3)
    assert ill.losses[0] == healthy.losses[0]
    assert ill.losses[1] != healthy.losses[1]
    assert len(ill.losses) == 3


def test_held_out_strings_are_never_taught():
    rng = np.random.default_rng(0)
    taught, held_out = lesson.drawn(rng, False), lesson.drawn(rng, True)
    known = {next(taught) for _ in range(2000)}
    assert known.isdisjoint(next(held_out) for _ in range(300))


def test_the_loss_curve_is_judged_by_how_far_it_came_down():
    healthy = [taught(3.0, 0.3), taught(4.0, 0.5)]  # 0.9 and 0.875 of the way
    assert not loss_curve(taught(300.0, 67.0), healthy).caught
    assert not loss_curve(taught(1.0, 0.5), healthy).caught  # as low as one of them
    assert loss_curve(taught(1.0, 0.51), healthy).caught
    assert loss_curve(taught(300.0, 68.0), healthy).caught
    assert loss_curve(taught(3.0, float("nan")), healthy).caught


def test_exact_match_is_judged_with_room_for_luck():
    healthy = [taught(3.0, 0.3, 0.99), taught(3.0, 0.3, 0.97)]
    assert not exact_match(taught(3.0, 0.3, 0.925), healthy).caught
    assert exact_match(taught(3.0, 0.3, 0.915), healthy).caught


def taught(first, last, exact=1.0):
    """Forty steps of which the last half have one loss."""
    return Taught((first,) * 20 + (last,) * 20, exact)


def test_the_last_loss_is_that_of_the_last_tenth_of_the_steps():
    one = Taught(tuple(float(n) for n in range(20)), 0.5)
    assert (one.first, one.last) == (0.0, 18.5)


def test_an_examination_asks_every_witness_with_the_bug_planted():
    steps = []
    one = examine(ZOO["eps outside the root"], [teach(1, 2)], SEED, 2, steps.append)
    assert steps == [1, 2]
    assert tuple(one.verdicts) == WITNESSES
    assert one.caught_by == ["by hand"]
    assert one.learns
    assert one.evidence == one.verdicts["by hand"].evidence
    assert "self_attention_norm.out: " in one.evidence.en
    assert not untrained(SEED)["by hand"].caught


def examined(name, *caught, last=0.3):
    verdicts = {witness: Verdict(witness in caught, Words(f"seen by {witness}", witness)) for witness in WITNESSES}
    return Examined(ZOO.get(name), taught(3.0, last), verdicts)


def test_the_figures_say_who_caught_what_and_count_who_still_learns():
    rows = [examined(None), examined("scale missing", "by hand"), examined("residual missing", "loss curve", last=2.0)]
    drawn = table(rows)
    assert drawn.title.en == "1 of 2 planted bugs still learn"
    assert drawn.rows[0][0].en == "no bug"
    assert [getattr(cell, "en", cell) for cell in drawn.rows[1][4:]] == [
        "100.0%", "–", "–", "–", "–", "caught", "seen by by hand",
    ]  # fmt: skip
    curves = losses(rows, [taught(3.0, 0.4)])
    assert {name.en: values.round(9).tolist() for name, values in curves.curves.items()} == {
        "no bug": [[3.0, 0.4], [3.0, 0.3]],
        "bugs that learn": [[3.0, 0.3]],
        "bugs that don't": [[3.0, 2.0]],
    }
    assert curves.x == [20, 40]
    for language in ("en", "zh"):
        assert "<svg" in drawn.svg(language)
        assert "<svg" in curves.svg(language)
