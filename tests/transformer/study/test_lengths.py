"""The study of lengths: what is trained and judged, that it is the same every time, and that its measures are right."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import Transformer
from transformer.study.figures import Lines, Words
from transformer.study.lengths import (
    KINDS,
    Lengths,
    Measured,
    Setting,
    attended,
    first_mistakes,
    judge,
    lengths,
    model_config,
    train,
    training,
    unseen,
)
from transformer.study.lengths.looking import first_difference, right_places
from transformer.study.lengths.results import per_cent
from transformer.study.lengths.setting import VOCABULARY, can_read
from transformer.study.lengths.training import task_of
from transformer.tasks.stream import batch_for_step
from transformer.tasks.symbols import is_unseen
from transformer.vocabulary import EOS, PAD

TINY = dict(train_length=3, steps=3, strings=6, d_model=8, heads=2, d_ff=10, batch_size=4)

settings = st.builds(
    Setting, task=st.sampled_from(["copy", "reverse"]), train_length=st.integers(1, 7), strings=st.integers(1, 9),
    marked=st.booleans(),
)  # fmt: skip


class Fake:
    """What `evaluate` asks of a model: it writes what `write` says of the letters' ids."""

    def __init__(self, setting, write):
        self.setting, self.write = setting, write

    def generate(self, source, max_length, beam):
        ids = np.full((len(source), max_length), PAD)
        for row, read in zip(ids, source, strict=True):
            letters = list(read[1:-1] if self.setting.marked else read)
            written = [*self.write(letters[::-1] if self.setting.task == "reverse" else letters), EOS][:max_length]
            row[: len(written)] = written
        return ids


def state(model):
    return {name: array.tobytes() for name, array in model.state_dict().items()}


@given(settings, st.integers(0, 2**32 - 1))
def test_training_strings_are_never_held_out_and_say_what_is_to_be_written(setting, seed):
    rng = np.random.default_rng(seed)
    pairs = [task_of(setting).sample(rng) for _ in range(60)]
    for source, target in pairs:
        letters = source[1:-1] if setting.marked else source
        assert (source[0], source[-1]) == ("^", "$") or not setting.marked
        assert target == (letters if setting.task == "copy" else letters[::-1])
        assert 1 <= len(letters) <= setting.train_length
        assert not is_unseen(letters)
    if setting.train_length <= 4:
        assert {len(target) for _, target in pairs} == set(range(1, setting.train_length + 1))


@given(settings, st.integers(1, 9))
def test_models_are_judged_by_distinct_held_out_strings_of_one_length(setting, length):
    pairs = unseen(setting, length)
    assert len(set(pairs)) == len(pairs) == (setting.strings if length > 1 else min(setting.strings, 2))
    assert all(is_unseen(pair.target[::-1] if setting.task == "reverse" else pair.target) for pair in pairs)
    assert {len(pair.target) for pair in pairs} == {length}
    assert unseen(setting, length) == pairs


def test_there_are_as_many_strings_of_three_letters_as_may_be_asked_for():
    counts = [len(unseen(Setting(strings=500), length)) for length in (1, 2, 3, 4)]
    assert counts == [2, 44, 500, 500]


@given(settings, st.integers(1, 9))
def test_the_right_place_in_the_source_holds_the_letter_that_is_to_be_written(setting, length):
    for pair in unseen(setting, length):
        assert tuple(pair.source[place] for place in right_places(setting, length)) == pair.target


@pytest.mark.parametrize("task", ["copy", "reverse"])
@pytest.mark.parametrize("marked", [True, False])
def test_exact_match_is_that_of_a_model_which_is_right_or_wrong_by_construction(task, marked):
    setting = Setting(task=task, marked=marked, strings=50)
    right = Fake(setting, lambda letters: letters)
    assert judge(right, setting, "alibi", [1, 2, 9, 30]) == {1: 1.0, 2: 1.0, 9: 1.0, 30: 1.0}
    no_end = Fake(setting, lambda letters: [*letters, letters[0]])
    assert judge(no_end, setting, "none", [4]) == {4: 0.0}
    until_seven = Fake(setting, lambda letters: letters[:7])
    assert judge(until_seven, setting, "rotary", [7, 8]) == {7: 1.0, 8: 0.0}
    (letter,) = VOCABULARY.encode(["a"])
    fears_a = Fake(setting, lambda letters: [x for x in letters if x != letter])
    share = np.mean(["a" not in pair.target for pair in unseen(setting, 5)])
    assert 0 < share < 1
    assert judge(fears_a, setting, "rotary", [5]) == {5: share}


