"""`translate` as a user meets it."""

import io
import json
import os
import re
import sys

import numpy as np
import pytest

import minigrad as mg
from demos.terminal.tables import bar, percent
from minigrad.checkpoint import read_metadata


@pytest.fixture
def typed(monkeypatch):
    """Make this text the standard input."""

    def feed(text, terminal=False):
        stream = io.StringIO(text)
        stream.isatty = lambda: terminal
        monkeypatch.setattr(sys, "stdin", stream)

    return feed


def test_a_sentence_gives_its_translation_and_a_row_a_token(command, translate_run):
    status, out, err = command("translate", "I love you!")
    assert (status, err) == (0, "")
    read, written, empty, header, *rows = out.splitlines()
    assert read == "i love you ."
    assert empty == ""
    assert header.split("  ")[-1].strip() == "any other"
    rows = rows[: rows.index("")]
    tokens = [row.split()[0] for row in rows]
    assert "".join(token for token in tokens if token != "(end)") == written
    for row in rows:
        shares = re.findall(r"<0\.1%|\d+\.\d%|100%", row)
        assert len(shares) == 5
        assert row.split()[1] == row.split()[0]  # the likeliest is what is written
        assert sum(float(share.strip("<%")) for share in shares) == pytest.approx(100, abs=0.6)


def test_columns_line_up_with_chinese_in_them(command, translate_run):
    from rich.cells import cell_len

    rows = command("translate", "i love you .")[1].splitlines()[4:]
    first = [row for row in rows if "%" in row]
    assert len({tuple(cell_len(row[: found.start()]) for found in re.finditer("%", row)) for row in first}) == 1


def test_words_without_quotes_are_one_sentence_and_quoted_ones_are_several(command, translate_run):
    assert len(command("translate", "--brief", "i", "love", "you", ".")[1].splitlines()) == 1
    assert len(command("translate", "--brief", "i love you .", "he loves me .")[1].splitlines()) == 2


def test_standard_input_gives_a_line_a_sentence(command, translate_run, typed):
    typed("i love you .\n\nhe loves me .\n")
    status, out, err = command("translate", "--brief")
    assert (status, err, len(out.splitlines())) == (0, "", 2)


def test_a_prompt_on_a_terminal_goes_on_after_a_mistake(command, translate_run, typed, monkeypatch):
    typed("", terminal=True)
    answers = iter(["i love you .", "", "he loves me ."])

    def answer(prompt):
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    status, out, err = command("translate")
    assert status == 0
    assert "Ctrl-D ends" in out
    assert "i love you ." in out
    assert "he loves me ." in out
    assert err == "error: an empty sentence can't be translated\n"


def test_an_unknown_word_is_warned_of_by_name(command, translate_run):
    status, out, err = command("translate", "the elephant loves xylophones")
    assert status == 0
    assert err == "warning: not in the vocabulary, read as <unk>: elephant, xylophones\n"
    assert out.startswith("the elephant loves xylophones .\n")


@pytest.mark.parametrize("sentence", ["", "   ", "\t\n", "?!", "\u3000"])
def test_an_empty_sentence_is_refused(refused, translate_run, sentence):
    assert re.search("empty sentence|no word in", refused("translate", sentence))


def test_a_sentence_too_long_is_refused_with_both_numbers(refused, translate_run):
    told = refused("translate", "i love you " * 30)
    assert told == "too long: 91 words and signs, and the longest this model has learnt is 16"


def test_one_bad_sentence_does_not_cost_the_others(command, translate_run):
    status, out, err = command("translate", "--brief", "i love you .", "", "he loves me .")
    assert (status, len(out.splitlines())) == (2, 2)
    assert err == "error: an empty sentence can't be translated\n"


def test_no_input_at_all_is_refused(refused, translate_run, typed):
    typed("")
    assert refused("translate").startswith("no sentence was given")


