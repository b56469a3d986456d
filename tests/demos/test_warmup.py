"""The warm-up demo: what it prints and draws, and the reason for what it shows."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from demos.pictures.losses import apart, even, smoothed
from demos.warming.training import CHANCE, Setting, schedule, settings, train

FOUR = ["post-norm, no warm-up", "post-norm, with warm-up", "pre-norm, no warm-up", "pre-norm, with warm-up"]


def test_four_trainings_are_a_table_and_a_picture(command, workplace):
    status, printed, _ = command("warmup", "--steps", 3, "--warmup", 2, "--layers", 1, "--out", "sub/w.svg")
    assert status == 0
    assert all(name in printed for name in FOUR)
    assert "a guess has the loss 2.08" in printed
    picture = ET.parse(workplace / "sub" / "w.svg").getroot()
    lines = [element for element in picture.iter() if element.tag.endswith("polyline")]
    assert [len(line.get("points").split()) for line in lines] == [3] * 4
    rows = [
        line.split() for line in printed.splitlines() if line.startswith(("post-norm, ", "pre-norm, ")) and "%" in line
    ]
    assert len(rows) == 4
    labels = "".join(picture.itertext())
    assert all(
        f"{float(next(cell for cell in row[5:] if '.' in cell)):.2f} {' '.join(row[:3])}" in labels for row in rows
    )
    again = command("warmup", "--steps", 2, "--warmup", 1, "--layers", 1, "--out", "sub/w.svg", "--max-seconds", 1e-9)
    assert again[0] == 0  # its own file is written anew
    assert again[2].count("note: time was up: ") == 4


@pytest.mark.parametrize("option", [("--steps", "0"), ("--rate", "-1"), ("--layers", "x"), ("--warmup", "2000")])
def test_what_makes_no_sense_is_refused(refused, option):
    assert option[0] in refused("warmup", *option)


def test_a_file_from_elsewhere_stays(refused, workplace):
    (workplace / "w.svg").write_text("mine")
    assert "so it stays" in refused("warmup", "--steps", "1", "--warmup", "1", "--out", "w.svg")
    assert (workplace / "w.svg").read_text() == "mine"


def test_the_rates_differ_in_the_warm_up_alone():
    setting = Setting(layers=1, steps=8, rate=0.5, warmup=4, seed=0)
    warm, cold = schedule(setting, True), schedule(setting, False)
    assert [warm(step) for step in (1, 2, 4)] == [0.125, 0.25, 0.5]
    assert [cold(step) for step in (1, 3, 5)] == [0.5, 0.375, 0.25]
    assert warm(8) == 0.1
    assert cold(8) == 0.0625


def test_post_norm_gradients_grow_towards_the_output_and_pre_norms_do_not():
    """Xiong et al. 2020, at initialisation; the four begin with the same weights and texts."""
    setting = Setting(layers=6, steps=1, rate=1e-3, warmup=1, seed=0)
    post, post_warm, pre, _ = (train(setting, *each) for each in settings())
    assert post.gradients == post_warm.gradients
    assert post.losses == post_warm.losses
    assert len(post.gradients) == 6
    assert post.gradients[-1] > 2 * post.gradients[0]
    assert pre.gradients[-1] < 1.5 * pre.gradients[0]


@pytest.mark.parametrize("seed", [0, 2])
def test_without_warm_up_post_norm_learns_next_to_nothing_and_with_it_does(seed):
    setting = Setting(layers=6, steps=120, rate=5e-3, warmup=60, seed=seed)
    cold, warm = (train(setting, "post", warm) for warm in (False, True))
    assert cold.last_loss > 0.9 * CHANCE
    assert warm.last_loss < 0.7 * CHANCE
    assert cold.verdict == "learnt next to nothing"


def test_numbers_become_coordinates():
    assert smoothed([1.0, 3.0, 5.0]) == [1.0, 2.0, 3.0]
    assert np.isnan(smoothed([1.0, float("nan")])[1])
    assert even(600) == [0, 100, 200, 300, 400, 500, 600]
    assert even(2.2) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert apart([100.0, 105.0, 300.0]) == [100.0, 117.0, 300.0]
    assert apart([345.0, 349.0, 100.0]) == [333.0, 350.0, 100.0]
