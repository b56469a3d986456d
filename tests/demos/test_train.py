"""`train` as a user meets it."""

import json
import os
import re
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from transformer.tasks import TASKS
from transformer.training import gradients
from transformer.training.config import load_config
from transformer.training.metrics import read_metrics


def test_a_training_shows_its_progress_its_result_samples_and_what_is_next(command, workplace):
    status, out, err = command("train", "copy", "--steps", "3", "--seed", "5")
    assert (status, err) == (0, "")
    assert "training copy: steps 1 to 3" in out
    assert re.search(r"step 3 of 3 +loss \d\.\d{4} +exact match +\d+\.\d% +[\d.]+ steps/s +0:00 left", out)
    assert re.search(
        r"exact match \d+\.\d\d% of 8 unseen \(lengths 4-16\); goal 99\.9% missed; \d+\.\d CPU s of 60", out
    )
    assert "unseen (lengths 1-3)" in out
    assert "a b c d e f  ->  " in out
    assert "b g d j p e b i d b l f n d s" in out
    assert "saved in runs/copy" in out
    assert "python -m demos evaluate runs/copy" in out
    assert 'python -m demos translate "a b c d e f" --run runs/copy' in out
    assert "python -m demos train reverse" in out
    report = json.loads((workplace / "runs/copy/report.json").read_text())
    assert (report["task"], report["seed"], report["steps"]) == ("copy", 5, 3)


def test_an_earlier_run_is_kept_and_the_next_one_says_where_it_goes(command, copy_run):
    before = sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir())
    status, out, _ = command("train", "copy", "--steps", "1")
    assert status == 0
    assert "runs/copy exists and is kept: this run goes to runs/copy-2." in out
    assert "saved in runs/copy-2" in out
    assert sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir()) == before


def test_out_names_the_folder_and_never_overwrites(command, refused, workplace):
    assert command("train", "copy", "--steps", "1", "--out", "mine")[0] == 0
    assert (workplace / "mine" / "report.json").exists()
    assert refused("train", "copy", "--out", "mine") == "mine exists: pick another --out, or go on with --resume mine"


@pytest.mark.parametrize("out", ["file/run", "file", "x" * 300, "/proc/run"])
def test_an_out_that_cannot_be_written_is_one_line(refused, workplace, out):
    (workplace / "file").write_text("mine")
    assert refused("train", "copy", "--out", out).startswith(out)
    assert (workplace / "file").read_text() == "mine"


def test_no_task_and_an_unknown_task_name_the_tasks(refused):
    assert refused("train").startswith("which task? copy, reverse, translate")
    told = refused("train", "cpoy")
    assert told.startswith("there is no task 'cpoy', only copy, reverse, translate")
    assert told.endswith("; did you mean 'copy'?")


def test_a_task_is_one_entry_for_every_command(command, workplace, monkeypatch):
    monkeypatch.setitem(TASKS, "murmur", replace(TASKS["copy"], name="murmur", goal=0.5, budget=7))
    assert "murmur" in command("train", "--help")[1]
    status, out, err = command("train", "murmur", "--steps", "1")
    assert (status, err) == (0, "")
    assert "goal 50.0% missed" in out
    assert "CPU s of 7" in out
    assert command("translate", "--run", "runs/murmur", "a b c")[0] == 0
    assert command("evaluate", "runs/murmur", "--max-seconds", "0.001")[0] == 0


def test_a_loss_that_is_not_finite_is_a_failed_training(refused, workplace):
    told = refused("train", "copy", "--peak-rate", "1e30", "--warmup", "1", status=1)
    assert re.search(r"at step \d: training can't go on .* Try a smaller --peak-rate or a longer --warmup", told)


def test_a_disk_that_fills_is_a_failed_training_that_names_the_file(refused, workplace, monkeypatch):
    def full(path, *_):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("transformer.training.run.save_state", full)
    told = refused("train", "copy", "--steps", "1", status=1)
    assert told == "runs/copy/last.safetensors: No space left on device"


