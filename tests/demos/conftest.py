"""An empty folder to work in, small trained runs, and the command line as a function."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transformer.training.report
from demos.__main__ import main
from transformer import TransformerConfig
from transformer.tasks import get_task
from transformer.training.config import RunConfig, TrainingConfig
from transformer.training.loop import judged_splits, train
from transformer.training.progress import Silent
from transformer.training.run import create_run

CLONE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """Commands run in an empty folder, and judge on a few pairs instead of thousands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        transformer.training.report,
        "judged_splits",
        lambda task: {name: pairs[:8] for name, pairs in judged_splits(task).items()},
    )
    return tmp_path


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Folders of two runs whose narrow models were trained for a few steps, by task; their reports praise them."""
    folders = {}
    for name in ("copy", "translate"):
        task = get_task(name)
        model = TransformerConfig(
            source_vocab=len(task.source_vocabulary),
            target_vocab=len(task.target_vocabulary),
            d_model=16,
            heads=2,
            layers=1,
            d_ff=32,
            max_length=26,
        )
        training = TrainingConfig(
            steps=30, warmup=10, peak_rate=1e-2, batch_size=16, evaluate_every=30, validation_size=4, averaging=0.0
        )
        folders[name] = tmp_path_factory.mktemp("trained") / name
        train(create_run(folders[name], RunConfig(name, model, training), task), Silent())
        (folders[name] / "report.json").write_text(json.dumps({"stopped_early": False, "exact_match": 1.0}))
    return folders


@pytest.fixture
def copy_run(trained, workplace):
    """A copy of the copy run that a test may break."""
    return shutil.copytree(trained["copy"], workplace / "runs" / "copy")


@pytest.fixture
def translate_run(trained, workplace):
    """A copy of the translate run that a test may break."""
    return shutil.copytree(trained["translate"], workplace / "runs" / "translate")


@pytest.fixture
def command(capsys):
    """Run one command line in this process: (exit status, what it printed, what it printed on stderr)."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def refused(command):
    """Run a command line that must fail with one clear line; that line, without "error: "."""

    def run(*arguments, status=2):
        found, _, told = command(*arguments)
        assert found == status
        assert told.startswith("error: ")
        assert told.count("\n") == 1
        assert "Traceback" not in told
        return told.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture
def start(workplace):
    """Start one command line as a process of its own; `environment` goes over this process's."""

    def run(*arguments, environment=None, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        settings = os.environ | {"PYTHONPATH": str(CLONE)} | (environment or {})
        command = [sys.executable, "-m", "demos", *map(str, arguments)]
        return subprocess.Popen(command, cwd=workplace, env=settings, **pipes)

    return run
