"""What README shows is what runs: its Python sessions, its pictures, its links."""

import doctest
import re
from pathlib import Path

import pytest

from demos import gallery
from minigrad.operation import TABLE

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md")


@pytest.fixture
def table_restored():
    """Operations that an example defines go from the table again."""
    before = dict(TABLE)
    yield
    TABLE.clear()
    TABLE.update(before)


@pytest.mark.parametrize("name", READMES)
def test_every_python_session_prints_what_the_readme_says(name, table_restored):
    text = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL))
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert results.attempted > 10
    assert not results.failed


@pytest.mark.parametrize("name", READMES)
def test_every_link_and_picture_is_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    assert len(targets) > 10
    assert not [target for target in targets if not (ROOT / target).exists()]


def test_both_readmes_have_the_same_commands_and_sessions():
    def blocks(name):
        found = re.findall(r"```\w*\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
        return [re.sub(r"\s+#.*", "", block) for block in found]

    assert blocks("README.md") == blocks("README.zh.md")


@pytest.mark.parametrize("name", ["expression", "figure1"])
def test_the_pictures_are_those_that_the_command_draws(name, command, workplace, monkeypatch):
    monkeypatch.delenv("MINIGRAD_DOT", raising=False)  # another engine's pictures differ in their bytes
    status, _, _ = command("graph", "--out", "drawn")
    assert status == 0
    drawn = (workplace / "drawn" / f"{name}.svg").read_bytes()
    assert drawn == (ROOT / "docs" / f"{name}.svg").read_bytes(), f"docs/{name}.svg is old: draw it anew"


def test_the_backward_figure_is_the_gallerys(monkeypatch):
    monkeypatch.delenv("MINIGRAD_DOT", raising=False)
    kept = (ROOT / "docs" / "figure1-backward.svg").read_bytes()
    assert kept.startswith(gallery.figure(0, "backward").render("svg")), (
        "docs/figure1-backward.svg is old: draw it anew"
    )
