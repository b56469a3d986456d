"""Changes of a recipe by `a.b=c` and by file: what is said is what is had, and what can't be is told in one line."""

import math
from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.config import CHOICES, TransformerConfig
from transformer.tasks import TASKS
from transformer.training.changes import parse_changes, read_changes
from transformer.training.config import SECTIONS, TrainingConfig, configure, save_config
from transformer.training.errors import RunError

COPY = TASKS["copy"]
KEYS = [f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in fields(kind)]


def test_values_are_tomls_and_a_bare_word_is_a_string():
    said = ["model.layers=3", "training.peak_rate=1e-3", " model.positions = rotary ", 'model.norm="pre"']
    found = parse_changes([*said, "model.bias=false", "training.clip_norm=inf", "training.steps=1_000"])
    assert found == {
        "model": {"layers": 3, "positions": "rotary", "norm": "pre", "bias": False},
        "training": {"peak_rate": 1e-3, "clip_norm": math.inf, "steps": 1000},
    }
    assert parse_changes([]) == {}


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_can_be_made(name):
    for choice in CHOICES[name]:
        assert getattr(configure(COPY, parse_changes([f"model.{name}={choice}"])).model, name) == choice


@pytest.mark.parametrize("name", [field.name for field in fields(TrainingConfig) if field.type is int])
def test_every_number_of_a_training_can_be_set(name):
    assert getattr(configure(COPY, parse_changes([f"training.{name}=7"])).training, name) == 7


@given(number=st.floats(min_value=1e-300, allow_infinity=False))
def test_a_number_is_kept_to_the_bit(number):
    assert parse_changes([f"training.peak_rate={number!r}"])["training"]["peak_rate"] == number


UNREADABLE = "must be as TOML writes it (3, 0.5, true) or a word, got"


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("model.layer=3", "--set: unknown key model.layer (did you mean model.layers?)"),
        ("model.Layers=3", "--set: unknown key model.Layers (did you mean model.layers?)"),
        ("layers=3", "--set: unknown key layers (did you mean model.layers?)"),
        ("layer=3", "--set: unknown key layer (did you mean model.layers?)"),
        ("model.steps=3", "--set: unknown key model.steps (did you mean training.steps?)"),
        ("modle.layers=3", "--set: unknown key modle (did you mean model?)"),
        ("nonsense=3", "--set: unknown key nonsense (known: model, training)"),
        ("task=copy", "--set: unknown key task (known: model, training)"),
        ("model.layers=two", "--set: model.layers must be a whole number, got 'two'"),
        ("model.layers=2.0", "--set: model.layers must be a whole number, got 2.0"),
        ("model.layers=true", "--set: model.layers must be a whole number, got True"),
        ("model.layers=[2]", "--set: model.layers must be a whole number, got [2]"),
        ("model.bias=yes", "--set: model.bias must be true or false, got 'yes'"),
        ("model.norm=3", "--set: model.norm must be 'post' or 'pre', got 3"),
        ("training.peak_rate=fast", "--set: training.peak_rate must be a number, got 'fast'"),
        ("training.peak_rate=nan", "--set: training.peak_rate must be a number, got nan"),
        (f"training.peak_rate={10**400}", f"--set: training.peak_rate must be a number, got 1{'0' * 19}"),
        ("training.schedule=3", "--set: training.schedule must be a name in quotes, got 3"),
        ("model", "--set is followed by SECTION.NAME=VALUE, as in model.layers=3, not by 'model'"),
        ("model=3", "--set is followed by SECTION.NAME=VALUE, as in model.layers=3, not by 'model=3'"),
        ("=3", "--set is followed by SECTION.NAME=VALUE, as in model.layers=3, not by '=3'"),
        ("model.x.y=3", "--set is followed by SECTION.NAME=VALUE, as in model.layers=3, not by 'model.x.y=3'"),
        ("model.layers=", f"--set: model.layers {UNREADABLE} ''"),
        ("training.peak_rate=.5", f"--set: training.peak_rate {UNREADABLE} '.5'"),
        ("model.layers=3\nd_ff=4", rf"--set: model.layers {UNREADABLE} '3\nd_ff=4'"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_named_with_what_can(said, complaint):
    with pytest.raises(RunError) as caught:
        parse_changes([said])
    assert str(caught.value) == complaint


def test_deep_nesting_is_refused():
    with pytest.raises(RunError, match=r"model\.layers must be as TOML writes it"):
        parse_changes(["model.layers=" + "[" * 100_000])


def test_a_key_that_comes_twice_is_refused():
    with pytest.raises(RunError, match=r"^--set: model\.layers comes twice$"):
        parse_changes(["model.layers=2", "model.d_ff=8", "model.layers=2"])


@given(st.text())
def test_any_text_is_changes_or_one_error(text):
    try:
        changes = parse_changes([text])
    except RunError:
        return
    assert next(f"{section}.{name}" for section, table in changes.items() for name in table) in KEYS


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("model.layers=0", "model.layers must be a positive integer, not 0"),
        ("model.heads=3", "model.d_model=64 must be a multiple of heads=3"),
        ("model.positions=rope", "model.positions is 'sinusoidal' or 'learned' or .*, not 'rope'"),
        ("model.d_model=1000000000001", "model.d_model must be at most 1000000000, got 1000000000001"),
        ("model.source_vocab=30", "model.source_vocab is 24, by the words of copy, and can't be 30"),
        ("model.max_length=16", "model.max_length must be at least 17, for copy, got 16"),
        ("training.steps=0", "training.steps must be at least 1, got 0"),
        ("training.warmup=1201", "training.warmup=1201 must not be longer than steps=1200"),
        ("training.accumulate=65", "training.accumulate=65 must not be more than batch_size=64"),
        ("training.peak_rate=inf", "training.peak_rate must be finite, got inf"),
        ("training.schedule=cosine", "training.schedule is 'linear' or 'paper', got 'cosine'"),
    ],
)
def test_what_makes_no_sense_is_told_by_its_key(said, complaint):
    with pytest.raises(RunError, match=f"^{complaint}$"):
        configure(COPY, parse_changes([said]))