@pytest.mark.parametrize("failure", [28, 30])
def test_a_disk_that_fills_or_is_read_only_in_a_later_session_tells_how_to_go_on(
    command, refused, copy_run, monkeypatch, failure
):
    before = (copy_run / "last.safetensors").read_bytes()

    def fail(_):
        raise OSError(failure, os.strerror(failure))

    with monkeypatch.context() as patched:
        patched.setattr("minigrad.atomic.os.fsync", fail)
        told = refused("train", "--resume", copy_run, "--steps", "31", status=1)
    assert told == (
        f"{copy_run}/config.toml: {os.strerror(failure)}. What was saved before is kept. "
        f"When there is room and leave to write, go on: python -m demos train --resume {copy_run}"
    )
    assert (copy_run / "last.safetensors").read_bytes() == before
    assert not list(copy_run.glob(".*"))
    assert command("train", "--resume", copy_run, "--steps", "31")[0] == 0


def test_workers_share_the_batches_and_the_run_keeps_how_many(command, workplace):
    status, out, err = command("train", "copy", "--steps", "2", "--workers", "2")
    assert (status, err) == (0, "")
    assert "saved in runs/copy" in out
    assert load_config(workplace / "runs/copy/config.toml").training.workers == 2
    assert command("train", "--resume", "runs/copy", "--steps", "3")[0] == 0
    assert load_config(workplace / "runs/copy/config.toml").training.workers == 2


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_a_number_of_workers_that_is_none_is_refused(refused, workplace, number):
    assert "--workers" in refused("train", "copy", "--workers", number)


def test_a_worker_without_memory_is_a_failed_training(refused, workplace, monkeypatch):
    def full(*arguments):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("Unable to allocate 9 TiB")
        return honest(*arguments)

    honest = gradients.part_of_gradients
    monkeypatch.setattr(gradients, "part_of_gradients", full)
    assert "Unable to allocate 9 TiB" in refused("train", "copy", "--steps", "1", "--workers", "2", status=1)
    assert not (workplace / "runs/copy").exists()


def test_memory_is_kept_or_not_and_anything_else_is_one_line(command, refused, workplace, monkeypatch):
    monkeypatch.setenv("MINIGRAD_KEEP_MEMORY", "maybe")
    assert refused("train", "copy", "--steps", "1") == "MINIGRAD_KEEP_MEMORY is 0 or 1, not 'maybe'"
    monkeypatch.setenv("MINIGRAD_KEEP_MEMORY", "0")
    assert command("train", "copy", "--steps", "1")[0] == 0


def test_time_that_is_up_stops_in_good_order_and_is_said(command, workplace):
    status, out, _ = command("train", "copy", "--max-seconds", "0.001")
    assert status == 0
    assert "Time is up: stopped early, after step 1 of " in out
    assert "To go on: python -m demos train --resume runs/copy" in out
    report = json.loads((workplace / "runs/copy/report.json").read_text())
    assert (report["steps"], report["stopped_early"]) == (1, True)


def test_resume_goes_on_and_may_add_steps(command, copy_run):
    status, out, _ = command("train", "--resume", copy_run, "--steps", "32")
    assert status == 0
    assert "training copy: steps 31 to 32" in out
    assert load_config(copy_run / "config.toml").training.steps == 32
    assert [row.step for row in read_metrics(copy_run / "metrics.csv")] == list(range(1, 33))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["reverse"], "is a run of copy, not of reverse"),
        (["--seed", "3"], "was started with --seed 0"),
        (["--out", "new"], "--out can't change a run that is resumed"),
        (["--peak-rate", "2"], "--peak-rate can't change"),
        (["--warmup", "2"], "--warmup can't change"),
        (["--schedule", "paper"], "--schedule can't change"),
        (["--workers", "2"], "--workers can't change"),
        (["--steps", "29"], "has made 30 steps already: --steps can't be fewer"),
    ],
)
def test_resume_refuses_what_would_make_it_another_run(refused, copy_run, arguments, complaint):
    before = sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir())
    assert complaint in refused("train", "--resume", copy_run, *arguments)
    assert sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir()) == before


