"""kill -9 at any moment: whoever resumes ends with the very bits of a training that nobody disturbed.

Trainings run in processes of their own and are killed by SIGKILL, which nothing can catch: at random moments, and at
every moment of a save. `pytest --hypothesis-profile=thorough` kills 50 trainings at random moments, not 4.
"""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from transformer.tasks import get_task
from transformer.training.loop import train
from transformer.training.progress import Silent
from transformer.training.run import create_run

CLONE = Path(__file__).parents[3]
TRIALS = range(4 if settings.get_current_profile_name() == "same" else 50)

TRAINING = """
import os, signal, sys
from pathlib import Path
from transformer.training.loop import train
from transformer.training.progress import Silent
from transformer.training.run import open_run

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(name, after, moment):
    real, left = getattr(os, name), int(moment)
    def call(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0 and not after:
            die()
        result = real(*arguments, **options)
        if left == 0:
            die()
        return result
    setattr(os, name, call)

path, *death = sys.argv[1:]
run = open_run(Path(path))
print("ready", flush=True)
if death:
    dying(death[0], death[1] == "after", death[2])
train(run, Silent())
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")


@pytest.fixture
def config(tiny_config):
    """60 steps with dropout, label smoothing, averaging, a window, and a save every 3 steps."""
    return replace(
        tiny_config,
        training=replace(tiny_config.training, steps=60, evaluate_every=3, window=4, averaging=0.9, validation_size=1),
    )


@pytest.fixture
def undisturbed(tmp_path, config):
    """The run of a training that nobody disturbed, and the seconds it took."""
    run, start = create_run(tmp_path / "undisturbed", config, get_task("copy")), time.monotonic()
    train(run, Silent())
    return run, time.monotonic() - start


def training(path, *death):
    """A process that trains, once it has read the run and is about to begin."""
    environment = os.environ | {"PYTHONPATH": str(CLONE)}
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING, str(path), *map(str, death)], env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def ended(process):
    """The process's exit status."""
    with process:
        return process.wait(60)


@pytest.mark.parametrize("seed", TRIALS)
def test_a_training_killed_at_random_moments_ends_as_if_it_never_was(
    tmp_path, config, undisturbed, assert_same_end, seed
):
    run, chance = create_run(tmp_path / "killed", config, get_task("copy")), random.Random(seed)
    kills = chance.randint(1, 3)
    for _ in range(kills):
        process = training(run.path)
        time.sleep(chance.uniform(0, undisturbed[1] / kills))
        process.kill()
        ended(process)
    assert ended(training(run.path)) == 0
    assert_same_end(run, undisturbed[0])


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_training_killed_at_each_moment_of_its_saves_ends_as_if_it_never_was(
    tmp_path, config, undisturbed, assert_same_end, name, when
):
    run = create_run(tmp_path / "killed", config, get_task("copy"))
    killed = 0
    for moment in (1, 2, 3, 6):
        killed += ended(training(run.path, name, when, moment)) == -signal.SIGKILL
    assert killed >= 3
    assert ended(training(run.path)) == 0
    assert_same_end(run, undisturbed[0])
