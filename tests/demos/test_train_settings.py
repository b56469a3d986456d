"""`train --set` and `train --config`: any setting of config.toml, by its name."""

import numpy as np
import pytest

import minigrad as mg
from transformer.training.config import load_config


def test_any_setting_can_be_set_and_the_run_keeps_it(command, workplace):
    said = ["model.positions=rotary", "model.layers=2", "training.accumulate=3", "training.peak_rate=1e-4"]
    status, _, err = command("train", "copy", "--steps", "2", *[word for each in said for word in ("--set", each)])
    assert (status, err) == (0, "")
    config = load_config(workplace / "runs/copy/config.toml")
    assert (config.model.positions, config.model.layers) == ("rotary", 2)
    assert (config.training.accumulate, config.training.peak_rate, config.training.steps) == (3, 1e-4, 2)
    assert command("train", "--resume", "runs/copy", "--steps", "3")[0] == 0
    assert load_config(workplace / "runs/copy/config.toml").training.accumulate == 3


def test_checkpoints_are_averaged_as_in_the_paper_and_the_run_is_used_as_any_other(command, workplace):
    said = ["training.checkpoints=3", "training.evaluate_every=1", "training.validation_size=2"]
    status, _, err = command("train", "copy", "--steps", "2", *[word for each in said for word in ("--set", each)])
    assert (status, err) == (0, "")
    assert command("train", "--resume", "runs/copy", "--steps", "5")[0] == 0
    kept = {name.split(".")[1] for name in mg.load(workplace / "runs/copy/last.safetensors") if "average." in name}
    assert kept == {"0", "1", "2"}
    assert command("translate", "--run", "runs/copy", "a b c")[0] == 0


def test_a_file_is_where_a_run_starts_from_and_set_goes_over_it(command, workplace):
    (workplace / "mine.toml").write_text(
        'task = "copy"\n[model]\nlayers = 2\nheads = 2\n[training]\nsteps = 3\nwarmup = 3\n'
    )
    assert command("train", "--config", "mine.toml", "--set", "model.heads=8", "--seed", "4")[0] == 0
    config = load_config(workplace / "runs/copy/config.toml")
    assert (config.task, config.model.layers, config.model.heads, config.model.d_model) == ("copy", 2, 8, 64)
    assert (config.training.steps, config.training.warmup, config.training.seed) == (3, 3, 4)


def test_the_config_of_a_run_makes_the_same_run_again(command, copy_run, workplace):
    assert command("train", "--config", copy_run / "config.toml", "--out", "again")[0] == 0
    assert load_config(workplace / "again/config.toml") == load_config(copy_run / "config.toml")
    for file in ("best.safetensors", "last.safetensors"):
        np.testing.assert_equal(mg.load(workplace / "again" / file), mg.load(copy_run / file))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "model.layer=3"], "--set: unknown key model.layer (did you mean model.layers?)"),
        (["--set", "model.layers=two"], "--set: model.layers must be a whole number, got 'two'"),
        (["--set", "model.heads=3"], "model.d_model=64 must be a multiple of heads=3"),
        (["--set", "training.steps=0"], "training.steps must be at least 1, got 0"),
        (["--set", "model.d_ff=4611686018427387904"], "model.d_ff must be at most 1000000000, got 4611686018427387904"),
        (["--set", "training.steps=3", "--steps", "3"], "--steps and --set training.steps are the same setting: "
         "leave one out"),
        (["--set", "training.peak_rate=3", "--peak-rate", "3"], "--peak-rate and --set training.peak_rate are the same "
         "setting: leave one out"),
        (["--config", "missing.toml"], "missing.toml: No such file or directory"),
        (["--config", "reverse.toml"], "reverse.toml is of the task reverse, not copy"),
        (["--config", "typo.toml"], "typo.toml: unknown key training.step (did you mean training.steps?)"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_one_line_and_no_folder(refused, workplace, arguments, complaint):
    (workplace / "reverse.toml").write_text('task = "reverse"\n')
    (workplace / "typo.toml").write_text("[training]\nstep = 3\n")
    assert refused("train", "copy", *arguments) == complaint
    assert not (workplace / "runs").exists()


def test_a_file_without_a_task_asks_for_one(refused, workplace):
    (workplace / "mine.toml").write_text("[training]\nsteps = 3\n")
    assert refused("train", "--config", "mine.toml").startswith("which task? copy, ")


@pytest.mark.parametrize("option", [("--set", "model.layers=1"), ("--config", "config.toml")])
def test_a_run_that_is_resumed_keeps_its_settings(refused, copy_run, option):
    before = sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir())
    told = refused("train", "--resume", copy_run, *option)
    assert told == f"{option[0]} can't change a run that is resumed: leave it out, or start a new run"
    assert sorted((entry.name, entry.read_bytes()) for entry in copy_run.iterdir()) == before
