"""The lengths command: what it prints, draws and keeps, and that nothing which was computed is lost or done twice."""

import json
import xml.etree.ElementTree as ET

import pytest

import transformer.study.lengths as study
from transformer.study.lengths import Setting, judge, train

OPTIONS = ("--train-length", 2, "--steps", 2, "--seeds", 2, "--seed", 3, "--positions", "both-ends", "learned")
TRAININGS = [("both-ends", 3), ("learned", 3), ("both-ends", 4), ("learned", 4)]


@pytest.fixture
def no_training(monkeypatch):
    """From now on no training may begin."""

    def forbidden(*arguments):
        raise AssertionError("this was trained before")

    return lambda: monkeypatch.setattr(study, "train", forbidden)


@pytest.fixture
def trained_once(command, workplace):
    """What the command printed; its files are in `kept`."""
    status, printed, told = command("lengths", *OPTIONS, "--lengths", "1,2,3", "--out", "kept")
    assert (status, told) == (0, "")
    return printed


def results(folder):
    content = json.loads((folder / "lengths.json").read_text())
    return {(one["kind"], one["seed"]): one["exact_match"] for one in content["trainings"].values()}


def test_it_prints_a_table_and_draws_and_keeps_what_the_study_measures(trained_once, workplace):
    found = results(workplace / "kept")
    assert sorted(found) == sorted(TRAININGS)
    setting = Setting(train_length=2, steps=2)
    model = train(setting, "both-ends", 4, 3)
    assert found["both-ends", 4] == {
        str(n): share for n, share in judge(model, setting, "both-ends", [1, 2, 3]).items()
    }
    assert "reverse: exact match (%), trained up to 2" in trained_once
    assert trained_once.index("both-ends, seed 3") < trained_once.index("learned, seed 3")
    assert "cannot" in next(line for line in trained_once.splitlines() if line.startswith("learned  "))
    assert "a prior that favours reversal" in trained_once
    told = "".join(ET.parse(workplace / "kept" / "lengths.svg").getroot().itertext())
    assert "longest trained" in told
    assert "both-ends (favours reversal, too)" in told
    assert len(list((workplace / "kept" / "weights").iterdir())) == 4


def table(printed):
    return printed[printed.index("reverse: exact match") :]


def test_what_was_trained_is_used_again_also_for_other_lengths(
    trained_once, command, workplace, no_training, monkeypatch
):  # fmt: skip
    before = results(workplace / "kept")
    setting = Setting(train_length=2, steps=2)
    expected = judge(train(setting, "both-ends", 3, 3), setting, "both-ends", [5])
    no_training()
    judged = []
    monkeypatch.setattr(study, "judge", lambda *given: judged.append(given[-1]) or judge(*given))
    status, printed, _ = command("lengths", *OPTIONS, "--lengths", "3,2,1", "--out", "kept")
    assert status == 0
    assert table(printed) == table(trained_once)
    assert judged == []
    assert command("lengths", *OPTIONS, "--lengths", "2,5", "--out", "kept")[0] == 0
    assert judged == [[5]] * 4
    after = results(workplace / "kept")
    assert {key: {n: shares[n] for n in ("1", "2", "3")} for key, shares in after.items()} == before
    assert after["both-ends", 3]["5"] == expected[5]


@pytest.mark.parametrize("change", [("--steps", 3), ("--task", "copy"), ("--unmarked",), ("--rotary-base", 100)])
def test_another_setting_is_another_training(trained_once, command, workplace, change):
    assert command("lengths", *OPTIONS, "--lengths", "1,2,3", "--out", "kept", *change)[0] == 0
    assert len(list((workplace / "kept" / "weights").iterdir())) == 8


def test_randomised_positions_are_trained_anew_for_longer_strings(command, workplace):
    line = ("lengths", *OPTIONS[:-2], "randomised", "--seeds", 1, "--out", "kept")
    for longest, trained in ((3, 1), (3, 1), (9, 2), (3, 2)):
        assert command(*line, "--lengths", f"1,{longest}")[0] == 0
        assert len(list((workplace / "kept" / "weights").iterdir())) == trained


def test_an_interrupted_study_keeps_what_it_has_and_goes_on_to_the_same_end(
    trained_once, command, workplace, monkeypatch
):
    begun = []

    def interrupted_third(setting, kind, seed, longest, watch):
        begun.append((kind, seed))
        if len(begun) == 3:
            raise KeyboardInterrupt
        return train(setting, kind, seed, longest, watch)

    line = ("lengths", *OPTIONS, "--lengths", "1,2,3", "--out", "other")
    with monkeypatch.context() as patched:
        patched.setattr(study, "train", interrupted_third)
        status, printed, told = command(*line)
    assert status == 130
    assert told == "note: interrupted after 2 of 4 trainings; the same command goes on\n"
    assert "both-ends  " in table(printed)
    assert list(results(workplace / "other")) == begun[:2] == TRAININGS[:2]
    status, printed, told = command(*line)
    assert (status, told) == (0, "")
    assert table(printed).replace("other", "kept") == table(trained_once)
    assert results(workplace / "other") == results(workplace / "kept")
    for file in (workplace / "kept" / "weights").iterdir():
        assert (workplace / "other" / "weights" / file.name).read_bytes() == file.read_bytes()


def test_when_time_is_up_no_training_begins(command, workplace):
    status, printed, told = command("lengths", *OPTIONS, "--out", "kept", "--max-seconds", 1e-9)
    assert (status, printed) == (0, "")
    assert told == "note: time was up after 0 of 4 trainings (--max-seconds); the same command goes on\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--task", "sort"), "argument --task: invalid choice: 'sort'"),
        (("--positions", "sinus"), "argument --positions: invalid choice: 'sinus'"),
        (("--lengths", "3,0"), "argument --lengths: must be a whole number, at least 1, got '0'"),
        (("--lengths", "3,,4"), "argument --lengths: must be a whole number, at least 1, got ''"),
        (("--seeds", "0"), "argument --seeds: "),
        (("--rotary-base", "0.5"), "rotary_base must be a number greater than 1, not 0.5"),
        (("--rotary-base", "x"), "argument --rotary-base: "),
    ],
)
def test_what_makes_no_sense_is_one_line(refused, options, complaint):
    assert complaint in refused("lengths", *options)


@pytest.mark.parametrize(
    "content", ["mine", "[]", "{}", '{"made by": "python -m demos lengths", "trainings": {"a": 1}}']
)
def test_results_from_elsewhere_stay(refused, workplace, content):
    (workplace / "kept").mkdir()
    (workplace / "kept" / "lengths.json").write_text(content)
    assert "not as this command wrote it, so it stays" in refused("lengths", *OPTIONS, "--out", "kept")
    assert (workplace / "kept" / "lengths.json").read_text() == content


def test_a_picture_from_elsewhere_is_told_before_anything_is_trained(refused, workplace, no_training):
    no_training()
    (workplace / "kept").mkdir()
    (workplace / "kept" / "lengths.svg").write_text("mine")
    assert "so it stays" in refused("lengths", *OPTIONS, "--out", "kept")


def test_damaged_weights_are_named(trained_once, refused, workplace):
    for file in (workplace / "kept" / "weights").iterdir():
        file.write_bytes(b"x")
    told = refused("lengths", *OPTIONS, "--lengths", "4", "--out", "kept")
    assert "reverse-2-both-ends-3-" in told
    assert ".safetensors: cut short" in told
