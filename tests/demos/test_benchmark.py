"""The benchmark: its options, its turns and what it leaves, with competitors of one line; no test looks at a time."""

import json
import os
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from demos.benchmark import new_folder
from demos.benchmarking.cores import held_on_cores
from demos.problems import UserError
from tests.benchmarks.step import competitors, floor_step, minigrad_step
from tests.benchmarks.step.configs import CONFIGS, StepConfig
from tests.benchmarks.step.weights import shapes
from tests.benchmarks.turns import ratio, rounds, side_by_side
from transformer import Transformer, TransformerConfig

LEAST = StepConfig("least", 8, 2, 2, 16, 2, 3, 9, 3, {"fast": 0.5})


def fake(step, package="numpy"):
    """A competitor that does `step()` in a step."""
    module = SimpleNamespace(prepare=lambda threads: None, build=lambda config, seed: lambda: step)
    return SimpleNamespace(what="a fake", package=package, load=lambda: module)


def short():
    """So long that no clock says 0."""
    sum(range(1000))


def absent(error):
    def load():
        raise error

    return SimpleNamespace(what="absent", package="jax", load=load)


@pytest.fixture
def small(monkeypatch):
    """One small configuration, and two competitors of next to no work."""
    found = {"fast": fake(short), "slow": fake(short)}
    monkeypatch.setattr(competitors, "COMPETITORS", found)
    for name in list(CONFIGS):
        monkeypatch.delitem(CONFIGS, name)
    monkeypatch.setitem(CONFIGS, "least", LEAST)
    return found


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--against", "torhc"], "--against: there is no 'torhc' (did you mean torch?)"),
        (["--against", "floor,xyz"], "--against: there is no 'xyz' (only torch, jax, floor)"),
        (["--against", " ,"], "--against: names none of torch, jax, floor"),
        (["--config", "Smal"], "--config: there is no 'Smal' (did you mean small?)"),
        (["--config", ""], "--config: names none of micro, tiny, small, paper"),
        (["--repeats", "0"], "argument --repeats: must be a whole number, at least 1, got '0'"),
        (["--against", "floor", "--threads", "100000"], "--threads 100000: there "),
        (["--agianst", "floor"], "unrecognized arguments: --agianst floor (did you mean --against?)"),
    ],
)
def test_a_wrong_option_is_one_line_with_a_way_out(refused, workplace, arguments, complaint):
    assert complaint in refused("benchmark", *arguments)
    assert not list(workplace.rglob("*.json"))


def test_without_the_repository_it_says_where_to_run(refused, workplace, monkeypatch):
    monkeypatch.setitem(sys.modules, "tests.benchmarks.step.competitors", None)
    assert "run this command in a clone" in refused("benchmark", status=1)
    assert list(workplace.iterdir()) == []


def test_minigrad_and_its_products_run_and_all_is_written(command, workplace):
    status, printed, complaints = command("benchmark", "--config", "micro", "--against", "floor", "--repeats", "2")
    assert (status, complaints) == (0, "")
    assert printed.startswith("micro: warming up, then 2 rounds\n")
    assert "goal <= 2.8" in printed
    assert "of 1 goals reached" in printed
    numbers = json.loads((workplace / "runs" / "benchmark" / "benchmark.json").read_text())
    micro = numbers["configs"]["micro"]
    assert (micro["rounds"], micro["d_model"], micro["goal"]) == (2, 32, {"floor": 2.8})
    assert {name: len(turns) for name, turns in micro["seconds"].items()} == {"minigrad": 2, "floor": 2}
    assert micro["ratio"]["floor"] == pytest.approx(np.median(np.divide(*micro["seconds"].values())))
    assert set(numbers["versions"]) == {"python", "minigrad", "numpy"}
    assert numbers["threads"] == 1
    ET.parse(workplace / "runs" / "benchmark" / "benchmark.svg")


def test_all_that_are_there_compete_unless_some_are_named(small, command):
    assert "fast" in command("benchmark")[1]
    status, printed, _ = command("benchmark", "--against", "slow", "--config", "least")
    assert status == 0
    assert "slow: a fake" in printed
    assert "fast:" not in printed


def test_who_is_not_installed_is_named_and_the_others_compete(small, command, workplace):
    small["jax"] = absent(ModuleNotFoundError("No module named 'jax'", name="jax"))
    small["torn"] = absent(OSError("libtorn.so:\n  not found"))
    status, printed, complaints = command("benchmark")
    assert status == 0
    assert "note: jax is not installed: pip install '.[jax]'\n" in complaints
    assert "note: torn is installed but can't be loaded: libtorn.so: not found\n" in complaints
    assert "jax" not in printed
    assert "fast" in printed


def test_with_nobody_to_compare_there_are_times_and_no_picture(small, command, workplace):
    small["jax"] = absent(ModuleNotFoundError("No module named 'jax'", name="jax"))
    status, printed, _ = command("benchmark", "--against", "jax")
    assert status == 0
    assert "ratio" not in printed.lower()
    assert [path.name for path in (workplace / "runs" / "benchmark").iterdir()] == ["benchmark.json"]


def test_a_module_of_ours_that_is_missing_is_not_taken_for_a_package(small, command):
    small["jax"] = absent(ModuleNotFoundError("No module named 'tests.other'", name="tests.other"))
    with pytest.raises(ModuleNotFoundError):
        command("benchmark")


