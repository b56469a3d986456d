"""An engine that fails, or takes too long, gets less to draw."""

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing import Drawing, DrawingWarning, Engine, LayoutError
from tests.minigrad.drawing.samples import Stack


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with a #! line")
def test_an_engine_out_of_time_gets_a_graph_folded_one_level_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "dot"
    slow.write_text(
        f"#!{sys.executable}\nimport sys, time\n"
        "if sys.argv[1:] == ['-V']:\n    print('dot - graphviz version 12.2.1 (x)', file=sys.stderr)\n    sys.exit()\n"
        "text = sys.stdin.read()\n"
        "if text.count('label=<') > 14:\n    time.sleep(60)\n"
        "print('<svg xmlns=\"http://www.w3.org/2000/svg\"><text>' + ('Folded' if 'Folded further' in text else '') "
        "+ '</text></svg>')\n"
    )
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("MINIGRAD_DOT", str(slow))
    drawing = mg.draw(Stack(6)(np.ones((2, 8), np.float32)), repeats=False)
    with pytest.warns(DrawingWarning, match="folded one level"):
        assert b"Folded" in drawing.render("svg", seconds=1.0)


def failing(monkeypatch: pytest.MonkeyPatch, *calls: int) -> list[str]:
    """The DOT texts given to an engine that fails at these calls, counted from 1; at all of them, if none is named."""
    given: list[str] = []
    real = Engine.run

    def run(self: Engine, source: str, form: str, *rest: object) -> bytes:
        given.append(source)
        if not calls or len(given) in calls:
            raise LayoutError("out of paper")
        return real(self, source, form, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "run", run)
    return given


def layered() -> Drawing:
    """A picture with several coarser ones: of a model's layers, their modules, and the steps in these."""
    with mg.unfused():
        return mg.draw(Stack(12)(np.ones((2, 8), np.float32)), repeats=False)


def test_each_format_is_folded_from_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = layered()
    given = failing(monkeypatch, 1, 3)
    with pytest.warns(DrawingWarning, match="out of paper"):
        drawing.render("png")
    with pytest.warns(DrawingWarning, match="out of paper"):
        drawing.render("svg")
    first, second, *again = given
    assert again == [first, second]  # not a level further than the format before
    assert first == drawing.source
    assert first.count("label=<") > second.count("label=<")


def test_a_picture_that_failed_can_be_tried_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = layered()
    with monkeypatch.context() as broken:
        given = failing(broken)
        for _ in range(2):
            with pytest.warns(DrawingWarning), pytest.raises(LayoutError):
                drawing.render("svg")
        half = len(given) // 2
        assert given[:half] == given[half:]
        assert half > 2
        sizes = [len(text) for text in given[:half]]
        assert sizes == sorted(sizes, reverse=True)
    assert b"Folded" not in drawing.render("svg")


def test_a_picture_of_one_box_has_nothing_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = mg.draw(mg.Tensor(1.0, requires_grad=True))
    given = failing(monkeypatch)
    with pytest.raises(LayoutError, match="out of paper"):
        drawing.render("svg")
    assert len(given) == 1