def test_a_run_that_is_missing_torn_or_foreign_is_one_line(refused, translate_run, copy_run):
    assert refused("translate", "hi there", "--run", "nowhere") == "nowhere: there is no such run"
    best = translate_run / "best.safetensors"
    whole = best.read_bytes()
    best.write_bytes(whole[: len(whole) // 2])
    assert "best.safetensors: cut short" in refused("translate", "hi there")
    best.write_bytes((copy_run / "best.safetensors").read_bytes())
    assert "best.safetensors: is of the task copy, config.toml says translate" in refused("translate", "hi there")
    best.unlink()
    assert "has no trained weights yet" in refused("translate", "hi there", "--run", translate_run)


def test_the_newest_run_is_taken(command, translate_run, workplace):
    import shutil

    newer = shutil.copytree(translate_run, workplace / "runs" / "translate-2")
    os.utime(translate_run / "best.safetensors", (0, 0))
    (newer / "best.safetensors").write_bytes(b"")
    assert "runs/translate-2/best.safetensors" in command("translate", "i love you .")[2]


@pytest.mark.parametrize(
    ("report", "warning"),
    [
        (None, r"runs/translate is not trained to its end \(step 30 of 30, exact match \d+\.\d%\)\. To go on: "),
        ({"stopped_early": True}, r"runs/translate is not trained to its end .*python -m demos train --resume runs/tr"),
        ({"exact_match": 0.98}, r"runs/translate is right on 98\.0% of unseen pairs only; the goal is 99\.0%$"),
    ],
)
@pytest.mark.parametrize("named", [[], ["--run", "runs/translate"]])
def test_a_run_that_is_not_what_it_should_be_is_warned_of(command, translate_run, report, warning, named):
    file = translate_run / "report.json"
    if report:
        file.write_text(json.dumps(json.loads(file.read_text()) | report))
    else:
        file.unlink()
    status, _, err = command("translate", "i love you .", *named)
    assert status == 0
    assert err.startswith("warning: ")
    assert re.search(warning, err.splitlines()[0])


def test_a_run_without_even_a_state_is_warned_of(command, translate_run):
    (translate_run / "report.json").unlink()
    (translate_run / "last.safetensors").write_bytes(b"torn")
    assert "runs/translate is not trained to its end. To go on" in command("translate", "i love you .")[2]


def test_a_translation_that_was_cut_off_is_said_to_be(command, translate_run):
    bend(translate_run, lambda bias: np.where(np.arange(len(bias)) == 9, 1e3, bias).astype(bias.dtype))
    status, _, err = command("translate", "--brief", "i love you .")
    assert (status, err) == (0, "warning: cut off: after 26 tokens the model had come to no end\n")


@pytest.mark.parametrize("value", [np.nan, 3e38])
def test_weights_gone_wrong_are_one_line(refused, translate_run, value):
    bend(translate_run, lambda bias: np.full_like(bias, value))
    if np.isfinite(value):
        bend(translate_run, lambda weight: np.full_like(weight, value), "output.weight")
    told = refused("translate", "i love you .")
    assert re.search("infinite or nan|overflow|invalid", told)


def bend(run, change, name="output.bias"):
    """Change one of the arrays of a run's best weights."""
    best = run / "best.safetensors"
    arrays, notes = mg.load(best), read_metadata(best)
    notes.pop("digest", None)  # as in a file of an older release: else the change itself is what is refused
    mg.save(best, arrays | {name: change(arrays[name])}, notes)


def test_any_tasks_run_can_write(command, copy_run):
    status, out, _ = command("translate", "--run", copy_run, "a b c d")
    assert status == 0
    assert out.startswith("a b c d\n")


def test_without_a_run_one_is_trained_first_and_said_so(command, workplace):
    status, out, _ = command("translate", "i love you .", "--max-seconds", "0.001")
    assert status == 0
    assert out.startswith("There is no trained run yet: training one first, into runs/translate ")
    assert "training translate: steps 1 to" in out
    assert (workplace / "runs/translate/report.json").exists()


@pytest.mark.parametrize("sentences", [("",), ("?!", " "), ("i love you " * 30,), ()])
def test_nothing_is_trained_for_what_can_not_be_translated(refused, workplace, typed, sentences):
    typed("\n")
    assert re.search("empty sentence|no word in|too long|no sentence was given", refused("translate", *sentences))
    assert list(workplace.iterdir()) == []


def test_brief_output_is_translations_alone_even_if_one_has_to_be_trained_first(command, workplace, typed):
    typed("?!\ni love you .\nhe loves me .\n")
    status, out, err = command("translate", "--brief", "--max-seconds", "5", "--seed", "3", "--out", "new")
    assert (status, len(out.splitlines())) == (2, 2)
    assert "There is no trained run yet" in err
    assert "training translate: steps 1 to" in err
    assert "exact match" in err


def test_a_run_that_was_stopped_before_it_had_weights_to_use_is_named(command, translate_run):
    (translate_run / "best.safetensors").unlink()
    status, out, _ = command("translate", "i love you .", "--max-seconds", "0.001")
    assert status == 0
    assert "runs/translate was stopped before it could be used." in out
    assert "python -m demos train --resume runs/translate\n" in out


def test_out_trains_a_new_run_there_and_does_not_go_with_run(command, refused, translate_run, workplace):
    status, out, _ = command("translate", "i love you .", "--out", "new", "--max-seconds", "0.001", "--seed", "3")
    assert (status, (workplace / "new/report.json").exists()) == (0, True)
    assert "seed 3" in out
    assert "give one of them" in refused("translate", "hi", "--out", "other", "--run", translate_run)


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "    "), (1e-9, "▏   "), (0.5, "██  "), (0.53, "██▏ "), (1.0, "████")]
)
def test_bars_are_drawn_to_an_eighth_of_a_cell(share, drawn):
    assert bar(share, 4) == drawn


