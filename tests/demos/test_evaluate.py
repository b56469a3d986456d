"""`evaluate` as a user meets it."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.checkpoint import read_metadata


@pytest.fixture
def pairs_file(workplace):
    """Write a file of pairs and return its path."""

    def write(content):
        path = workplace / "pairs.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_run_is_scored_on_its_own_test_set_by_split(command, copy_run, monkeypatch):
    from transformer.tasks import TASKS

    whole = TASKS["copy"].test_set
    monkeypatch.setattr("demos.evaluate.unseen_pairs", lambda task, seed: whole(30, seed=seed))
    status, out, err = command("evaluate", copy_run)
    assert (status, err) == (0, "")
    assert re.search(r"lengths 4-16 +30 +\d+\.\d\d% +\d+\.\d\d%", out)
    assert re.search(r"lengths 1-3 +30 +\d+\.\d\d% +\d+\.\d\d%", out)
    assert "mistakes, the first 10:" in out
    assert command("evaluate", copy_run) == (0, out, "")
    assert command("evaluate", copy_run, "--seed", "2")[1] != out


def test_time_that_is_up_leaves_pairs_out_and_says_so(command, copy_run):
    status, out, _ = command("evaluate", copy_run, "--max-seconds", "0.001")
    assert status == 0
    assert "time is up: 1,744 of 2,000 pairs of lengths 4-16 were not scored" in out


def test_a_file_of_pairs_is_scored(command, copy_run, pairs_file):
    content = "\ufeffa b c\ta b c\r\n\r\nA B\ta b\tsomebody's\nq\u200br\tqr\n"
    status, out, err = command("evaluate", copy_run, "--file", pairs_file(content))
    assert (status, err) == (0, "")
    assert re.search(r"pairs\.tsv +3 ", out)


def test_chinese_pairs_in_any_composition_are_read(command, translate_run, pairs_file):
    status, out, err = command("evaluate", translate_run, "--file", pairs_file("i love you .\t我 爱 你 。\n"))
    assert (status, err) == (0, "")
    assert "我爱你。" in out


def test_words_outside_the_vocabulary_are_warned_of(command, translate_run, pairs_file):
    status, out, err = command("evaluate", translate_run, "--file", pairs_file("the elephant is big .\t大象很大。\n"))
    assert (status, err) == (0, "warning: not in the vocabulary, so never right: elephant, 象\n")
    assert "0.00%" in out
    assert "\n1 mistake:\n" in out


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a b\ta b\na b c\n", "line 2: no tab between source and target"),
        ("a b\ta b\n\n\t a\n", "line 3: the source is empty"),
        ("a b\t\n", "line 1: the target is empty"),
        (
            "a\ta\n" + "a" * 17 + "\ta\n",
            "line 2: the source has 17 tokens, and the longest this model has learnt is 16",
        ),
        ("a\t" + "a" * 17 + "\n", "line 1: the target has 17 tokens"),
        ("", "there is no line of source<TAB>target in it"),
        (b"a\ta\nb\t\xff\n", "line 2: not UTF-8 text"),
        ("a\ta\n".encode("utf-16-le"), "line 1: holds a NUL: is this UTF-16?"),
    ],
)
def test_a_bad_line_is_named_by_its_number(refused, copy_run, pairs_file, content, complaint):
    told = refused("evaluate", copy_run, "--file", pairs_file(content))
    assert complaint in told
    assert told.count("pairs.tsv") == 1


def test_a_file_that_is_not_there_is_named(refused, copy_run, workplace):
    assert refused("evaluate", copy_run, "--file", "none.tsv") == "none.tsv: No such file or directory"
    assert "Is a directory" in refused("evaluate", copy_run, "--file", workplace)


def test_out_gets_every_answer_and_overwrites_nothing(command, refused, copy_run, pairs_file, workplace):
    pairs = pairs_file("a b c\ta b c\nb\tb\n")
    status, _, _ = command("evaluate", copy_run, "--file", pairs, "--out", "answers.tsv")
    assert status == 0
    header, *lines = (workplace / "answers.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "source\twritten\tright"
    assert [line.split("\t")[::2] for line in lines] == [["a b c", "a b c"], ["b", "b"]]
    assert (
        refused("evaluate", copy_run, "--file", pairs, "--out", "answers.tsv")
        == "answers.tsv exists: pick another --out"
    )
    assert "pairs.tsv/answers" in refused("evaluate", copy_run, "--file", pairs, "--out", "pairs.tsv/answers")


def test_a_run_folder_that_is_missing_foreign_or_broken_is_one_line(refused, copy_run, workplace):
    assert refused("evaluate", "nowhere") == "nowhere: there is no such run"
    assert "not the folder of a run" in refused("evaluate", workplace)
    (workplace / "file").write_text("")
    assert "not a run folder, but a file" in refused("evaluate", "file")
    (copy_run / "target_vocabulary.json").write_text("[]")
    assert "target_vocabulary.json: not a vocabulary" in refused("evaluate", copy_run)
    (copy_run / "config.toml").write_bytes(b"\xff\xff")
    assert "config.toml: not a TOML file" in refused("evaluate", copy_run)


def test_a_pickle_in_the_place_of_weights_is_refused_and_not_run(refused, copy_run, workplace):
    import pickle

    class Hostile:
        def __reduce__(self):
            return (open, (str(workplace / "owned"), "w"))

    (copy_run / "best.safetensors").write_bytes(pickle.dumps(Hostile()))
    assert "best.safetensors: this is a pickle" in refused("evaluate", copy_run)
    assert not (workplace / "owned").exists()


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_a_search(command, copy_run, pairs_file, monkeypatch):
    from transformer import Transformer

    asked, generate = [], Transformer.generate
    monkeypatch.setattr(Transformer, "generate", lambda self, *args: asked.append(args[2]) or generate(self, *args))
    path = pairs_file("a b c\ta b c\nq r\tq r\n")
    plain = command("evaluate", copy_run, "--file", path)
    assert command("evaluate", copy_run, "--file", path, "--beam", "1") == plain
    status, out, err = command("evaluate", copy_run, "--file", path, "--beam", "3")
    assert (status, err) == (0, "")
    assert re.search(r"pairs\.tsv +2 ", out)
    assert asked == [1, 1, 1, 1, 3, 3]


def test_weights_that_overflow_are_one_line(refused, copy_run, pairs_file):
    best = copy_run / "best.safetensors"
    arrays, notes = mg.load(best), read_metadata(best)
    notes.pop("digest", None)
    mg.save(best, arrays | {name: np.full_like(arrays[name], 3e38) for name in ("output.weight", "output.bias")}, notes)
    assert re.search("overflow|invalid", refused("evaluate", copy_run, "--file", pairs_file("a b c\ta b c\n")))
