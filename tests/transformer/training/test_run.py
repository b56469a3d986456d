"""Run folders: made once, opened with suspicion, found again."""

import json
import os

import numpy as np
import pytest

import minigrad as mg
from minigrad.checkpoint import read_metadata
from minigrad.errors import CheckpointError
from transformer.tasks import get_task
from transformer.training.errors import RunError
from transformer.training.loop import train
from transformer.training.metrics import MetricsTable
from transformer.training.progress import Silent
from transformer.training.run import create_run, free_path, newest_run, open_run
from transformer.training.state import TrainingState

COPY = get_task("copy")


def test_a_run_comes_back(make_run):
    run = make_run()
    assert open_run(run.path) == run


def test_nothing_is_overwritten(tmp_path, make_run, tiny_config):
    run = make_run()
    with pytest.raises(RunError, match=r"run exists: pick another --out, or go on with --resume .*run$"):
        create_run(run.path, tiny_config, COPY)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError, match=r"file exists: pick another --out$"):
        create_run(tmp_path / "file", tiny_config, COPY)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"full exists: pick another --out$"):
        create_run(tmp_path / "full", tiny_config, COPY)
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "thesis.txt").read_text() == "mine"


def test_an_empty_folder_may_be_used_and_parents_are_made(tmp_path, tiny_config):
    (tmp_path / "empty").mkdir()
    create_run(tmp_path / "empty", tiny_config, COPY)
    create_run(tmp_path / "a" / "b", tiny_config, COPY)


@pytest.mark.parametrize("name", ["file/run", "nul\0byte", "x" * 300])
def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path, tiny_config, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="can't be written") as caught:
        create_run(tmp_path / name, tiny_config, COPY)
    assert "\n" not in str(caught.value)


def test_the_next_free_name(tmp_path):
    assert free_path("copy", tmp_path) == tmp_path / "copy"
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy-2").write_text("")
    assert free_path("copy", tmp_path) == tmp_path / "copy-3"
    assert free_path("copy", tmp_path / "runs") == tmp_path / "runs" / "copy"


def test_the_newest_trained_run_of_a_task_is_found(tmp_path):
    assert newest_run("copy", tmp_path / "none") is None
    for age, name in enumerate(["copy-2", "copy", "copy-10", "copyright", "copy-3"]):
        (tmp_path / name).mkdir()
        if name != "copy-3":  # never trained
            (tmp_path / name / "best.safetensors").write_text("")
            os.utime(tmp_path / name / "best.safetensors", (0, 1000 - age))
    assert newest_run("copy", tmp_path) == tmp_path / "copy-2"
    os.utime(tmp_path / "copy-10" / "best.safetensors", (0, 2000))
    assert newest_run("copy", tmp_path) == tmp_path / "copy-10"


def test_the_best_weights_are_the_model(make_run):
    run = make_run()
    train(run, Silent())
    weights = mg.load(run.best_file)
    for name, array in run.load_model().state_dict().items():
        np.testing.assert_array_equal(array, weights[name])


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="there is no such run"):
        open_run(tmp_path / "missing")
    with pytest.raises(RunError, match=r"config\.toml is missing"):
        open_run(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="not a run folder, but a file"):
        open_run(tmp_path / "file")


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("source_vocabulary.json", None, "source_vocabulary.json"),
        ("source_vocabulary.json", "{", r"source_vocabulary\.json: not a vocabulary"),
        ("target_vocabulary.json", json.dumps({"a": 1}), r"target_vocabulary\.json: not a vocabulary"),
        ("config.toml", "", "the key model is missing"),
        ("config.toml", 'task = "cpoy"', "is missing"),
    ],
)
def test_broken_files_are_named(make_run, file, content, complaint):
    run = make_run()
    (run.path / file).unlink()
    if content is not None:
        (run.path / file).write_text(content)
    with pytest.raises(RunError, match=complaint):
        open_run(run.path)


def test_an_unknown_task_and_a_vocabulary_of_another_size_are_named(make_run):
    run = make_run()
    text = run.config_file.read_text()
    run.config_file.write_text(text.replace('"copy"', '"cpoy"'))
    with pytest.raises(RunError, match="no task 'cpoy'"):
        open_run(run.path)
    run.config_file.write_text(text.replace("source_vocab = 24", "source_vocab = 25"))
    with pytest.raises(RunError, match=r"the source vocabulary has 24 tokens, config\.toml says 25"):
        open_run(run.path)


def test_missing_torn_and_foreign_weights_are_named(make_run):
    run = make_run()
    with pytest.raises(RunError, match="has no trained weights yet"):
        run.load_model()
    mg.save(run.best_file, {"a": np.ones(3)})
    with pytest.raises(RunError, match=r"best\.safetensors: holds no trained weights"):
        run.load_model()
    run.best_file.write_bytes(b"torn")
    with pytest.raises(CheckpointError, match=r"best\.safetensors: cut short"):
        run.load_model()


def test_a_state_and_weights_are_not_taken_for_one_another(make_run):
    run = make_run()
    train(run, Silent())
    best, last = run.best_file.read_bytes(), run.last_file.read_bytes()
    run.best_file.write_bytes(last)
    with pytest.raises(RunError, match="holds no trained weights"):
        run.load_model()
    run.last_file.write_bytes(best)
    with pytest.raises(RunError, match="holds no training state"):
        train(run, Silent())


