"""What comes out: files, and what a notebook or a screen reader gets."""

from pathlib import Path

import pytest

import minigrad as mg
from tests.minigrad.drawing.pictures import parsed
from tests.minigrad.drawing.samples import neuron


def test_in_a_notebook_it_scales_with_the_width_and_can_be_read_aloud() -> None:
    drawing = mg.draw(neuron(), title="A neuron")
    root = parsed(drawing)
    assert root.get("viewBox")
    assert "max-width:100%" in root.get("style", "")
    assert "height:auto" in root.get("style", "")
    title, description = root[0], root[1]
    assert (title.tag, title.text) == ("{http://www.w3.org/2000/svg}title", "A neuron")
    assert "tanh from add" in (description.text or "")
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    bundle = drawing._repr_mimebundle_()
    assert bundle["image/svg+xml"] == drawing._repr_svg_() == drawing.svg()
    tooltips = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert not any(text and text.startswith(("n0", "n1", "cluster")) for text in tooltips)
    assert any(text and text.startswith("tanh") for text in tooltips)


def test_in_a_notebook_without_an_engine_the_reason_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_DOT", "/nowhere/dot")
    assert "MINIGRAD_DOT" in mg.draw(neuron())._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize("ending", [".svg", ".png", ".dot", ".gv", ".SVG"])
def test_saved_as_its_ending_says(ending: str, tmp_path: Path) -> None:
    path = mg.draw(neuron()).save(tmp_path / f"picture{ending}")
    start = {".svg": b"<svg", ".png": b"\x89PNG", ".dot": b"digraph", ".gv": b"digraph"}[ending.lower()]
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["picture", "picture.gif", "picture.html.zip"])
def test_another_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(mg.DrawingError, match=r"\.svg, \.png, \.pdf, \.html or \.dot"):
        mg.draw(neuron()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_text_keeps_the_width_that_the_layout_gave_it() -> None:
    for text in parsed(mg.draw(neuron())).iter("{http://www.w3.org/2000/svg}text"):
        assert text.get("textLength") or len("".join(text.itertext())) == 1
        assert text.get("font-family") is None  # the picture's own list of fonts holds
