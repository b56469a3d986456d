from xml.etree import ElementTree

import pytest

from demos import graph
from minigrad.drawing import Drawing, collect

NAMES = ["attention.svg", "expression.svg", "figure1.svg"]


@pytest.fixture
def small(monkeypatch):
    """The paper's model takes two seconds: a narrow vocabulary will do here."""
    monkeypatch.setattr(graph, "VOCABULARY", 50)


def test_it_writes_three_valid_pictures_and_says_so(small, command, workplace) -> None:
    status, printed, complaints = command("graph", "--out", "pictures/new")
    assert (status, complaints) == (0, "")
    folder = workplace / "pictures" / "new"
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert all(name in printed for name in NAMES)
    assert "python -m demos train" in printed
    texts = {}
    for name in NAMES:
        root = ElementTree.parse(folder / name).getroot()
        texts[name] = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts["expression.svg"].count("value") == 10
    assert texts["expression.svg"].count("gradient") == 10
    assert {"softmax", "attention", "query.linear", "weight", "64×64"} <= set(texts["attention.svg"])
    assert "6×" in texts["figure1.svg"]
    assert any(text.startswith("d_model = 512, h = 8, N = 6") for text in texts["figure1.svg"])


def test_it_overwrites_what_it_wrote_and_nothing_else(small, command, workplace) -> None:
    assert command("graph", "--out", "out")[0] == 0
    assert command("graph", "--out", "out", "--seed", "3")[0] == 0
    edited = workplace / "out" / "attention.svg"
    edited.write_text(edited.read_text().replace("softmax", "SOFTMAX"))
    before = {path.name: path.read_bytes() for path in (workplace / "out").iterdir()}
    status, printed, complaint = command("graph", "--out", "out")
    assert (status, printed) == (2, "")
    assert complaint.count("\n") == 1
    assert "attention.svg" in complaint
    assert "expression.svg" not in complaint
    assert {path.name: path.read_bytes() for path in (workplace / "out").iterdir()} == before


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_numbers(small, command, workplace) -> None:
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert command("graph", "--out", out, "--seed", seed)[0] == 0
    a, b, c = ([(workplace / out / name).read_bytes() for name in NAMES] for out in "abc")
    assert a == b
    assert [one == other for one, other in zip(a, c, strict=True)] == [True, False, True]  # as --help says


@pytest.mark.parametrize("out", ["a file", "a file/below"])
def test_a_place_that_can_not_be_written_is_one_line(out, command, workplace) -> None:
    (workplace / "a file").write_text("mine")
    status, printed, complaint = command("graph", "--out", out)
    assert (status, printed) == (2, "")
    assert complaint.startswith("error: ")
    assert complaint.count("\n") == 1


def test_without_an_engine_it_says_what_to_install_before_it_draws(command, workplace, monkeypatch) -> None:
    monkeypatch.setenv("MINIGRAD_DOT", "/nowhere/dot")
    status, printed, complaint = command("graph", "--out", "out")
    assert (status, printed) == (2, "")
    assert "MINIGRAD_DOT" in complaint
    assert not (workplace / "out").exists()


def test_an_engine_out_of_time_is_one_line(small, command, monkeypatch) -> None:
    status, _, complaint = command("graph", "--out", "out", "--max-seconds", "0.0001")
    assert status == 2
    assert complaint.splitlines()[-1].startswith("error: ")


def test_the_pictures_are_drawings_of_real_tensors() -> None:
    for draw in (graph.expression, graph.attention):
        assert isinstance(draw(0), Drawing)


@pytest.mark.parametrize("seed", range(40))
def test_every_value_and_gradient_of_the_expression_s_leaves_is_worth_reading(seed) -> None:
    leaves = [vertex for vertex in collect(graph.neuron(seed), gradients=True).vertices if not vertex.operation]
    assert [leaf.name for leaf in leaves] == ["x1", "w1", "x2", "w2", "b"]
    for leaf in leaves:
        assert 0.0999 < abs(leaf.value) < 1.0001
        assert abs(leaf.gradient) > 1e-4
