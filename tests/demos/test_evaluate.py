"""`evaluate` as a user meets it."""

import re
import sys

import numpy as np
import pytest

import minigrad as mg
from demos.evaluating.telling import columns, tell_lengths
from minigrad.checkpoint import read_metadata
from transformer.evaluation import Answer, Score, load_sacrebleu
from transformer.tasks import get_task


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
    assert "time is up: 1,744 of 2,000 sources of lengths 4-16 were not scored" in out


def test_a_file_of_pairs_is_scored(command, copy_run, pairs_file):
    content = "\ufeffa b c\ta b c\r\n\r\nA B\ta b\tsomebody's\nq\u200br\tqr\n"
    status, out, err = command("evaluate", copy_run, "--file", pairs_file(content))
    assert (status, err) == (0, "")
    assert re.search(r"pairs\.tsv +3 ", out)


def test_chinese_pairs_in_any_composition_are_read(command, translate_run, pairs_file):
    status, out, err = command("evaluate", translate_run, "--file", pairs_file("i love you .\t我 爱 你 。\n"))
    assert (status, err) == (0, "")
    assert "我爱你。" in out


@pytest.fixture
def writes(monkeypatch):
    """Let the model write this, by source, whatever it has learnt."""

    def write(written):
        def told(model, asked, *rest, **options):
            return Score(
                tuple(
                    Answer(one.source, one.targets[0], tuple(written[one.source[0]]), one.targets[1:]) for one in asked
                )
            )

        monkeypatch.setattr("transformer.evaluation.ask", told)

    return write


SEVERAL = "i love you .\t我爱你。\nyou are big .\t你很大。\nI love you .\t你很大。\ni love you .\t我爱你。\n"


def test_all_targets_of_a_source_are_right(command, translate_run, pairs_file, writes):
    writes({"i": "你很大。", "you": "你很大。"})
    status, out, err = command("evaluate", translate_run, "--file", pairs_file(SEVERAL))
    assert (status, err) == (0, "")
    assert re.search(
        r"pairs\.tsv +2 +100.00% +100.00%\n1 source has several right targets: any of them is right\n$", out
    )


def test_a_mistake_is_shown_with_all_that_would_be_right(command, translate_run, pairs_file, writes, workplace):
    writes({"i": "我不", "you": "你很大。"})
    _, out, _ = command("evaluate", translate_run, "--file", pairs_file(SEVERAL), "--out", "answers.tsv")
    assert re.search(r"\n1 mistake:\n.*\ni love you \. +我不 +我爱你。 / 你很大。\n", out)
    assert (workplace / "answers.tsv").read_text(encoding="utf-8").splitlines()[1:] == [
        "i love you .\t我不\t我爱你。\t你很大。",
        "you are big .\t你很大。\t你很大。",
    ]


def test_bleu_and_chrf_are_printed_with_their_signatures(command, translate_run, pairs_file, writes):
    writes({"i": "你爱你。", "you": "你很大。"})
    path = pairs_file(SEVERAL)
    assert "BLEU" not in command("evaluate", translate_run, "--file", path)[1]
    _, out, _ = command("evaluate", translate_run, "--file", path, "--bleu")
    written, right = ["你爱你。", "你很大。"], [["我爱你。", "你很大。"], ["你很大。", None]]
    metrics = load_sacrebleu()
    bleu, chrf = metrics.BLEU(tokenize="zh"), metrics.CHRF()
    values = bleu.corpus_score(written, right).score, chrf.corpus_score(written, right).score
    assert 0 < min(values) < max(values) < 100
    assert re.search(r"BLEU +chrF2\n.*pairs\.tsv .* {:.1f} +{:.1f}\n".format(*values), out)
    assert f"\nBLEU|{bleu.get_signature()}\nchrF2|{chrf.get_signature()}\n" in out
    assert "|tok:zh|" in out
    assert "nrefs:var" in out


def test_letters_are_scored_as_words_and_short_ones_not_by_bleu(command, copy_run, pairs_file, writes):
    writes({"a": "abcd", "q": "qr"})
    _, out, _ = command(
        "evaluate", copy_run, "--file", pairs_file("a b c d\ta b c d\nq r\tq r\n"), "--bleu", "--by-length"
    )
    assert "|tok:13a|" in out
    assert out.count("BLEU|") == 1  # as a whole, not for each length
    assert re.search(r"pairs\.tsv +2 +1 +100.00% +100.00% +- +100.0\n +4 +1 +100.00% +100.00% +100.0 +100.0\n", out)


def test_scores_by_length_add_up_to_each_split(command, copy_run, monkeypatch):
    whole = get_task("copy").test_set
    monkeypatch.setattr("demos.evaluate.unseen_pairs", lambda task, seed: whole(60, seed=seed))
    _, out, _ = command("evaluate", copy_run, "--by-length")
    table = out[out.index("by length of source") :].split("\n\n")[0].splitlines()[1:]
    rows = [re.match(r"(lengths [-\d]+)? +(\d+) +(\d+) +\S+% +\S+%", row).groups() for row in table]
    second = next(place for place, row in enumerate(rows) if row[0] == "lengths 1-3")
    assert rows[0][0] == "lengths 4-16"
    for part, lengths in ((rows[:second], range(4, 17)), (rows[second:], range(1, 4))):
        assert sum(int(row[2]) for row in part) == 60
        assert [int(row[1]) for row in part] == sorted({int(row[1]) for row in part} & set(lengths))


@pytest.mark.parametrize(
    ("longest", "first", "last"),
    [(20, "1", "20"), (21, "1-2", "21-22"), (80, "1-5", "76-80"), (30000, "1-1000", "29001-30000")],
)
def test_many_lengths_share_rows(capsys, longest, first, last):
    scores = {"one": Score(tuple(Answer(("x",) * size, ("a",), ("a",)) for size in {1, longest // 2, longest}))}
    tell_lengths(scores, columns(get_task("copy"), scores, text=False))
    rows = capsys.readouterr().out.splitlines()
    assert re.match(rf"one +{first} +1 ", rows[2])
    assert re.match(rf" +{last} +1 ", rows[-1])


def test_bleu_without_sacrebleu_is_refused_before_anything_is_written(
    refused, command, copy_run, pairs_file, monkeypatch
):
    for module in ("sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, module, None)
    path = pairs_file("a b c\ta b c\n")
    assert command("evaluate", copy_run, "--file", path, "--by-length")[0] == 0
    monkeypatch.setattr("demos.evaluate.score_in_time", lambda *_: pytest.fail("the model was asked"))
    told = refused("evaluate", copy_run, "--file", path, "--bleu")
    assert told.startswith("BLEU and chrF need sacreBLEU (")
    assert told.endswith("): pip install '.[data]'")


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
