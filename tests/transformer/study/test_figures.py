"""Figures are well-formed pictures of any words and numbers, and what is written in them is the data."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.drawing.palette import contrast
from transformer.study.figures import Bars, Grid, Lines, Table, WordLinks, Words
from transformer.study.figures.picture import ODD, STEPS, fill, ink, level, style
from transformer.study.figures.words import said, shortened, width, wrapped

SVG = "{http://www.w3.org/2000/svg}"
TITLE = Words("What it looks at", "它看哪里")
WORDS = st.text(max_size=30)
LABELS = WORDS | st.builds(Words, WORDS, WORDS)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
LANGUAGES = st.sampled_from(["en", "zh"])


def parsed(svg):
    return ElementTree.fromstring(svg)


def texts(picture):
    return ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]


def told(picture):
    return [element.text for element in picture.iter(f"{SVG}title")]


@st.composite
def grids(draw):
    shape = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    rows, columns = (draw(st.lists(LABELS, min_size=n, max_size=n)) for n in shape)
    numbers = draw(st.lists(NUMBERS, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    hidden = draw(st.none() | st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)))
    mask = None if hidden is None else np.reshape(np.array(hidden, bool), shape)
    digits = draw(st.none() | st.integers(0, 4))
    title = Words(draw(WORDS), draw(WORDS))
    return Grid(title, rows, columns, np.reshape(np.array(numbers), shape), mask, digits, draw(LABELS), draw(LABELS))


@st.composite
def bars(draw):
    count = draw(st.integers(0, 5))
    values = st.lists(st.floats(-1e100, 1e100) | st.sampled_from([math.nan, math.inf, -math.inf]),
                      min_size=count, max_size=count)  # fmt: skip
    groups = draw(st.dictionaries(LABELS, values, max_size=3))
    return Bars(Words(draw(WORDS), draw(WORDS)), draw(st.lists(LABELS, min_size=count, max_size=count)), groups)


@st.composite
def lines(draw):
    count, runs = draw(st.integers(0, 6)), draw(st.integers(0, 3))
    shape = st.sampled_from([(count,), (runs, count)])
    curves = {}
    for name in draw(st.lists(LABELS, max_size=3, unique=True)):
        size = draw(shape)
        values = draw(st.lists(NUMBERS, min_size=math.prod(size), max_size=math.prod(size)))
        curves[name] = np.reshape(np.array(values), size)
    x = draw(st.lists(NUMBERS, min_size=count, max_size=count))
    return Lines(TITLE, x, curves, draw(LABELS), draw(LABELS), draw(st.booleans()), draw(st.booleans()))


@st.composite
def tables(draw):
    count = draw(st.integers(0, 4))
    rows = st.lists(LABELS, min_size=count, max_size=count)
    return Table(Words(draw(WORDS), draw(WORDS)), draw(rows), draw(st.lists(rows, max_size=4)))


@st.composite
def links(draw):
    queries, keys = draw(st.lists(LABELS, max_size=4)), draw(st.lists(LABELS, max_size=4))
    weights = st.lists(st.floats(0, 1) | st.just(math.nan), min_size=len(queries) * len(keys),
                       max_size=len(queries) * len(keys))  # fmt: skip
    patterns = draw(st.dictionaries(LABELS, weights, max_size=3))
    shape = len(queries), len(keys)
    return WordLinks(TITLE, queries, keys, {name: np.reshape(np.array(w), shape) for name, w in patterns.items()})


@settings(max_examples=120, deadline=None)
@given(grids() | bars() | lines() | tables() | links(), LANGUAGES)
def test_any_words_and_numbers_give_well_formed_xml_with_finite_coordinates_the_same_each_time(figure, language):
    svg = figure.svg(language)
    assert svg == figure.svg(language)
    root = parsed(svg)
    for element in root.iter():
        for name in ("x", "y", "width", "height", "d", "points", "transform", "viewBox"):
            assert not re.search("nan|inf", element.get(name, "")), (element.tag, name, element.get(name))
    assert float(root.get("width")) > 0
    assert root.get("role") == "img"
    assert root.get("aria-label").startswith(said(figure.title, language))
    assert not any(element.get("id") for element in root.iter())


@settings(max_examples=40, deadline=None)
@given(tables(), LANGUAGES)
def test_a_table_is_well_formed_html_of_all_its_words(table, language):
    root = parsed(table.html(language))
    found = [element.text or "" for element in root.iter() if element.tag in ("th", "td")]
    expected = [said(cell, language) for row in (table.columns, *table.rows) for cell in row]
    assert found[: len(expected)] == expected


def test_words_are_escaped():
    label = "<b>&\"'</b>"
    for figure in (
        Grid(Words(label, label), [label], [label], np.ones((1, 1)), None, 2, label, label),
        Bars(Words(label, label), [label], {label: [1.0]}),
        Lines(Words(label, label), [1, 2], {label: np.array([1.0, 2])}, label, label),
        Table(Words(label, label), [label], [[label]]),
        WordLinks(Words(label, label), [label], [label], {label: np.ones((1, 1))}),
    ):
        assert label in " ".join(texts(parsed(figure.svg())))
        assert "<b>" not in figure.svg()
    assert "<b>" not in Table(Words(label, label), [label], [[label]]).html()


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("size", [1e-7, 0.3, 1.0, 40.0, 1e5])
def test_the_cells_of_a_grid_say_its_numbers(size, digits):
    rng = np.random.default_rng(0)
    values = size * rng.standard_normal((3, 5))
    values[1, 2] = 0.0
    picture = parsed(Grid(TITLE, list("abc"), list("vwxyz"), values, digits=digits).svg())
    powers = [text for text in texts(picture) if "10" in text and "×" in text]
    unit = 1.0
    if powers:
        digits_up = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
        unit = 10.0 ** int(powers[0].split("10")[1].translate(digits_up))
    cells = [e for e in picture.iter(f"{SVG}g") if "sf-cell" in (e.get("class") or "")]
    assert len(cells) == values.size
    for cell, value in zip(cells, values.ravel(), strict=True):
        written = cell.find(f"{SVG}text").text.replace("−", "-")
        assert (written == "0") == (value == 0)
        assert abs(float(written) * unit - value) <= 0.51 * unit * 10.0**-digits
        whole = float(cell.find(f"{SVG}title").text.rpartition(": ")[2].replace("−", "-"))
        assert whole == pytest.approx(value, rel=1e-5)
    assert cells[7].find(f"{SVG}title").text == "b · x: 0"


def test_hidden_cells_are_hatched_and_neither_written_nor_coloured():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    hidden = np.array([[False, True], [False, False]])
    picture = parsed(Grid(TITLE, ["a", "b"], ["c", "d"], values, hidden).svg())
    cells = [e for e in picture.iter(f"{SVG}g") if "sf-cell" in (e.get("class") or "")]
    assert [cell.find(f"{SVG}text") is None for cell in cells] == [False, True, False, False]
    assert ["sf-hidden" in cell.get("class") for cell in cells] == [False, True, False, False]
    rect = cells[1].find(f"{SVG}rect")
    left, top, wide, high = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
    hatches = next(e for e in picture.iter(f"{SVG}path") if e.get("class") == "sf-hatch").get("d")
    points = [tuple(map(float, pair.split())) for pair in re.findall(r"[\d.]+ [\d.]+", hatches)]
    inside = [left - 0.1 <= x <= left + wide + 0.1 and top - 0.1 <= y <= top + high + 0.1 for x, y in points]
    below = [y > top + 2 * high for _, y in points]  # the swatch of the legend
    assert sum(inside) >= 12
    assert all(a or b for a, b in zip(inside, below, strict=True))
    assert "masked" in texts(picture)
    assert "masked" not in texts(parsed(Grid(TITLE, ["a", "b"], ["c", "d"], values).svg()))


def test_what_is_hidden_does_not_change_the_scale():
    picture = Grid(TITLE, ["a"], ["b", "c"], np.array([[0.5, -1e9]]), np.array([[False, True]])).svg()
    assert "0.5" in texts(parsed(picture))
    assert f"sf-cell sf-h{STEPS}" in picture


@pytest.mark.parametrize("value", [0.0, math.nan, -math.inf])
@pytest.mark.parametrize("hidden", [True, False])
def test_a_grid_says_that_all_is_0_only_where_it_is(value, hidden):
    picture = parsed(Grid(TITLE, ["a"], ["b"], np.array([[value]]), np.array([[hidden]])).svg())
    assert ("all exactly 0" in texts(picture)) == (hidden or value == 0)
    if not hidden:
        assert {0.0: "0", -math.inf: "−∞"}.get(value, "NaN") in texts(picture)


def test_colours_are_those_of_the_sign_and_the_share_of_the_greatest():
    assert [level(v, 2.0) for v in (-2.0, -1.0, 0.0, 1.0, 2.0)] == [-STEPS, -STEPS // 2, 0, STEPS // 2, STEPS]
    assert level(math.nan, 2.0) == level(math.inf, 2.0) == ODD
    assert level(0.0, 0.0) == 0
    red = [int(fill(of)[1:3], 16) - int(fill(of)[5:7], 16) for of in (-STEPS, 0, STEPS)]
    assert red[0] > 50
    assert red[1] == 0
    assert red[2] < -50


def rules(css):
    """{(selector, property): colour} of the light and of the dark half of a style sheet."""
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)")
    return [
        {
            (selector.strip(), name): colour
            for selectors, name, colour in re.findall(r"([^{}]+)\{ (fill|color|stroke): (#\w{6}); \}", half)
            for selector in selectors.split(",")
        }
        for half in (light, dark)
    ]


def test_every_text_has_a_contrast_of_at_least_4_5_to_what_it_stands_on_in_light_and_dark():
    levels = (*range(-STEPS, STEPS + 1), ODD)
    for half in rules(style(levels)):
        of = {(selector.removeprefix(".study-figure "), name): colour for (selector, name), colour in half.items()}
        for one in levels:
            assert contrast(of[f".sf-h{one} text", "fill"], of[f".sf-h{one}", "color"]) >= 4.5
        paper = of[".sf-paper", "fill"]
        for text in (("text", "fill"), (".sf-quiet", "fill"), *((f".sf-c{n}", "color") for n in range(6))):
            assert contrast(of[text], paper) >= 4.5, text
        assert contrast(of[".sf-axis", "stroke"], paper) >= 3
    assert ink("#777777") == "#000000"


def test_styles_speak_of_the_figures_own_classes_alone():
    css = style((0, 3, ODD))
    selectors = re.findall(r"([^{}]+)\{ ", re.sub(r"@media[^{]+\{", "", css))
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".study-figure"), selector
        assert set(re.findall(r"\.([\w-]+)", selector)) - {"study-figure"} == set(re.findall(r"sf-[\w-]+", selector))


def test_every_heat_colour_that_is_used_is_in_the_style():
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (50, 60)):
        svg = Grid(TITLE, [""] * shape[0], [""] * shape[1], rng.standard_normal(shape), digits=None).svg()
        used = set(re.findall(r'class="[^"]*(sf-h[-\d]+)', svg))
        assert used
        assert all(f".study-figure {one} " in svg for one in (f".{name}" for name in used))


def test_a_large_grid_without_digits_is_small_in_bytes_and_still_has_its_colours():
    values = np.random.default_rng(0).standard_normal((60, 130))
    svg = Grid(TITLE, [str(n) for n in range(60)], [str(n) for n in range(130)], values, digits=None).svg()
    assert len(svg.encode()) < 100_000
    greatest, found = np.abs(values).max(), np.full(values.shape, 99)
    for path in parsed(svg).iter(f"{SVG}path"):
        kind = path.get("class")
        for c, r, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d")) if "sf-run" in kind else ():
            found[int(r), int(c) : int(c) + int(length)] = int(kind.removeprefix("sf-run sf-h"))
    assert np.array_equal(found, [[level(value, greatest) for value in row] for row in values])


@pytest.mark.parametrize("count", [3, 12, 40, 130])
@pytest.mark.parametrize("wide", [1, 4, 20, 60])
@pytest.mark.parametrize("digits", [None, 2])
def test_column_labels_do_not_touch(count, wide, digits):
    svg = Grid(TITLE, ["r"], ["x" * wide] * count, np.ones((1, count)), digits=digits).svg()
    labels = [e for e in parsed(svg).iter(f"{SVG}text") if (e.text or "").startswith("x")]
    places = sorted(float(e.get("x")) for e in labels)
    turned = re.findall(r"rotate\((-\d+)", labels[0].get("transform", ""))
    between = {"-45": 12 / 0.71, "-90": 12}[turned[0]] if turned else width(labels[0].text, 12)
    assert all(b - a >= between for a, b in pairwise(places))


def test_bars_are_as_long_as_their_numbers_left_of_zero_and_right_of_it():
    values = {"estimate": [1.5, -0.5, 0.0], "truth": [3.0, -1.0, 0.25]}
    picture = parsed(Bars(TITLE, ["a", "b", "c"], values).svg())
    zero = float(re.match(r"M([\d.]+) ", next(picture.iter(f"{SVG}path")).get("d"))[1])
    groups = [e for e in picture.iter(f"{SVG}g") if e.find(f"{SVG}title") is not None]
    ordered = [value for row in zip(*values.values(), strict=True) for value in row]
    lengths = [float(e.find(f"{SVG}rect").get("width")) for e in groups]
    unit = lengths[1] / 3.0
    for group, length, value in zip(groups, lengths, ordered, strict=True):
        x = float(group.find(f"{SVG}rect").get("x"))
        assert length == pytest.approx(abs(value) * unit, abs=0.11)
        assert x == pytest.approx(zero + min(value, 0) * unit, abs=0.11)
        assert float(group.find(f"{SVG}text").text.replace("−", "-")) == value
    assert told(picture)[:2] == ["a · estimate: 1.5", "a · truth: 3"]
    assert {"estimate", "truth"} <= set(texts(picture))


def test_what_is_not_finite_is_told_in_words():
    figure = Bars(TITLE, ["a", "b", "c"], {"": [math.nan, math.inf, -math.inf]})
    assert {"not a number", "infinite", "minus infinite"} <= set(texts(parsed(figure.svg())))
    assert {"不是数", "无穷大", "负无穷大"} <= set(texts(parsed(figure.svg("zh"))))


def points(picture):
    return [
        [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        for line in picture.iter(f"{SVG}polyline")
    ]


def test_curves_go_through_their_numbers_and_marks_say_them():
    x, y = [0.0, 1.0, 4.0], np.array([2.0, -6.0, 10.0])
    picture = parsed(Lines(TITLE, x, {"a": y}).svg())
    (line,) = points(picture)
    across, up = np.array(line).T
    assert np.allclose(np.diff(across) / np.diff(across).sum(), np.diff(x) / 4, atol=1e-3)
    assert np.allclose((up - up[0]) / (up[2] - up[0]), (y - 2) / 8, atol=2e-3)
    assert up[2] < up[0] < up[1]
    assert told(picture) == ["a: 0 → 2", "a: 1 → −6", "a: 4 → 10"]


def test_runs_are_their_mean_in_a_shadow_from_lowest_to_highest():
    runs = np.array([[1.0, 4.0], [3.0, 8.0]])
    picture = parsed(Lines(TITLE, [1, 2], {"a": runs, "mean": runs.mean(axis=0)}).svg())
    mean, same = points(picture)
    assert mean == same
    shadow = next(picture.iter(f"{SVG}polygon")).get("points").split()
    heights = sorted({float(point.split(",")[1]) for point in shadow})
    unit = (heights[-1] - heights[0]) / 7
    assert np.allclose(heights, [heights[0] + unit * (8 - v) for v in (8, 4, 3, 1)], atol=0.11)


def test_on_a_logarithmic_axis_equal_ratios_are_equal_ways():
    picture = parsed(Lines(TITLE, [1, 10, 100], {"a": np.array([1e-3, 1e-6, 1e-9])}, "h", "e", True, True).svg())
    across, up = np.array(points(picture)[0]).T
    assert np.diff(across) == pytest.approx(np.diff(across)[0], abs=0.11)
    assert np.diff(up) == pytest.approx(np.diff(up)[0], abs=0.11)
    assert {"10", "10⁻⁶"} <= set(texts(picture))


def test_what_has_no_place_on_an_axis_is_a_gap():
    picture = parsed(Lines(TITLE, range(5), {"a": np.array([1, 2, math.nan, 3, 4.0])}).svg())
    assert [len(piece) for piece in points(picture)] == [2, 2]
    picture = parsed(Lines(TITLE, range(5), {"a": np.array([1, 2, 0, 3, -4.0])}, y_log=True).svg())
    assert [len(piece) for piece in points(picture)] == [2, 1]


def test_curves_can_be_told_apart_without_colour():
    picture = parsed(Lines(TITLE, [1, 2], {f"c{n}": np.array([n, n + 1.0]) for n in range(12)}).svg())
    looks = [(e.get("stroke-dasharray"), e.get("points") and "") for e in picture.iter(f"{SVG}polyline")]
    marks = [e.get("d") for e in picture.iter(f"{SVG}path") if e.find(f"{SVG}title") is not None][::2]
    assert len(set(zip(looks, marks, strict=True))) == 12


@pytest.mark.parametrize("start", [0.0, 9.0])
def test_names_at_the_ends_of_curves_do_not_touch_nor_leave_the_plot(start):
    picture = parsed(Lines(TITLE, [1, 2], {f"c{n}": np.array([start, 1 + n / 100]) for n in range(9)}).svg())
    heights = sorted(float(e.get("y")) for e in picture.iter(f"{SVG}text") if (e.text or "").startswith("c"))
    shapes = " ".join(element.get("d") for element in picture.iter(f"{SVG}path"))
    top, bottom = (float(height) for height in re.search(r"M[\d.]+ ([\d.]+)V([\d.]+)H", shapes).groups())
    assert len(heights) == 9
    assert all(b - a >= 15.9 for a, b in pairwise(heights))
    assert top <= heights[0]
    assert heights[-1] <= bottom + 5


def test_titles_and_labels_are_in_the_language_that_was_asked_for():
    row, column = Words("asks", "询问"), Words("is asked", "被问")
    for figure in (
        Grid(TITLE, [row], [column], np.ones((1, 1))),
        Bars(TITLE, [row], {column: [1.0]}),
        Lines(TITLE, [1, 2], {row: np.array([1.0, 2.0])}, column),
        Table(TITLE, [row], [[column]]),
    ):
        for language, expected in (
            ("en", {"What it looks at", "asks", "is asked"}),
            ("zh", {"它看哪里", "询问", "被问"}),
        ):
            assert expected <= set(texts(parsed(figure.svg(language))))
            assert parsed(figure.svg(language)).get("lang") == language
        assert figure._repr_svg_() == figure.svg("en")


@pytest.mark.parametrize(
    "figure",
    [Grid(TITLE, [], ["a"], np.zeros((0, 1))), Bars(TITLE, [], {}), Bars(TITLE, ["a"], {}), Lines(TITLE, [], {}),
     Lines(TITLE, [1], {"a": np.array([math.nan])}), Table(TITLE, ["a"], []), Table(TITLE, [], []),
     WordLinks(TITLE, [], ["a"], {"p": np.ones((0, 1))})],
)  # fmt: skip
def test_what_is_empty_says_so(figure):
    assert "nothing to show" in texts(parsed(figure.svg()))
    assert "没有可显示的内容" in texts(parsed(figure.svg("zh")))


def test_shapes_that_do_not_fit_are_named():
    for make, both in (
        (lambda: Grid(TITLE, ["a"], ["b", "c"], np.ones((2, 2))), ["(2, 2)", "1 rows and 2 columns"]),
        (lambda: Grid(TITLE, ["a"], ["b"], np.ones((1, 1)), np.ones((1, 2), bool)), ["hidden", "(1, 2)"]),
        (lambda: Bars(TITLE, ["a"], {"g": [1.0, 2.0]}), ["2 numbers in the group 'g'", "1 labels"]),
        (lambda: Lines(TITLE, [1, 2], {"c": np.ones((4, 3))}), ["'c'", "(4, 3)", "2 places"]),
        (lambda: Table(TITLE, ["a"], [["b"], ["c", "d"]]), ["2 cells in row 1", "1 columns"]),
        (lambda: WordLinks(TITLE, ["a"], ["b"], {"p": np.ones((2, 1))}), ["'p'", "(2, 1)", "1 words that ask"]),
    ):
        with pytest.raises(mg.ShapeError) as error:
            make()
        assert all(part in str(error.value) for part in both)


@given(st.text(), st.floats(20, 400))
def test_lines_are_no_wider_than_asked_for_and_lose_no_word(text, most):
    text = said(text, "en")
    assert width(shortened(text, 12, most), 12) <= most or shortened(text, 12, most) == "…"
    lines = wrapped(text, 12, most)
    assert all(width(line, 12) <= most + 24 for line in lines)
    if not any("…" in line for line in lines):
        assert "".join("".join(lines).split()) == "".join(text.split())
