"""The gallery: every kind of picture, written once, and a page that shows them."""

from xml.etree import ElementTree

import pytest

from demos import gallery


@pytest.fixture
def short(monkeypatch):
    """The pictures that are drawn at once, and a chain that is soon made."""
    monkeypatch.setattr(gallery, "CHAIN", 100)
    quick = (
        "expression-backward.svg",
        "values.svg",
        "attention-backward.svg",
        "llama.svg",
        "figure1.html",
        "chain.svg",
    )
    everything = list(gallery.collection())
    monkeypatch.setattr(gallery, "collection", lambda: [piece for piece in everything if piece.file in quick])
    return quick


def test_every_piece_is_written_and_shown(short, command, workplace):
    status, printed, complaints = command("gallery", "--out", "g")
    assert (status, complaints) == (0, "")
    folder = workplace / "g"
    assert {path.name for path in folder.iterdir()} == {*short, "index.html"}
    page = (folder / "index.html").read_text("utf-8")
    for name in short:
        assert f'href="{name}"' in page
        assert name in printed
        if name.endswith(".svg"):
            assert f'src="{name}"' in page
            ElementTree.parse(folder / name)
    assert "sum of" in (folder / "attention-backward.svg").read_text("utf-8")
    assert command("gallery", "--out", "g")[0] == 0  # its own files are written anew


def test_a_file_from_elsewhere_stays(short, refused, workplace):
    (workplace / "g").mkdir()
    (workplace / "g" / "values.svg").write_text("mine")
    assert "values.svg: not as this command wrote it" in refused("gallery", "--out", "g")
    assert (workplace / "g" / "values.svg").read_text() == "mine"


def test_no_two_pieces_are_one_file():
    files = [piece.file for piece in gallery.collection()]
    assert len(set(files)) == len(files)
    assert all(file.endswith((".svg", ".html")) for file in files)
