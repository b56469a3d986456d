import os
import stat
import sys
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.drawing import LayoutError, find_engine
from minigrad.drawing.engine import Engine, _asked, engines

DOT = "digraph { a -> b }"
SYSTEM_ANSWER = "dot - graphviz version 12.2.1 (20241206.2353)"


def program(folder: Path, name: str, answer: str, body: str = "") -> str:
    """A program that answers -V as `answer` on standard error, as dot does, and else runs `body`."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport sys, time\n"
        f"if sys.argv[1:] == ['-V']:\n    print({answer!r}, file=sys.stderr)\n    sys.exit(0)\n{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


needs_scripts = pytest.mark.skipif(os.name == "nt", reason="stand-ins are scripts with a #! line")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIGRAD_DOT", raising=False)
    _asked.cache_clear()


def test_the_wheel_brings_an_engine_where_the_path_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    engine = find_engine()
    assert "graphviz-pure" in engine.program
    assert b"<svg" in engine.run(DOT, "svg")
    assert engine.run(DOT, "png").startswith(b"\x89PNG")


@needs_scripts
def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = program(tmp_path, "my-dot", SYSTEM_ANSWER)
    monkeypatch.setenv("MINIGRAD_DOT", chosen)
    assert find_engine() == Engine(chosen, (12, 2), complete=True)


@needs_scripts
def test_what_the_caller_names_comes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_DOT", "/nowhere/dot")
    body = "sys.stdout.write('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"
    chosen = program(tmp_path, "my-dot", SYSTEM_ANSWER, body)
    picture = mg.draw(mg.Tensor(1.0, requires_grad=True) * 2)
    assert picture.save(tmp_path / "x.svg", engine=chosen).read_text().startswith("<svg")
    assert 'role="img"' in picture.html(engine=chosen).replace("\\", "")
    with pytest.raises(mg.DrawingError, match="engine='/nowhere/other' is no Graphviz"):
        picture.render("png", engine="/nowhere/other")


@needs_scripts
@pytest.mark.parametrize("answer", ["dot - graphviz version 2.26.3 (20100126.1600)", "DOT compiler 1.0", ""])
def test_a_choice_that_is_no_graphviz_is_refused_not_passed_over(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIGRAD_DOT", program(tmp_path, "my-dot", answer))
    with pytest.raises(mg.DrawingError, match="MINIGRAD_DOT"):
        find_engine()


def test_a_choice_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_DOT", "/nowhere/dot")
    with pytest.raises(mg.DrawingError, match="MINIGRAD_DOT=/nowhere/dot"):
        find_engine()


@needs_scripts
@pytest.mark.parametrize(("form", "text"), [("pdf", ""), ("png", "猫坐在垫子上")])
def test_what_the_wheel_can_not_goes_to_the_system(
    form: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = program(tmp_path, "dot", SYSTEM_ANSWER)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_engine(form, text).program == system
    assert find_engine("svg", text).program != system


@pytest.mark.parametrize(("form", "text", "named"), [("pdf", "", "PDF"), ("png", "a猫", "猫")])
def test_without_a_system_dot_it_says_what_to_install(
    form: str, text: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(mg.DrawingError, match=rf"{named}.*\.svg.*apt install graphviz"):
        find_engine(form, text)


def test_with_no_engine_at_all_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minigrad.drawing.engine._wheel_program", lambda: None)
    monkeypatch.setenv("PATH", "")
    assert list(engines()) == []
    with pytest.raises(mg.DrawingError, match="pip install graphviz-pure"):
        find_engine()


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(mg.DrawingError, match="gif"):
        find_engine("gif")


@needs_scripts
def test_an_engine_that_hangs_is_stopped(tmp_path: Path) -> None:
    engine = Engine(program(tmp_path, "dot", SYSTEM_ANSWER, "time.sleep(60)"), (12, 2), complete=True)
    with pytest.raises(LayoutError, match=r"within 0\.5 s"):
        engine.run(DOT, "svg", seconds=0.5)


@needs_scripts
def test_an_engine_that_fails_gives_its_reason_not_its_warnings(tmp_path: Path) -> None:
    body = "print('Warning: fonts\\nError: out of paper', file=sys.stderr)\nsys.exit(3)"
    engine = Engine(program(tmp_path, "dot", SYSTEM_ANSWER, body), (12, 2), complete=True)
    with pytest.raises(LayoutError, match=r"exit status 3.*out of paper"):
        engine.run(DOT, "svg")


@needs_scripts
def test_dot_s_ranking_fault_is_met_with_the_other_ranking(tmp_path: Path) -> None:
    body = (
        "if '-Gnewrank=true' in sys.argv:\n    print('<svg/>')\n"
        "else:\n    print('Error: trouble in init_rank', file=sys.stderr)\n    sys.exit(1)"
    )
    engine = Engine(program(tmp_path, "dot", SYSTEM_ANSWER, body), (12, 2), complete=True)
    assert engine.run(DOT, "svg") == b"<svg/>\n"


def test_broken_dot_is_an_error_with_the_engine_s_reason() -> None:
    with pytest.raises(LayoutError, match="failed"):
        find_engine().run("digraph {", "svg")


def test_a_placed_picture_keeps_its_places() -> None:
    source = 'digraph { graph [bb="0,0,200,100"]; a [pos="30,20!"]; b [pos="170,80!"]; a -> b }'
    plain = find_engine().run(source, "plain", placed=True).decode().splitlines()
    places = [[float(word) for word in line.split()[2:4]] for line in plain if line.startswith("node")]
    assert places[1][0] - places[0][0] == pytest.approx(140 / 72, abs=0.01)
    assert places[1][1] - places[0][1] == pytest.approx(60 / 72, abs=0.01)
