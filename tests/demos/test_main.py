"""The command line itself: the list, the help, and everything that ends in one clear line."""

import argparse
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from demos.__main__ import command_names, main
from demos.problems import UserError, told_plainly

COMMANDS = [
    "train",
    "translate",
    "evaluate",
    "study",
    "graph",
    "gallery",
    "micrograd",
    "rules",
    "warmup",
    "lengths",
    "bugs",
    "data",
    "benchmark",
]


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_all_commands_fit_on_one_screen(command, arguments):
    status, out, err = command(*arguments)
    assert (status, err) == (0, "")
    assert len(out.splitlines()) <= 24
    for name in command_names():
        assert f"  {name} " in out
        assert import_module(f"demos.{name}").SUMMARY in out
    assert out.endswith("\nStart with: python -m demos train translate\n")


def test_these_are_commands_and_the_modules_they_share_are_not():
    assert command_names()[: len(COMMANDS)] == COMMANDS  # as a newcomer meets them
    assert {"problems", "options", "terminal"}.isdisjoint(command_names())


@pytest.mark.parametrize("name", command_names())
def test_every_command_has_help_and_the_options_that_all_have(command, name):
    status, out, err = command(name, "--help")
    assert (status, err) == (0, "")
    for option in ("--help", "--seed", "--out", "--max-seconds"):
        assert option in out


def test_listing_the_commands_imports_nothing_heavy(workplace, start):
    environment = os.environ | {"PYTHONPATH": str(import_module("demos").__path__[0]) + "/.."}
    program = (
        "import sys; from demos.__main__ import main; main([]); "
        "sys.exit(str({'numpy', 'rich', 'jinja2', 'minigrad', 'transformer'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert told.stderr.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trian", "copy"], "there is no command 'trian': did you mean train?"),
        (["TRAIN"], "there is no command 'TRAIN': did you mean train?"),
        (["xyz"], "there is no command 'xyz', only "),
        (["problems"], "there is no command 'problems'"),
        (["__main__"], "there is no command '__main__'"),
        (["../train"], "there is no command '../train'"),
        (["--steps", "3"], "a command comes first, not --steps"),
        (["train", "copy", "--stpes", "3"], "unrecognized arguments: --stpes 3 (did you mean --steps?)"),
        (["train", "copy", "--steps", "many"], "argument --steps: must be a whole number, at least 1, got 'many'"),
        (["train", "copy", "--steps", "0"], "argument --steps: must be a whole number, at least 1, got '0'"),
        (["train", "copy", "--seed", "-1"], "argument --seed: "),
        (
            ["train", "copy", "--max-seconds", "nan"],
            "argument --max-seconds: must be a number greater than 0, got 'nan'",
        ),
        (["evaluate"], "the following arguments are required: RUN (see python -m demos evaluate --help)"),
    ],
)
def test_a_wrong_command_line_is_one_line_with_a_way_out(refused, arguments, complaint):
    assert complaint in refused(*arguments)


@pytest.mark.skipif(os.name != "posix", reason="a shell as POSIX has it")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("arguments", ["", "train copy --steps 1", 'translate --brief "i love you ."', "evaluate none"])
def test_a_stream_that_is_closed_from_the_start_breaks_nothing(workplace, translate_run, arguments, closed):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    program = f"exec {sys.executable} -m demos {arguments} {closed}"
    ended = subprocess.run(["sh", "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == (2 if "none" in arguments else 0)
    assert "Traceback" not in ended.stderr
    assert (workplace / "runs/copy/report.json").exists() == ("copy" in arguments)


def test_ctrl_c_outside_training_is_130(command, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("demos.train.run", interrupted)
    assert command("train", "copy") == (130, "", "interrupted\n")


def test_an_error_of_the_system_names_the_file(refused, monkeypatch):
    def failing(options):
        raise PermissionError(13, "Permission denied", "secret.txt")

    monkeypatch.setattr("demos.train.run", failing)
    assert refused("train", "copy") == "secret.txt: Permission denied"


def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    def broken(options):
        raise ZeroDivisionError

    monkeypatch.setattr("demos.train.run", broken)
    with pytest.raises(ZeroDivisionError):
        main(["train", "copy"])


def test_a_message_is_one_line_whatever_the_error_says():
    with pytest.raises(UserError, match=r"^first second$") as caught, told_plainly(ValueError, status=1):
        raise ValueError("first\n  second")
    assert caught.value.status == 1
    with pytest.raises(UserError, match=r"^KeyError$"), told_plainly(KeyError):
        raise KeyError


@pytest.mark.parametrize("name", command_names())
def test_every_option_is_explained(name):
    parser = argparse.ArgumentParser()
    import_module(f"demos.{name}").add_arguments(parser)
    assert all(action.help for action in parser._actions)