def test_a_folder_is_never_overwritten(small, command, refused, workplace):
    assert command("benchmark")[0] == 0
    before = (workplace / "runs" / "benchmark" / "benchmark.json").read_bytes()
    status, printed, _ = command("benchmark")
    assert status == 0
    assert "this goes to " + os.path.join("runs", "benchmark-2") in printed
    assert (workplace / "runs" / "benchmark-2" / "benchmark.json").exists()
    assert refused("benchmark", "--out", "runs/benchmark").endswith("exists: pick another --out")
    assert (workplace / "runs" / "benchmark" / "benchmark.json").read_bytes() == before
    (workplace / "empty").mkdir()
    assert command("benchmark", "--out", "empty")[0] == 0
    (workplace / "file").write_text("mine")
    refused("benchmark", "--out", "file")
    refused("benchmark", "--out", "file/below")


def test_a_competitor_that_computes_something_else_is_found(small, refused, workplace):
    small["slow"] = fake(lambda: 1e9)
    told = refused("benchmark", status=1)
    assert told.startswith("least: slow's step is not minigrad's: its loss is 1000000000.0, not ")
    small["slow"] = fake(lambda: float("nan"))
    refused("benchmark", status=1)
    assert not (workplace / "runs" / "benchmark").exists()


def test_ctrl_c_leaves_no_folder(small, command, workplace):
    def interrupted():
        raise KeyboardInterrupt

    small["slow"] = fake(interrupted)
    assert command("benchmark")[0] == 130
    assert not (workplace / "runs" / "benchmark").exists()


def test_out_of_time_it_tells_what_it_has(small, command, monkeypatch, workplace):
    monkeypatch.setitem(CONFIGS, "more", LEAST)
    status, _, complaints = command("benchmark", "--max-seconds", "0.000001")
    assert status == 0
    assert "note: time is up: least was not measured (--max-seconds)" in complaints
    numbers = json.loads((workplace / "runs" / "benchmark" / "benchmark.json").read_text())
    assert [measured["rounds"] for measured in numbers["configs"].values()] == [1]


def test_on_a_terminal_there_is_a_bar(small, command, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    status, printed, _ = command("benchmark")
    assert status == 0
    assert "warming up, then" not in printed
    assert "slow: a fake" in printed


@pytest.mark.skipif(sys.platform != "linux", reason="Linux can hold a process on a core")
def test_steps_run_on_one_core_and_the_process_has_all_again_afterwards(small, command):
    before, seen = os.sched_getaffinity(0), []
    small["slow"] = fake(lambda: seen.append(os.sched_getaffinity(0)))
    status, printed, _ = command("benchmark")
    assert status == 0
    assert {len(cores) for cores in seen} == {1}
    assert f"held on core {seen[0].copy().pop()}," in printed
    assert os.sched_getaffinity(0) == before


@pytest.mark.skipif(sys.platform != "linux", reason="Linux can hold a process on a core")
def test_where_the_process_cant_be_held_it_says_so_and_goes_on(small, command, workplace, monkeypatch):
    def forbidden(process, cores):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    status, printed, _ = command("benchmark")
    assert status == 0
    assert "One thread each, but here the process can't be held on so many cores: jax may take more." in printed
    assert json.loads((workplace / "runs" / "benchmark" / "benchmark.json").read_text())["cores"] is None


@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: "1")(0)) < 2, reason="wants two cores")
def test_goals_are_for_one_thread(small, command):
    assert "1 goals reached" in command("benchmark")[1]
    status, printed, _ = command("benchmark", "--threads", "2")
    assert status == 0
    assert "2 threads each" in printed
    assert "goal" not in printed


def test_there_are_never_more_cores_than_there_are():
    with pytest.raises(UserError, match="--threads"), held_on_cores(100_000):
        pass


def test_weights_are_those_of_the_model():
    sizes = {"d_model": LEAST.d_model, "heads": LEAST.heads, "layers": LEAST.layers, "d_ff": LEAST.d_ff}
    model = Transformer(TransformerConfig(source_vocab=LEAST.vocab, target_vocab=LEAST.vocab, **sizes))
    assert shapes(LEAST) == {name: array.shape for name, array in model.state_dict().items()}


def test_minigrad_learns_its_batch():
    step = minigrad_step.build(LEAST, 0)()
    losses = [step() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)


def test_the_floor_multiplies_three_times_what_the_forward_pass_does(monkeypatch):
    counted, matmul = [], np.matmul

    def counting(a, b, out):
        counted.append(a.size * b.shape[-1])
        return matmul(a, b, out=out)

    step = floor_step.build(LEAST, 0)()
    monkeypatch.setattr(np, "matmul", counting)
    assert step() is None
    d, ff, layers, tokens = LEAST.d_model, LEAST.d_ff, LEAST.layers, LEAST.batch * LEAST.length
    affine = tokens * (12 * layers * d * d + 4 * layers * d * ff + d * LEAST.vocab)
    attention = 3 * layers * 2 * tokens * LEAST.length * d  # scores and weighted values of all heads
    assert sum(counted) == 3 * (affine + attention)


def test_turns_alternate_and_ratios_are_of_the_same_round():
    order, now = [], iter(range(1000))
    found = list(rounds({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3, lambda: next(now)))
    assert order == list("baabba")
    assert found == [{"a": 1, "b": 1}] * 3
    assert ratio({"a": [1, 8, 9], "b": [2, 2, 3]}, "a", "b") == 3
    assert {name: len(turns) for name, turns in side_by_side({"a": list, "b": dict}, 4).items()} == {"a": 4, "b": 4}


def test_an_empty_folder_of_the_users_stays_when_nothing_could_be_written(tmp_path):
    theirs, new = tmp_path / "theirs", tmp_path / "new"
    theirs.mkdir()
    for folder in (theirs, new):
        with pytest.raises(RuntimeError), new_folder(folder):
            raise RuntimeError
    assert theirs.is_dir()
    assert not new.exists()