def test_where_the_first_wrong_word_stands_is_counted():
    setting = Setting(strings=20)
    assert first_mistakes(Fake(setting, lambda letters: letters), setting, 6) == {}
    assert first_mistakes(Fake(setting, lambda letters: [*letters, letters[0]]), setting, 6) == {6: 20}
    assert first_mistakes(Fake(setting, lambda letters: letters[:-2]), setting, 6) == {4: 20}
    (a,) = VOCABULARY.encode(["a"])
    found = first_mistakes(Fake(setting, lambda letters: [EOS if x == a else x for x in letters]), setting, 6)
    firsts = [pair.target.index("a") for pair in unseen(setting, 6) if "a" in pair.target]
    assert found == {place: firsts.count(place) for place in sorted(set(firsts))}
    assert first_difference(("a", "b"), ("a", "c", "d")) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_is_the_same_to_the_bit_and_another_seed_another_one(kind):
    setting = Setting(**TINY)
    steps = []
    model = train(setting, kind, 5, 6, steps.append)
    assert steps == [1, 2, 3]
    assert state(train(setting, kind, 5, 6)) == state(model)
    assert state(train(setting, kind, 6, 6)) != state(model)
    assert state(model) != state(Transformer(model.config, rng=5))
    again = Transformer(model_config(setting, kind, 6))
    again.load_state_dict(model.state_dict())
    assert judge(again, setting, kind, [1, 3, 6]) == judge(model, setting, kind, [1, 3, 6])


def test_the_strings_of_a_training_are_those_of_its_seed(monkeypatch):
    asked = []

    def noted(task, batch_size, seed, step, window):
        asked.append((seed, step))
        return batch_for_step(task, batch_size, seed, step, window)

    monkeypatch.setattr(training, "batch_for_step", noted)
    train(Setting(**TINY), "none", 7, 3)
    assert asked == [(7, 1), (7, 2), (7, 3)]


def test_only_randomised_positions_depend_on_how_long_strings_will_be():
    setting = Setting(**TINY | {"steps": 1})
    near, far = (train(setting, "randomised", 1, longest) for longest in (6, 60))
    assert state(near) != state(far)
    others = (train(setting, "sinusoidal", 1, longest) for longest in (6, 60))
    assert len({tuple(state(model).items()) for model in others}) == 1


def test_learned_positions_end_with_the_trained_lengths_and_have_nothing_right_beyond():
    setting = Setting(**TINY)
    model = train(setting, "learned", 0, 9)
    pairs = {length: VOCABULARY.encode(unseen(setting, length)[0].source) for length in (3, 4)}
    assert model.generate([pairs[3]], 4).shape[0] == 1
    with pytest.raises(ValueError, match="longer than the 5 positions that are learnt"):
        model.generate([pairs[4]], 5)
    assert judge(model, setting, "learned", [4, 9]) == {4: 0.0, 9: 0.0}
    assert [can_read("learned", length, setting) for length in (3, 4)] == [True, False]
    assert can_read("randomised", 4, setting)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_reads_the_longest_string_that_it_is_made_for(kind, marked):
    setting = Setting(**TINY | {"marked": marked})
    longest = 3 if kind == "learned" else 11
    model = Transformer(model_config(setting, kind, longest))
    assert judge(model, setting, kind, [longest]).keys() == {longest}


def test_the_model_has_the_size_that_the_docstring_says():
    counts = {
        kind: Transformer(model_config(Setting(), kind, 40)).parameter_count for kind in KINDS if kind != "learned"
    }
    assert set(counts.values()) == {85_402}


@pytest.mark.parametrize(
    ("base", "trained", "expected"),
    [(1e4, 19, 19.9), (1e4, 20, 62.8), (1e4, 40, 62.8), (1e5, 20, 26.5), (1e5, 40, 111.7), (1e6, 40, 198.7)],
)
def test_the_horizon_is_the_first_period_longer_than_the_trained_strings(base, trained, expected):
    assert abs(Setting(train_length=trained, rotary_base=base).horizon - expected) < 0.05
    assert Setting(train_length=10**9).horizon == math.inf


