"""The command that plants bugs: rows as they come, what is told at the end, and every way out of it."""

import xml.etree.ElementTree as ET

import pytest

import transformer.study.bugs.examination as examination
from transformer.study.bugs import ZOO

PICTURES = ["bugs.svg", "bugs.zh.svg", "losses.svg"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Steps are few, and of the witnesses only what a test is about is asked."""
    monkeypatch.setattr(examination, "UNTRAINED", {"by hand": examination.reference})
    monkeypatch.setattr(examination, "WITNESSES", (*examination.LEARNT, "gradient check", "invariance", "by hand"))
    asked = examination.untrained
    silent = {name: examination.Verdict(False, examination.Words("", "")) for name in ("gradient check", "invariance")}
    monkeypatch.setattr(examination, "untrained", lambda seed: silent | asked(seed))


def rows(printed):
    """The name of each row and the marks of its witnesses."""
    lines = [line for line in printed.splitlines() if line.startswith(("no bug", *ZOO))]
    return {line[:32].strip(): line[44:].split()[:5] for line in lines}


def test_a_row_each_a_summary_and_pictures(command, workplace):
    status, printed, err = command(
        "bugs", "--only", "unbiased variance", "eps outside the root", "--steps", 2, "--out", "here"
    )
    assert (status, err) == (0, "")
    assert rows(printed) == {
        "no bug": list("....."),
        "unbiased variance": list("....x"),
        "eps outside the root": list("....x"),
    }
    assert "encoder.self_attention_norm.out: " in printed
    assert "2 of 2 still learn" in printed
    assert "2 of 2 also get as many held-out strings right" in printed
    assert "Caught by: loss curve 0, exact match 0, gradient check 0, invariance 0, by hand 2; by nobody 0." in printed
    assert printed.endswith("saved in here: bugs.svg, bugs.zh.svg, losses.svg, for your browser\n")
    table, chinese, losses = ("".join(ET.parse(workplace / "here" / name).getroot().itertext()) for name in PICTURES)
    assert "2 of 2 planted bugs still learn" in table
    assert "种下的 2 个错误中，2 个照样学得会" in chinese
    assert "The loss comes down" in losses


def test_a_bug_that_nobody_catches_is_told_and_is_an_error(refused):
    told = refused("bugs", "--only", "memory detached", "--steps", 1, status=1)
    assert told == "caught though there is no bug, or a bug that nobody caught: memory detached"


def test_ctrl_c_keeps_what_is_done(command, workplace, monkeypatch):
    def interrupted(seed):
        if not seen:
            raise KeyboardInterrupt
        return seen.pop()

    asked = examination.untrained
    seen = [asked(0)]
    with examination.planted(ZOO["unbiased variance"]):
        seen.insert(0, asked(0))
    monkeypatch.setattr(examination, "untrained", interrupted)
    names = ["unbiased variance", "eps outside the root", "positions missing"]
    status, printed, err = command("bugs", "--only", *names, "--steps", 1)
    assert status == 130
    assert err == "note: interrupted after 1 of 3 bugs\n"
    assert list(rows(printed)) == ["no bug", "unbiased variance"]
    assert all((workplace / "runs" / "bugs" / name).exists() for name in PICTURES)


def test_when_time_is_up_no_more_bugs_are_planted(command, workplace):
    status, printed, err = command("bugs", "--steps", 1, "--max-seconds", 1e-9)
    assert status == 0
    assert err == f"note: time was up (--max-seconds) after 0 of {len(ZOO)} bugs\n"
    assert list(rows(printed)) == ["no bug"]
    assert not list((workplace / "runs" / "bugs").iterdir())


def test_its_own_pictures_are_written_anew_and_others_stay(command, refused, workplace):
    arguments = ("bugs", "--only", "unbiased variance", "--steps", 1, "--out", ".")
    assert command(*arguments)[0] == 0
    assert command(*arguments)[0] == 0
    (workplace / "bugs.svg").write_text("mine")
    assert "so it stays" in refused(*arguments)
    assert (workplace / "bugs.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("scale misssing", "there is no bug 'scale misssing'; did you mean 'scale missing'?"),
        ("xyz", "there is no bug 'xyz'; there are: scale missing, "),
    ],
)
def test_an_unknown_bug_is_refused(refused, name, complaint):
    assert complaint in refused("bugs", "--only", name)


def test_the_steps_that_the_help_names_are_the_lessons(command):
    from transformer.study.bugs.lesson import STEPS

    assert f"(default {STEPS})" in command("bugs", "--help")[1]