@pytest.mark.parametrize(
    ("share", "told"), [(0.0, " 0.0%"), (1e-6, "<0.1%"), (0.004, " 0.4%"), (0.9996, "99.9%"), (1.0, " 100%")]
)
def test_percentages_take_five_cells_and_never_say_certain_too_soon(share, told):
    assert percent(share) == told
    assert len(told) == 5


def test_output_is_utf8_where_the_locale_is_plain_ascii(start, translate_run):
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    process = start("translate", "--brief", environment=plain)
    out, err = process.communicate("i love 爱 .\n".encode(), timeout=60)
    assert process.returncode == 0
    assert out.decode("utf-8")
    assert "not in the vocabulary, read as <unk>: 爱" in err.decode("utf-8")


def test_a_reader_that_leaves_early_ends_it_quietly(start, translate_run):
    process = start("translate", "--brief")
    process.stdout.close()
    process.stdin.write(b"i love you .\n" * 3)
    process.stdin.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="a terminal as POSIX has it")
def test_on_a_real_terminal_there_is_a_prompt_and_colour(start, translate_run):
    import pty

    ours, theirs = pty.openpty()
    process = start("translate", stdin=theirs, stdout=theirs, stderr=theirs, environment={"TERM": "xterm-256color"})
    os.close(theirs)
    read_until(ours, b"> ")
    os.write(ours, b"i love you .\n")
    answer = read_until(ours, b"> ")
    os.write(ours, b"\x04")
    assert process.wait(timeout=60) == 0
    os.close(ours)
    assert b"\x1b[1m" in answer
    assert "likeliest" in answer.decode()


def read_until(terminal, end):
    """What is shown on the terminal, up to `end` as the last thing."""
    import select

    seen = b""
    while not seen.endswith(end):
        assert select.select([terminal], [], [], 60)[0], f"nothing more came after {seen!r}"
        seen += os.read(terminal, 4096)
    return seen
