"""The end of a run: the report is whole, written last, and says what the files say."""

import json
import platform

import numpy as np
import pytest

import minigrad as mg
from transformer.training import report as report_module
from transformer.training.loop import train
from transformer.training.progress import Silent
from transformer.training.report import judge, write_curve
from transformer.training.run import read_report

FILES = {
    "config.toml", "source_vocabulary.json", "target_vocabulary.json", "metrics.csv", "last.safetensors",
    "best.safetensors", "samples.txt", "curve.svg", "report.json",
}  # fmt: skip


@pytest.fixture
def judged(make_run, small_test_set):
    run = make_run()
    return run, judge(run, train(run, Silent()))


def test_the_folder_holds_everything_and_nothing_else(judged):
    run, _ = judged
    assert {entry.name for entry in run.path.iterdir()} == FILES


def test_the_report_says_it_all(judged):
    run, judgement = judged
    report = json.loads(run.report_file.read_text())
    assert report == judgement.report
    assert (report["task"], report["seed"], report["steps"], report["test_size"]) == ("copy", 0, 12, 6)
    assert report["parameters"] == sum(array.size for array in mg.load(run.best_file).values())
    assert report["versions"] == {
        "python": platform.python_version(), "numpy": np.__version__, "minigrad": mg.__version__,
    }  # fmt: skip
    assert list(report["splits"]) == ["lengths 4-16", "lengths 1-3"]
    assert report["splits"]["lengths 4-16"]["exact_match"] == report["exact_match"]
    assert 0 <= report["exact_match"] <= report["token_accuracy"] <= 1
    assert report["cpu_seconds"] > 0
    assert report["wall_seconds"] > 0
    assert report["stopped_early"] is False
    assert report["evaluation_cpu_seconds"] > run.load_last().state.evaluation_cpu_seconds > 0
    assert read_report(run.path) == report


def test_the_example_is_answered_as_generate_writes_it(judged):
    run, judgement = judged
    ids = run.load_model().generate([run.source_vocabulary.encode("abcdef")], max_length=17)[0]
    assert judgement.example == tuple(run.target_vocabulary.decode(ids))


@pytest.mark.parametrize("write", ["save_last", "save_best"])
def test_a_result_does_not_outlive_the_weights_it_is_of(judged, write, monkeypatch):
    run, _ = judged
    monkeypatch.setattr("transformer.training.run.save_state", lambda *_: None)
    arguments = [None] * 4 if write == "save_last" else [run.load_model()]
    getattr(run, write)(*arguments)
    assert {entry.name for entry in run.path.iterdir()} == FILES - {"report.json", "samples.txt"}
    assert read_report(run.path) is None


def test_a_result_stays_where_no_step_is_made(judged):
    run, _ = judged
    train(run, Silent())
    assert read_report(run.path) is not None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"stopped_early": 0, "exact_match": 1.0}', b"\xff"])
def test_a_broken_report_is_none(tmp_path, content):
    (tmp_path / "report.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_report(tmp_path) is None


def test_samples_show_what_was_written_and_what_is_right(judged):
    run, judgement = judged
    text = run.samples_file.read_text(encoding="utf-8")
    wrong = judgement.scores["lengths 4-16"].mistakes[0]
    assert " ".join(wrong.source) in text
    assert f"wrong, should be: {' '.join(wrong.expected)}" in text
    assert "copy, lengths 1-3" in text


def test_the_report_is_written_last(make_run, small_test_set, monkeypatch):
    run = make_run()
    outcome = train(run, Silent())

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(report_module, "draw_curve", fail)
    with pytest.raises(OSError, match="full"):
        judge(run, outcome)
    assert not run.report_file.exists()


def test_no_curve_without_a_step(make_run):
    run = make_run()
    write_curve(run)
    assert not run.curve_file.exists()