def test_the_schedule_can_be_the_papers(command, refused, workplace):
    assert command("train", "copy", "--steps", "2", "--schedule", "paper")[0] == 0
    assert load_config(workplace / "runs/copy/config.toml").training.schedule == "paper"
    assert "--schedule: invalid choice: 'cosine'" in refused("train", "copy", "--schedule", "cosine")


def test_resume_with_a_broken_state_leaves_the_configuration_as_it_was(refused, copy_run):
    before = (copy_run / "config.toml").read_bytes()
    (copy_run / "last.safetensors").write_bytes(b"torn")
    assert "last.safetensors: cut short" in refused("train", "--resume", copy_run, "--steps", "50")
    assert (copy_run / "config.toml").read_bytes() == before


def test_resume_with_damaged_metrics_goes_on(command, copy_run):
    (copy_run / "metrics.csv").write_bytes(bytes(range(256)) * 40)
    status, _, err = command("train", "--resume", copy_run, "--steps", "31")
    assert (status, err) == (0, "")
    assert [row.step for row in read_metrics(copy_run / "metrics.csv")] == [31]


def test_resume_of_no_run_and_of_a_broken_one(refused, copy_run, workplace):
    assert refused("train", "--resume", "nowhere") == "nowhere: there is no such run"
    last = copy_run / "last.safetensors"
    whole = last.read_bytes()
    last.write_bytes(whole[:-100])
    assert "last.safetensors: cut short" in refused("train", "--resume", copy_run)
    last.write_bytes(b"PK\x03\x04" + b"x" * 100)
    assert "last.safetensors: this is a zip archive" in refused("train", "--resume", copy_run)
    mg.save(last, {"weight": np.ones(3)})
    assert "last.safetensors: holds no training state" in refused("train", "--resume", copy_run)
    (copy_run / "config.toml").write_text("steps = 3")
    assert "config.toml: unknown key steps" in refused("train", "--resume", copy_run)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_saves_says_how_to_go_on_and_exits_130(start, command, workplace):
    process = start("train", "copy", "--steps", "5000", "--out", "mine")
    deadline = time.monotonic() + 60
    while not (workplace / "mine/metrics.csv").exists() or len(read_metrics(workplace / "mine/metrics.csv")) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    step = len(read_metrics(workplace / "mine/metrics.csv"))
    assert f"interrupted after step {step}; saved. To go on: python -m demos train --resume mine" in out.decode()
    assert (workplace / "mine/curve.svg").exists()
    status, out, _ = command("train", "--resume", "mine", "--steps", step + 1)
    assert status == 0
    assert f"training copy: steps {step + 1} to {step + 1}" in out


def test_ctrl_c_while_judging_says_how_to_go_on(command, workplace, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("transformer.training.report.judge", interrupted)
    status, out, _ = command("train", "copy", "--steps", "1")
    assert status == 130
    assert out.endswith("interrupted; the run is saved. To go on: python -m demos train --resume runs/copy\n")


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_training_that_never_made_a_step_leaves_no_folder(command, workplace, monkeypatch, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr("transformer.training.loop.validation_pairs", fail)
    status, _, err = command("train", "copy")
    assert (status, err.count("\n")) == (130 if isinstance(failure, KeyboardInterrupt) else 1, 1)
    assert list((workplace / "runs").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_a_reader_that_leaves_costs_nothing_of_the_training(start, workplace):
    process = start("train", "copy", "--steps", "3")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()
    assert json.loads((workplace / "runs/copy/report.json").read_text())["steps"] == 3


def test_a_configuration_no_machine_can_hold_is_one_line(refused, copy_run):
    for file in copy_run.glob("*.safetensors"):
        file.unlink()
    config = copy_run / "config.toml"
    config.write_text(config.read_text().replace("max_length = 26", "max_length = 1000000000000000"))
    assert "llocate" in refused("train", "--resume", copy_run, status=1)
