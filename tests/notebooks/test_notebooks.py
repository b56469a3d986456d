"""The tutorial notebooks: kept clean, and run from top to bottom, each in a kernel of its own.

Outside a plain `pytest`: `pip install '.[notebooks]'`, then `pytest tests/notebooks`.
"""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "demos" / "notebooks"
CELL_SECONDS = 600
PICTURE = "image/svg+xml"
TO_CLEAN = (
    "clean it: jupyter nbconvert --clear-output --ClearMetadataPreprocessor.enabled=True --inplace "
    "demos/notebooks/*.ipynb"
)

# What a reader must find in a notebook that ran: how many pictures, and sentences (regular expressions) in its text.
SHOWN = {
    "1-backprop-in-ten-lines": (
        4,
        [
            r"12 doublings: gradient +4096, +8191 calls",
            r"in the order of meeting: 15\.0 +true: 33\.0",
            r"in topological order: 33\.0 +true: 33\.0",
            r"holds +33\.0, hands on \[\]",
            r"best step in float64: 1e-0[456]",
            r"found: cube: input 0 at \(0,\): expected",
            r"x \* y +dy = g \* x",
            r"right: \d{2,3}\.\d% of 178 points",
        ],
    ),
    "2-attention-by-hand": (
        11,
        [
            r"d = 1024 +variance +(9|10)\d\d\.\d +with the division [01]\.\d{3}",
            *(rf"d{name}: \S+ off the tape, \S+ off the differences" for name in "VPSQK"),
            r"hidden cells: dP up to 0\.\d+ +dS 0\.0",
            r"right: \['love0' 'love1' 'love2'\]",
            r"residual +0\.\d+\ntheir sum is the gradient",
            r"parameters, [\d,]+ numbers: \S+ off the tape",
        ],
    ),
    "3-train-and-look-inside": (
        11,
        [
            r"step 800 of 800 +loss 0\.\d+ +exact match +\d+\.\d%",
            r"exact match on 500 unseen strings: \d+\.\d%",
            r"head 4: 0\.\d\d of its weight on the mirror place",
            r"most of a mirror: Head\(attention='decoder\.layers\.0\.cross_attention', number=\d\)",
            r"cross +without one head:( +\d+\.\d%){4}",
            r"what was foretold and what happened: -?[01]\.\d\d",
            r"value +\d\.\d+\ntheir sum is the gradient",
            r"Leaks\(none: all \d+ blocks that must be 0 are",
        ],
    ),
}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder to run in; what Jupyter keeps goes to another, and what a user keeps for it is not seen."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_is_run():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_kept_holds_no_output_and_nothing_of_who_wrote_it(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.metadata == {"language_info": {"name": "python"}}, TO_CLEAN
    for cell in notebook.cells:
        assert cell.metadata == {}, TO_CLEAN
    for cell in code_cells(notebook):
        assert cell.outputs == [], TO_CLEAN
        assert cell.execution_count is None, TO_CLEAN


@pytest.mark.parametrize("name", SHOWN)
def test_its_file_is_as_jupyter_writes_it(name):
    """So that saving it anew changes nothing but what was changed."""
    assert (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8") == nbformat.writes(read(name)) + "\n", TO_CLEAN


@pytest.mark.parametrize("name", SHOWN)
def test_every_link_leads_somewhere(name):
    text = "\n".join(cell.source for cell in read(name).cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert targets
    assert not [target for target in targets if not (FOLDER / target).exists()]


@pytest.mark.parametrize("name", SHOWN)
def test_it_runs_without_a_complaint_and_shows_what_it_speaks_of(name, elsewhere):
    notebook = read(name)
    place = {"metadata": {"path": str(elsewhere)}}
    NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=place).execute()
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    complaints = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not complaints
    pictures, sentences = SHOWN[name]
    assert sum(PICTURE in output.get("data", {}) for output in outputs) == pictures
    text = "".join(output.text for output in outputs if output.get("name") == "stdout")
    assert not [sentence for sentence in sentences if not re.search(sentence, text)], text
    assert list(elsewhere.iterdir()) == []  # nothing is left behind
