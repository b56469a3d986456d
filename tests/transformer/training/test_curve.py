"""The curve is a well-formed picture for any training, and its numbers are where they should be."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.training.curve import BINS, LEFT, LOSS_BOTTOM, LOSS_TOP, MATCH_BOTTOM, MATCH_TOP, RIGHT, draw_curve
from transformer.training.metrics import Metrics

SVG = "{http://www.w3.org/2000/svg}"


def rows(losses, every=10, exact=0.5):
    last = len(losses)
    return [
        Metrics(step, loss, 1e-3, 1.0, 10, step * 0.01, step * 0.02, *((exact, 0.75) if step % every == 0 else ()))
        for step, loss in enumerate(losses, start=1)
        if step <= last
    ]


def drawn(metrics, title="copy"):
    return ElementTree.fromstring(draw_curve(metrics, title))


def texts(picture):
    return [element.text for element in picture.iter(f"{SVG}text")]


def points(picture, kind):
    line = next(element for element in picture.iter(f"{SVG}polyline") if kind in element.get("class"))
    return [tuple(map(float, point.split(","))) for point in line.get("points").split()]


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=400), st.integers(1, 50))
def test_any_training_gives_a_picture_with_everything_inside_its_panel(losses, every):
    picture = drawn(rows(losses, every))
    for kind, top, bottom in (("loss", LOSS_TOP, LOSS_BOTTOM), ("exact", MATCH_TOP, MATCH_BOTTOM)):
        if kind == "exact" and len(losses) < every:
            continue
        for x, y in points(picture, kind):
            assert LEFT <= x <= RIGHT
            assert top - 0.01 <= y <= bottom + 0.01


def test_axes_have_ticks_and_names():
    words = texts(drawn(rows([3.0 * 0.99**step for step in range(500)])))
    assert {"0", "100", "500", "1", "0.1", "0%", "100%", "step", "loss", "exact match", "tokens right"} <= set(words)
    assert "500 steps · 5.0 CPU s · best exact match 50.0% after step 500" in words


def test_long_trainings_are_drawn_in_groups():
    assert len(points(drawn(rows([1.0] * 12345)), "loss")) <= BINS


def test_a_training_without_evaluation_has_no_second_line():
    picture = drawn(rows([1.0, 0.9], every=10))
    assert "exact match" not in texts(picture)


def test_labels_at_the_same_height_do_not_touch():
    picture = drawn([*rows([1.0] * 9), Metrics(10, 1.0, 1e-3, 1.0, 10, 0.1, 0.2, 1.0, 1.0)])
    heights = [float(e.get("y")) for e in picture.iter(f"{SVG}text") if e.text in ("exact match", "tokens right")]
    assert abs(heights[0] - heights[1]) >= 15


def test_a_title_is_text_not_markup():
    assert '<script>"&' in texts(drawn(rows([1.0]), title='<script>"&'))


def test_the_picture_knows_light_and_dark_and_needs_nothing_from_elsewhere():
    source = draw_curve(rows([1.0, 0.5]), "copy")
    assert "prefers-color-scheme: dark" in source
    assert re.findall(r"https?://[^\"]+", source) == ["http://www.w3.org/2000/svg"]


def test_the_same_numbers_give_the_same_bytes():
    assert draw_curve(rows([1.0, 0.5]), "copy") == draw_curve(rows([1.0, 0.5]), "copy")


def test_no_rows_are_refused():
    with pytest.raises((IndexError, ValueError)):
        draw_curve([], "copy")
