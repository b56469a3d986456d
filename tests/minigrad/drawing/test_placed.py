import re
from itertools import pairwise
from math import dist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.drawing import Canvas, Drawing, Pair
from minigrad.drawing.placed import rounded
from tests.minigrad.drawing.pictures import SVG, all_words, parsed

COLOURS = Pair("#FFFFFF", "#000000")
points = st.lists(
    st.tuples(st.integers(-300, 300), st.integers(-300, 300)), min_size=2, max_size=6, unique=True
).filter(lambda line: all(dist(one, two) > 1 for one, two in pairwise(line)))


@given(points, st.floats(0, 40))
def test_a_rounded_line_is_cubic_curves_from_its_first_point_to_its_last(line: list, radius: float) -> None:
    curve = rounded(line, radius)
    assert len(curve) % 3 == 1
    assert curve[0] == line[0]
    assert curve[-1] == line[-1]
    for corner in line[1:-1]:  # no corner is cut by more than its radius
        assert min(dist(corner, point) for point in curve[::3]) <= radius + 1e-6


def drawn(canvas: Canvas) -> Drawing:
    return Drawing(canvas.source(), "a picture", texts=canvas.texts, placed=True)


def test_what_is_placed_is_drawn_there() -> None:
    canvas = Canvas()
    one = canvas.box((0, 0), (80, 30), ("one",), COLOURS, "the first")
    two = canvas.box((0, 100), (80, 30), ("two", "lines"), COLOURS)
    canvas.arrow(one, two, [(0, 15), (0, 85)])
    canvas.panel(-60, -30, 60, 130, COLOURS)
    canvas.words((90, 50), "beside <&\\N", ground="#FFFFFF")
    canvas.curve([(0, 0), (1, 2), (3, 2), (4, 0)])
    canvas.pointer([(200, 0), (200, 50)])
    root = parsed(drawn(canvas))
    assert [group.get("class") for group in root.iter(f"{SVG}g")].count("cluster") == 1
    assert all_words(drawn(canvas)) == ["one", "two", "lines", "beside <&\\N"]
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert "the first" in titles
    heights = {"".join(text.itertext()): float(text.get("y", "nan")) for text in root.iter(f"{SVG}text")}
    middle = (heights["two"] + heights["lines"]) / 2
    assert heights["one"] - middle == pytest.approx(100, abs=1)


def test_an_arrow_s_head_touches_its_end() -> None:
    canvas = Canvas()
    one = canvas.box((0, 0), (80, 30), ("one",), COLOURS)
    two = canvas.box((200, 100), (80, 30), ("two",), COLOURS)
    canvas.arrow(one, two, [(40, 0), (100, 0), (100, 100), (160, 100)])
    edge = next(group for group in parsed(drawn(canvas)).iter(f"{SVG}g") if group.get("class") == "edge")
    head = next(edge.iter(f"{SVG}polygon")).get("points", "")
    line = next(edge.iter(f"{SVG}path")).get("d", "")
    start = [float(number) for number in re.findall(r"-?[\d.]+", line)[:2]]
    tip = max(tuple(map(float, point.split(","))) for point in head.split())
    assert tip[0] - start[0] == pytest.approx(120, abs=2.5)
    assert tip[1] - start[1] == pytest.approx(-100, abs=0.1)