def test_later_changes_go_over_earlier_ones_and_both_over_the_recipe():
    config = configure(COPY, {"model": {"layers": 2, "d_ff": 32}}, {"model": {"layers": 3}}, steps=5)
    assert (config.model.layers, config.model.d_ff, config.model.d_model) == (3, 32, 64)
    assert (config.training.steps, config.training.batch_size) == (5, 64)


@pytest.mark.parametrize(
    ("first", "second", "warmup"),
    [
        ({}, {"steps": 40}, 10),
        ({"steps": 100, "warmup": 90}, {}, 90),
        ({"steps": 100, "warmup": 90}, {"steps": 60}, 15),
        ({"steps": 100, "warmup": 90}, {"steps": 60, "warmup": 50}, 50),
        ({"steps": 100}, {"warmup": 80}, 80),
    ],
)
def test_whoever_says_how_many_steps_says_how_long_to_warm_up_or_gets_a_quarter(first, second, warmup):
    assert configure(COPY, {"training": first}, {"training": second}).training.warmup == warmup


def test_a_runs_config_is_a_file_to_start_from(tmp_path):
    config = configure(COPY, parse_changes(["model.positions=rotary", "training.accumulate=3"]), steps=9, warmup=8)
    save_config(config, tmp_path / "config.toml")
    task, changes = read_changes(tmp_path / "config.toml")
    assert (task, configure(TASKS[task], changes)) == ("copy", config)


def test_a_file_may_be_short(tmp_path):
    (tmp_path / "short.toml").write_text("[model]\nlayers = 3\n")
    assert read_changes(tmp_path / "short.toml") == (None, {"model": {"layers": 3}})
    (tmp_path / "empty.toml").write_text("")
    assert read_changes(tmp_path / "empty.toml") == (None, {})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[model]\nlayer = 3", r"unknown key model.layer \(did you mean model.layers\?\)"),
        ("[trainning]\nsteps = 3", r"unknown key trainning \(did you mean training\?\)"),
        ("steps = 3", r"unknown key steps \(did you mean training.steps\?\)"),
        ("[training]\nsteps = 3.5", r"training.steps must be a whole number, got 3\.5"),
        ("task = 3", "task must be a name in quotes, got 3"),
        ("model = 3", r"\[model\] must be a table, got 3"),
        ("steps = = 3", "not a TOML file: .*"),
        ("x = " + "[" * 100_000, "not a TOML file: .*"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_named_with_the_file(tmp_path, text, complaint):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(RunError, match=f"config.toml: {complaint}$"):
        read_changes(path)


def test_a_file_that_can_not_be_read_is_named(tmp_path):
    with pytest.raises(RunError, match=r"missing\.toml: No such file or directory$"):
        read_changes(tmp_path / "missing.toml")
    with pytest.raises(RunError, match=r"Is a directory$"):
        read_changes(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="binary: not a TOML file"):
        read_changes(tmp_path / "binary")


def test_the_model_of_a_recipe_is_changed_and_not_the_recipe():
    before = asdict(configure(COPY))
    configure(COPY, {"model": {"layers": 5}, "training": {"steps": 3}})
    assert asdict(configure(COPY)) == before
    assert {field.name for field in fields(TransformerConfig)} == before["model"].keys()
