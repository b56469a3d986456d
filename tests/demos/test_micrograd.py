from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from demos import micrograd
from demos.pictures.moons import make_moons, regions

SVG = "{http://www.w3.org/2000/svg}"


def test_the_lesson_tells_the_numbers_and_writes_two_valid_pictures(command, workplace):
    status, printed, complaints = command("micrograd", "--out", "new/lesson")
    assert (status, complaints) == (0, "")
    for line in ("c += 1 + c + (-a)", "g += 10.0 / f", "g      =  24.7041", "a.grad = 138.8338", "b.grad = 645.5773"):
        assert line in printed
    assert printed.index("d += 3 * d") < printed.index("step    loss  accuracy") < printed.index("never seen")
    folder = workplace / "new" / "lesson"
    assert sorted(path.name for path in folder.iterdir()) == ["moons.svg", "neuron.svg"]
    moons, neuron = (ElementTree.parse(folder / name).getroot() for name in ("moons.svg", "neuron.svg"))
    classes = [dot.get("class") for dot in moons.iter(f"{SVG}circle")]
    assert classes.count("dot plus") == classes.count("dot minus") == 101  # one of each explains the colours
    texts = ["".join(text.itertext()) for text in neuron.iter(f"{SVG}text")]
    assert texts.count("value") == texts.count("gradient") == 10


@pytest.mark.parametrize("seed", range(8))
def test_every_seed_learns_the_moons(seed):
    rng = np.random.default_rng(seed)
    points, labels = make_moons(200, 0.1, rng)
    unseen, unseen_labels = make_moons(200, 0.1, rng)
    with mg.default_dtype("float64"):
        network = micrograd.train(points, labels, rng, float("inf"))
    assert np.mean(np.sign(network(unseen).data) == unseen_labels) >= 0.97


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(command, workplace):
    told = [command("micrograd", "--out", out, "--seed", seed)[1].replace(out, "") for out, seed in
            (("aa", 1), ("bb", 1), ("cc", 2))]  # fmt: skip
    a, b, c = ([(workplace / out / name).read_bytes() for name in micrograd.FILES] for out in ("aa", "bb", "cc"))
    assert (a, told[0]) == (b, told[1])
    assert all(one != other for one, other in zip(a, c, strict=True))


def test_it_overwrites_what_it_wrote_and_nothing_else(command, refused, workplace):
    assert command("micrograd")[0] == 0
    assert command("micrograd", "--seed", "3")[0] == 0
    mine = workplace / "micrograd" / "neuron.svg"
    mine.write_text(mine.read_text().replace("neuron", "NEURON"))
    before = {path.name: path.read_bytes() for path in mine.parent.iterdir()}
    told = refused("micrograd")
    assert "neuron.svg" in told
    assert "moons.svg" not in told
    assert {path.name: path.read_bytes() for path in mine.parent.iterdir()} == before


@pytest.mark.parametrize("out", ["a file", "a file/below"])
def test_a_place_that_can_not_be_written_is_one_line(out, refused, workplace):
    (workplace / "a file").write_text("mine")
    refused("micrograd", "--out", out)


def test_out_of_time_it_stops_training_in_good_order_and_says_so(capsys):
    rng = np.random.default_rng(0)
    network = micrograd.train(*make_moons(20, 0.1, rng), rng, 0.0)
    printed, told = capsys.readouterr()
    assert "   0  " in printed
    assert told == "note: stopped after 0 of 200 steps: --max-seconds is over\n"
    assert network(np.zeros((3, 2))).shape == (3,)


def test_an_engine_that_gives_another_number_is_found_out(refused, monkeypatch):
    monkeypatch.setitem(micrograd.EXPECTED, "a.grad", 138.8339)
    assert refused("micrograd", status=1).startswith("a.grad: ")


def area(loop):
    x, y = np.array(loop).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def test_the_outline_of_a_disc_is_one_closed_circle_and_a_ring_has_two():
    columns, rows = np.linspace(-2, 2, 81), np.linspace(-2, 2, 81)
    radius = np.hypot(*np.meshgrid(columns, rows))
    (loop,) = regions(1 - radius, columns, rows)
    assert np.hypot(*np.array(loop).T) == pytest.approx(1, abs=1e-3)
    assert abs(area(loop)) == pytest.approx(np.pi, rel=1e-3)
    ring = list(regions(0.5 - np.abs(radius - 1), columns, rows))
    assert len(ring) == 2
    assert abs(sum(map(area, ring))) == pytest.approx(np.pi * (1.5**2 - 0.5**2), rel=1e-2)  # the hole counts backwards


def test_regions_of_random_scores_hold_what_is_above_and_nothing_else():
    rng = np.random.default_rng(0)
    columns, rows = np.arange(9.0), np.arange(7.0)
    for _ in range(30):
        scores = np.pad(rng.standard_normal((5, 7)), 1, constant_values=-1.0)  # at the very edge, who could say
        loops = [np.array(loop) for loop in regions(scores, columns, rows)]
        for (row, column), score in np.ndenumerate(scores):
            crossings = 0  # of a ray to the right, a little off the grid's line
            for loop in loops:
                x0, y0 = loop.T
                x1, y1 = np.roll(loop, -1, axis=0).T
                y = row + 1e-9
                across = (y0 > y) != (y1 > y)
                at = x0[across] + (y - y0[across]) / (y1 - y0)[across] * (x1 - x0)[across]
                crossings += int(np.sum(at > column))
            assert crossings % 2 == (score > 0)


def test_where_nothing_or_everything_is_above_there_is_no_or_one_region():
    columns, rows = np.arange(4.0), np.arange(3.0)
    assert list(regions(np.full((3, 4), -1.0), columns, rows)) == []
    assert len(list(regions(np.ones((3, 4)), columns, rows))) == 1