def test_a_state_with_a_broken_record_or_a_missing_array_is_named(make_run):
    run = make_run()
    train(run, Silent())
    arrays, notes = mg.load(run.last_file), undigested(run.last_file)
    for record in ('{"step": "x"}', "[]", "{}", '{"step": 0}', '{"step": 3, "stop": 4}', "{"):
        mg.save(run.last_file, arrays, notes | {"state": record})
        with pytest.raises(RunError, match="the record of where training stood is broken"):
            run.load_last()
    for record in ("{", "[]", '{"depth": 3}'):
        mg.save(run.last_file, arrays, notes | {"model": record})
        with pytest.raises(RunError, match="the record of the model it is of is broken"):
            run.load_last()
    for part in ("model.output.bias", "average.output.bias", "optimizer.sum"):
        mg.save(run.last_file, {name: array for name, array in arrays.items() if name != part}, notes)
        with pytest.raises(RunError, match=r"last\.safetensors: the (state does|weights do) not fit"):
            train(run, Silent())


def test_a_state_of_an_older_release_lacks_what_came_later(make_run):
    run = make_run()
    train(run, Silent())
    arrays, notes = mg.load(run.last_file), undigested(run.last_file)
    mg.save(run.last_file, arrays, notes | {"state": '{"step": 12}', "model": json.dumps(older(notes["model"]))})
    assert run.load_last().state == TrainingState(step=12)


def undigested(file):
    """The notes of a file as an older release wrote them, without a digest."""
    return {name: note for name, note in read_metadata(file).items() if name != "digest"}


def older(model):
    return {key: value for key, value in json.loads(model).items() if key != "positions"}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("heads = 2", "heads = 4", "is of a model with heads = 2, config.toml says 4"),
        ('norm = "post"', 'norm = "pre"', "is of a model with norm = post, config.toml says pre"),
        ('task = "copy"', 'task = "reverse"', "is of the task copy, config.toml says reverse"),
        ("d_model = 8", "d_model = 6400000000", "is of a model with d_model = 8, config.toml says 6400000000"),
        ("max_length = 17", "max_length = 1000000000000", "is of a model with max_length = 17"),
    ],
)
def test_weights_of_another_model_or_task_are_refused_whatever_their_shapes_before_it_is_built(
    make_run, old, new, complaint
):
    run = make_run()
    train(run, Silent())
    text = run.config_file.read_text()
    assert old in text
    run.config_file.write_text(text.replace(old, new))
    edited = open_run(run.path)
    with pytest.raises(RunError, match=r"best\.safetensors: " + complaint):
        edited.load_model()
    with pytest.raises(RunError, match=r"last\.safetensors: " + complaint):
        train(edited, Silent())


def test_a_link_out_of_the_folder_is_refused_and_its_target_left_alone(tmp_path, make_run):
    run, other = make_run(), tmp_path / "other"
    other.write_text("something else")
    run.best_file.symlink_to(other)
    with pytest.raises(RunError, match=r"best.safetensors is a link to .*other, outside of the run's folder"):
        open_run(run.path)
    assert other.read_text() == "something else"
    run.best_file.unlink()
    run.best_file.symlink_to("config.toml")  # within the folder it is the owner's business
    open_run(run.path)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(make_run, bad):
    run = make_run()
    train(run, Silent())
    for file, name in ((run.best_file, "output.bias"), (run.last_file, "optimizer.sum_of_squares")):
        arrays = mg.load(file)
        arrays[name][3] = bad
        mg.save(file, arrays, undigested(file))
    with pytest.raises(RunError, match=r"best\.safetensors: a number in output\.bias is infinite or nan"):
        run.load_model()
    with pytest.raises(RunError, match=r"last\.safetensors: a number in optimizer\.sum_of_squares is infinite or nan"):
        run.load_last()


def test_a_run_of_other_words_is_refused(make_run):
    run = make_run()
    file = run.path / "source_vocabulary.json"
    file.write_text(file.read_text().replace('"t"', '"?"'))
    with pytest.raises(RunError, match="made for other words than the task copy has now"):
        open_run(run.path)


def test_a_folder_without_a_step_is_discarded_and_one_with_a_step_or_a_guest_is_not(make_run):
    unused = make_run("unused")
    MetricsTable(unused.metrics_file)
    unused.discard_if_unused()
    assert not unused.path.exists()
    guest = make_run("guest")
    (guest.path / "thesis.txt").write_text("mine")
    guest.discard_if_unused()
    assert [entry.name for entry in guest.path.iterdir()] == ["thesis.txt"]
    used = make_run("used")
    train(used, Silent(), max_seconds=1e-6)
    used.discard_if_unused()
    assert open_run(used.path) == used


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_that_can_not_be_made_whole_is_not_left_behind(tmp_path, tiny_config, monkeypatch, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr("transformer.training.run.save_config", fail)
    with pytest.raises((RunError, KeyboardInterrupt)):
        create_run(tmp_path / "run", tiny_config, COPY)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_came_to_its_end_is_preferred_to_a_newer_one_that_did_not(tmp_path):
    for age, name in enumerate(["copy-4", "copy-3", "copy-2", "copy"]):
        (tmp_path / name).mkdir()
        (tmp_path / name / "best.safetensors").write_text("")
        os.utime(tmp_path / name / "best.safetensors", (0, 1000 - age))
    assert newest_run("copy", tmp_path) == tmp_path / "copy-4"
    for name, early in (("copy-3", True), ("copy-2", False), ("copy", False)):
        (tmp_path / name / "report.json").write_text(json.dumps({"exact_match": 1.0, "stopped_early": early}))
    assert newest_run("copy", tmp_path) == tmp_path / "copy-2"
