"""`data check`: usable or not, what is told, and what is never done to a file or a terminal."""

import json
import re

import pytest

PAIRS = "Hi.\t嗨。\tCC-BY #1\nWait!\t等等！\tCC-BY #2\nWait!\t等一下!\tCC-BY #3\nwait!\t等等！\tCC-BY #4\n"


@pytest.fixture
def pairs(workplace):
    path = workplace / "pairs.txt"
    path.write_bytes(PAIRS.encode())
    return path


def test_a_usable_file_is_told_about_and_ends_in_0(command, pairs):
    status, printed, complaints = command("data", "check", "pairs.txt", "--vocabulary", "5")
    assert (status, complaints) == (0, "")
    assert "\x1b" not in printed
    for told in (
        r"encoding +utf-8, without a byte-order mark", r"lines +4, 0 of them blank", r"pairs +4",
        r"columns +3 in 4 lines",
        r"sources +2, 1 of them with several targets", r"pairs that stood before +1 4",
        r"half width in the target +! +1 +3",
        r"Wait! +2 +等等！ \| 等一下!", r"source +words +2 +2 +2 +2 +2", r"source words +4 +\d+\.\d%",
    ):  # fmt: skip
        assert re.search(f"^{told}", printed, re.MULTILINE), told
    assert printed.endswith("\nThe file can be used.\n")
    assert pairs.read_bytes() == PAIRS.encode()


def test_a_file_with_lines_that_are_no_pair_shows_them_and_ends_in_1(command, pairs):
    pairs.write_text(PAIRS + "no tab here\n" * 12, encoding="utf-8")
    status, printed, complaint = command("data", "check", "pairs.txt")
    assert status == 1
    assert complaint.count("\n") == 1
    assert complaint.startswith("error: pairs.txt: line 5: no tab in it; write source<TAB>target")
    assert "and 11 more lines are no pair" in complaint
    assert "... and 2 more\n" in printed
    assert "can be used" not in printed


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_pairs_ends_in_1(refused, pairs, data):
    pairs.write_bytes(data)
    assert "no pair in it" in refused("data", "check", "pairs.txt", status=1)


def test_another_encoding_is_refused_by_line_and_read_when_it_is_named(refused, command, pairs):
    pairs.write_bytes(PAIRS.encode("gb18030"))
    complaint = refused("data", "check", "pairs.txt", status=1)
    assert complaint.startswith("pairs.txt: line 1: not utf-8 text")
    assert "--encoding" in complaint
    assert command("data", "check", "pairs.txt", "--encoding", "gb18030")[0] == 0
    assert "there is no text encoding 'gb'" in refused("data", "check", "pairs.txt", "--encoding", "gb", status=1)


def test_the_limit_of_words_leaves_pairs_out(command, refused, pairs):
    assert "left out" in command("data", "check", "pairs.txt", "--limit-words", "2")[1]
    assert "(all 4 are longer than the limit)" in refused("data", "check", "pairs.txt", "--limit-words", "1", status=1)


def test_what_a_terminal_would_obey_is_written_out(command, pairs):
    pairs.write_text("a\x1b[31m\tb\u202e\n", encoding="utf-8")
    status, printed, _ = command("data", "check", "pairs.txt")
    assert status == 0
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert r"a\x1b[31m" in printed
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in printed


def test_the_seed_chooses_the_pairs_that_are_shown(command, pairs):
    pairs.write_text("".join(f"word{n}\t字\n" for n in range(200)), encoding="utf-8")
    first, again, other = (command("data", "check", "pairs.txt", "--seed", seed)[1] for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_out_has_every_line_and_goes_over_nobody_elses_file(command, refused, pairs, workplace):
    pairs.write_text("a\tb\n" * 50, encoding="utf-8")
    for _ in range(2):
        assert command("data", "check", "pairs.txt", "--out", "new/report.json")[0] == 0
        content = json.loads((workplace / "new" / "report.json").read_text("utf-8"))
        assert content["duplicates"] == list(range(2, 51))
    assert "pairs.txt: not as this command wrote it" in refused("data", "check", "pairs.txt", "--out", "pairs.txt")
    assert pairs.read_text("utf-8") == "a\tb\n" * 50


def test_out_of_time_says_so(command, refused, pairs, monkeypatch):
    assert "no pair in it" in refused("data", "check", "pairs.txt", "--max-seconds", "1e-9", status=1)
    ticks = iter([0.0, 0.0, 0.0, 99.0])
    monkeypatch.setattr("demos.data.time.monotonic", lambda: next(ticks))
    status, printed, complaint = command("data", "check", "pairs.txt")
    assert status == 0
    assert "lines                    2," in printed
    assert complaint == "note: no time for the last 2 lines (--max-seconds)\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["check", "none.txt"], "none.txt: No such file"),
        (["check", "."], "Is a directory"),
        (["check"], "the following arguments are required: FILE"),
        (["chekc", "pairs.txt"], "invalid choice: 'chekc'"),
        (["check", "pairs.txt", "--vocabulary", "4"], "its size is at least 5, not 4"),
    ],
)
def test_a_wrong_command_is_told_plainly(refused, pairs, arguments, complaint):
    assert complaint in refused("data", *arguments)
