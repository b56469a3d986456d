"""config.toml: what is written is what is read, and anything else is named."""

from dataclasses import fields, replace

import pytest

from transformer.config import CHOICES
from transformer.tasks import TASKS
from transformer.training.config import TrainingConfig, configure, load_config, save_config
from transformer.training.errors import RunError
from transformer.training.loop import learning_rate


@pytest.mark.parametrize("name", TASKS)
def test_every_tasks_recipe_comes_back_from_toml(tmp_path, name):
    config = configure(TASKS[name], seed=7, steps=3)
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config
    assert (config.training.seed, config.training.steps) == (7, 3)


@pytest.mark.parametrize("schedule", ["linear", "paper"])
def test_the_rate_has_its_peak_at_the_end_of_warmup(schedule):
    config = configure(TASKS["copy"], schedule=schedule)
    rate = learning_rate(config.training, config.model.d_model)
    rates = [rate(step) for step in range(1, config.training.steps + 1)]
    assert rates[config.training.warmup - 1] == max(rates) == pytest.approx(config.training.peak_rate)
    assert rates[-1] < rates[-2]


def test_the_recipes_are_those_that_were_measured():
    measured = {"copy": (1, 1200, 8, 0.0), "reverse": (1, 2400, 4, 0.0), "translate": (2, 1000, 8, 0.1)}
    for name, expected in measured.items():
        task = TASKS[name]
        model, training = configure(task).model, configure(task).training
        assert (model.layers, training.steps, training.window, training.label_smoothing) == expected
        assert (model.d_model, model.heads, model.d_ff, model.dropout, model.norm) == (64, 4, 256, 0.0, "post")
        assert model.max_length == max(task.max_source_length, task.max_target_length) + 1
        assert (training.warmup, training.peak_rate, training.batch_size, training.clip_norm) == (200, 3e-3, 64, 1.0)
        assert (training.schedule, training.averaging, training.seed) == ("linear", 0.99, 0)
        assert training.workers == 1


def test_a_short_run_warms_up_for_a_quarter_of_its_steps():
    assert configure(TASKS["copy"], steps=40).training.warmup == 10
    assert configure(TASKS["copy"], steps=1).training.warmup == 1


def test_every_value_is_kept_exactly(tmp_path, tiny_config):
    awkward = replace(tiny_config, training=replace(tiny_config.training, peak_rate=1 / 3, clip_norm=float("inf")))
    save_config(awkward, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == awkward


def test_every_choice_of_a_model_comes_back(tmp_path, tiny_config):
    for number in range(max(len(choices) for choices in CHOICES.values())):
        chosen = {name: choices[number % len(choices)] for name, choices in CHOICES.items()}
        model = replace(tiny_config.model, **chosen, heads=4, kv_heads=2, bias=bool(number % 2))
        config = replace(tiny_config, model=model)
        save_config(config, tmp_path / "config.toml")
        assert load_config(tmp_path / "config.toml") == config


def edited(tmp_path, config, old, new):
    path = tmp_path / "config.toml"
    save_config(config, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("steps = 12\n", "", "the key training.steps is missing"),
        ("steps = 12\n", "steps = 12\nstep = 3\n", r"unknown key training.step \(did you mean training.steps\?\)"),
        ("source_vocab = 24\n", "", "the key model.source_vocab is missing"),
        ('task = "copy"\n', "", "the key task is missing"),
        ('task = "copy"\n', "task = 3\n", "task must be a name"),
        ('task = "copy"\n', 'task = "copy"\nextra = 1\n', "unknown key extra"),
        ("steps = 12\n", "steps = 12.5\n", r"training.steps must be a whole number, got 12\.5"),
        ("steps = 12\n", "steps = true\n", "training.steps must be a whole number, got True"),
        ("steps = 12\n", 'steps = "12"\n', "training.steps must be a whole number, got '12'"),
        ("steps = 12\n", "steps = 0\n", "steps must be at least 1"),
        ("peak_rate = 1.0\n", "peak_rate = nan\n", "training.peak_rate must be a number, got nan"),
        ("heads = 2\n", "heads = 3\n", "8.*3|3.*8"),
        ("steps = 12\n", "steps = = 12\n", "not a TOML file"),
        ('norm = "post"\n', 'norm = "Post"\n', r"\[model\] norm is 'post' or 'pre', not 'Post'"),
        ('norm_kind = "layer"\n', 'norm_kind = "batch"\n', "norm_kind is 'layer' or 'rms', not 'batch'"),
        ('positions = "sinusoidal"\n', 'positions = "rope"\n', "positions is .*'rotary' or .*, not 'rope'"),
        ('positions = "sinusoidal"\n', "positions = 3\n", "model.positions must be 'sinusoidal' or .*, got 3"),
        ('cross_positions = "none"\n', 'cross_positions = "alibi"\n', "cross_positions is 'none' or .*, not 'alibi'"),
        ('feed_forward = "relu"\n', 'feed_forward = "silu"\n', "feed_forward is .*'swiglu', not 'silu'"),
        ("kv_heads = 0\n", "kv_heads = 3\n", "heads=2 must be a multiple of kv_heads=3"),
        ("kv_heads = 0\n", "kv_heads = true\n", "model.kv_heads must be a whole number, got True"),
        ("bias = true\n", "bias = 1\n", "model.bias must be true or false, got 1"),
        ("bias = true\n", "biases = true\n", r"unknown key model.biases \(did you mean model.bias\?\)"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path, tiny_config, old, new, complaint):
    path = edited(tmp_path, tiny_config, old, new)
    with pytest.raises(RunError, match=complaint) as caught:
        load_config(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    ["averaging = 0.99\n", "window = 1\n", "workers = 1\n", "accumulate = 1\n", 'norm_kind = "layer"\n',
     'positions = "sinusoidal"\n', 'cross_positions = "none"\n', 'feed_forward = "relu"\n', "kv_heads = 0\n",
     "bias = true\n", "checkpoints = 0\n"],
)  # fmt: skip
def test_a_setting_that_an_older_run_does_not_name_has_its_default(tmp_path, tiny_config, line):
    assert load_config(edited(tmp_path, tiny_config, line, "")) == tiny_config


def test_a_whole_number_may_stand_for_a_float(tmp_path, tiny_config):
    assert load_config(edited(tmp_path, tiny_config, "peak_rate = 1.0", "peak_rate = 1")) == tiny_config


def test_sections_must_be_tables_and_the_file_must_be_there_and_be_text(tmp_path):
    path = tmp_path / "config.toml"
    with pytest.raises(RunError, match="No such file"):
        load_config(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="not a TOML file"):
        load_config(path)
    path.write_text('task = "copy"\nmodel = 1\ntraining = 2\n')
    with pytest.raises(RunError, match=r"\[model\] must be a table"):
        load_config(path)


@pytest.mark.parametrize(
    "changes",
    [
        *({field.name: 0} for field in fields(TrainingConfig) if field.name in ("steps", "warmup", "batch_size")),
        {"window": 0},
        {"workers": 0},
        {"accumulate": 0},
        {"accumulate": 65},
        {"peak_rate": 0.0},
        {"peak_rate": float("inf")},
        {"clip_norm": -1.0},
        {"label_smoothing": 1.0},
        {"averaging": 1.0},
        {"seed": -1},
        {"checkpoints": -1},
    ],
)
def test_settings_without_sense_are_refused(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        TrainingConfig(**({"steps": 1, "warmup": 1, "peak_rate": 1.0} | changes))
