"""The benchmark's table and picture, of numbers that nobody measured."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from demos.benchmarking.measured import Measured, goals_reached, milliseconds, print_measured
from demos.pictures.ratios import draw_ratios, ticks

SVG = "{http://www.w3.org/2000/svg}"
FOUND = [
    Measured("micro", {"d_model": 32}, {"minigrad": [0.002, 0.004, 0.003], "<a&b>": [0.004] * 3}, {"<a&b>": 0.75}),
    Measured(
        "paper",
        {"d_model": 512},
        {"minigrad": [1.5], "<a&b>": [1.0], "floor": [0.5]},
        {"<a&b>": 1.5, "floor": 3.0},
        {"<a&b>": 1.6, "floor": 1.25},
    ),
]
WHAT = {"<a&b>": "1 < 2 & so on", "floor": "products"}


def test_the_table_has_two_rows_a_configuration(capsys):
    print_measured(FOUND[1:], ["<a&b>", "floor"])
    header, medians, ratios = capsys.readouterr().out.splitlines()
    assert header.split() == ["minigrad", "<a&b>", "floor"]
    assert medians.split() == ["paper", "1,500", "ms", "1,000", "ms", "500", "ms"]
    assert ratios.split() == ["ratio", "to", "1.50", "goal", "<=", "1.6", "3.00", "goal", "<=", "1.25"]
    assert max(map(len, (header, medians, ratios))) < 80


def test_goals_are_counted_and_what_is_missed_is_named():
    assert goals_reached(FOUND) == "1 of 2 goals reached; missed: paper to floor."
    assert goals_reached(FOUND[:1]) == ""


@pytest.mark.parametrize(("value", "told"), [(1.234, "1.23 ms"), (41.23, "41.2 ms"), (1197.2, "1,197 ms")])
def test_milliseconds_have_three_digits(value, told):
    assert milliseconds(value) == told


def test_bars_are_as_long_as_ratios_and_end_at_1_where_both_are_equally_fast():
    picture = ET.fromstring(draw_ratios(FOUND, WHAT, 1))
    bars = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("class", "").startswith("bar")]
    lengths = [float(bar.get("width")) for bar in bars]
    assert np.allclose(np.divide(lengths, lengths[0]), [1, 2, 4], rtol=1e-3)
    (equal,) = (line for line in picture.iter(f"{SVG}line") if line.get("class") == "equal")
    assert float(equal.get("x1")) - float(bars[0].get("x")) == pytest.approx(lengths[0] / 0.75, abs=0.02)
    goals = [line for line in picture.iter(f"{SVG}line") if line.get("class") == "goal"]
    assert float(goals[1].get("x1")) - float(bars[0].get("x")) == pytest.approx(lengths[0] * 1.25 / 0.75, abs=0.02)
    assert bars[0].get("class") == bars[1].get("class") != bars[2].get("class")


def test_the_picture_escapes_names_and_speaks_its_numbers():
    text = draw_ratios(FOUND, WHAT, 2)
    picture = ET.fromstring(text)
    words = ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]
    assert {"<a&b>", "<a&b>: 1 < 2 & so on", "1.50", "≤ 1.6", "micro · minigrad 3.00 ms"} <= set(words)
    assert "2 threads each" in words[1]
    assert picture.find(f"{SVG}title").text
    assert "micro: minigrad takes 3.00 ms, 0.75 of <a&b>'s." in picture.find(f"{SVG}desc").text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("longest", [1.0, 1.3, 3.15, 12.0, 1e4])
def test_an_axis_has_few_round_ticks_from_0(longest):
    found = ticks(longest)
    assert found[0] == 0
    assert 2 <= len(found) <= 7
    assert found[-1] <= longest