def test_a_table_says_mean_and_range_and_what_can_not_be_read():
    setting = Setting(train_length=10)
    measured = [
        Measured("rotary", 0, {5: 1.0, 20: 0.5}), Measured("learned", 0, {5: 0.25, 20: 0.0}),
        Measured("rotary", 1, {5: 1.0, 20: 0.9, 30: 0.0}),
    ]  # fmt: skip
    found = Lengths(setting, measured)
    table = found.table()
    assert table.columns[1:] == ["5", "20 *"]
    assert table.rows == [["rotary", "100", "70 (50-90)"], ["learned", "25", Words("cannot", "不能")]]
    figure = found.figure()
    curves = list(figure.curves.values())
    np.testing.assert_array_equal(curves[0], [[100, 50], [100, 90]])
    np.testing.assert_array_equal(curves[1], [[25, 0]])
    assert list(figure.x) == [5, 20]
    assert sorted(figure.uprights) == [10.0, setting.horizon]
    assert "a prior that favours reversal" in found.note().en
    assert Lengths(setting, []).table().rows == []
    assert list(Lengths(setting, [measured[1]]).figure().uprights) == [10.0]


def test_100_is_said_of_nothing_less():
    assert [per_cent(share) for share in (1, 0.9999, 0.995, 1 / 3, 0.0)] == ["100", "99.9", "99.5", "33.3", "0"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_upright_lines_stand_where_they_say_and_are_left_out_beyond_the_curves(language):
    lines = Lines(
        Words("t", "t"), [0, 10], {"a": np.array([0.0, 1.0])},
        uprights={5: Words("middle", "中"), 10: "end", 11: "beyond", -1: "before"},
    )  # fmt: skip
    picture = lines.svg(language)
    assert ("middle" if language == "en" else "中") in picture
    assert "end" in picture
    assert "beyond" not in picture
    assert "before" not in picture
    left, right = map(float, re.search(r'points="([\d.]+),[\d.]+ ([\d.]+),', picture).groups())
    found = [float(x) for x in re.findall(r'stroke-dasharray="3 3" d="M([\d.]+) ', picture)]
    assert found == pytest.approx([right, (left + right) / 2], abs=0.11)


@pytest.mark.parametrize("setting", [Setting(**TINY), Setting(**TINY | {"marked": False, "task": "copy"})])
def test_where_attention_looks_is_the_pattern_by_distance_from_the_right_word(setting):
    model = Transformer(model_config(setting, "none", 7), rng=3)
    words = 7 + 2 * setting.marked
    pattern = np.zeros((2, 8, words))  # heads, steps, words
    right = right_places(setting, 7)
    pattern[0, np.arange(7), right] = 1
    pattern[1] = 1 / words
    with model.patch({"decoder.layers.0.cross_attention.pattern": pattern}):
        figure = attended(model, setting, 7)
    finds, everywhere = figure.curves.values()
    assert dict(zip(figure.x, finds, strict=True)) == {x: float(x == 0) for x in figure.x}
    np.testing.assert_allclose(everywhere, 1 / words, rtol=1e-6)
    assert list(figure.x) == list(range(-max(right), words - min(right)))


def test_all_at_once_is_each_training_judged():
    setting = Setting(**TINY)
    found = lengths(setting, ["both-ends", "learned"], [4, 9], [2, 5])
    assert found == lengths(setting, ["both-ends", "learned"], [4, 9], [2, 5])
    assert [(one.kind, one.seed) for one in found.measured] == [
        ("both-ends", 4), ("both-ends", 9), ("learned", 4), ("learned", 9),
    ]  # fmt: skip
    assert found.measured[1].exact_match == judge(train(setting, "both-ends", 9, 5), setting, "both-ends", [2, 5])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"task": "sort"}, "the task is 'copy' or 'reverse', not 'sort'"),
        ({"train_length": 0}, "train_length must be at least 1, not 0"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"strings": 501}, "strings must be at most 500, not 501"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, text):
    with pytest.raises(ValueError, match=text):
        Setting(**changes)


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="there are no positions 'sinus', only sinusoidal, learned, "):
        model_config(Setting(), "sinus", 3)
