import re
from html.parser import HTMLParser

import pytest

import minigrad as mg
from demos.cheatsheet import checked as checking
from demos.cheatsheet.checked import CheckedRow
from demos.cheatsheet.examples import EXAMPLES
from demos.cheatsheet.sheet import header, lines, write_page
from minigrad.formulas import rows

ROWS = {row.name: row for row in rows()}
VOID = {"meta", "br"}


class Outline(HTMLParser):
    """The elements of a page, each closed by its own end tag."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.attributes = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def few(monkeypatch):
    """A table of a few rows, of every sort."""
    names = ("divide", "concatenate", "max", "power_constant", "softmax", "where")
    monkeypatch.setattr(checking, "rows", lambda: iter([ROWS[name] for name in names]))
    return names


def test_every_row_has_an_example_and_every_example_a_row():
    assert set(EXAMPLES) == set(ROWS), "add a line to demos/cheatsheet/examples.py for each row of the table"


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_runs_its_row(name):
    example, row = EXAMPLES[name], ROWS[name]
    call = example.call if example.call is not None else row.operation
    inputs = [mg.Tensor(operand, requires_grad=True) for operand in example.operands(0)]
    output = call(*inputs, **example.params)
    names = {step.node.primitive.name for step in mg.walk(output.sum()) if step.node.primitive is not None}
    assert name in names


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_row_is_right(seed):
    found = list(checking.checked_rows(seed))
    assert [(row.row.name, row.wrong) for row in found if row.wrong] == []
    assert all(row.error is not None and row.error < 1e-7 for row in found)


def test_the_sheet_is_printed_plain_with_every_row_and_what_was_measured(few, command):
    status, printed, complaints = command("rules")
    assert (status, complaints) == (0, "")
    assert "\x1b" not in printed
    assert all(line == line.rstrip() and len(line) <= 100 for line in printed.splitlines())
    assert [name for name in few if re.search(rf"^{name} +\S.* (exact|\de-\d\d)$", printed, re.MULTILINE)] == list(few)
    for told in ("dy = -g * (out / y)", "dx = out * (g - sum(g * out))", "ties share evenly", "reads condition"):
        assert told in printed
    assert "6 of 6 rows checked right" in printed


def test_a_row_without_an_example_is_shown_as_not_checked(few, command, monkeypatch):
    monkeypatch.delitem(EXAMPLES, "softmax")
    status, printed, complaints = command("rules")
    assert status == 0
    assert re.search(r"^softmax .* not checked$", printed, re.MULTILINE)
    assert "5 of 6 rows" in printed
    assert complaints == "note: not checked, for want of an example or of time: softmax\n"


def test_out_of_time_the_rest_is_shown_unchecked(few, command):
    status, printed, complaints = command("rules", "--max-seconds", "0.000001")
    assert status == 0
    assert "0 of 6 rows" in printed
    assert printed.count("not checked") == 6
    assert all(name in complaints for name in few)


def test_a_wrong_derivative_is_shown_and_ends_in_status_1(few, refused, command, workplace, monkeypatch):
    operation = ROWS["divide"].operation
    monkeypatch.setattr(operation, "functions", (operation.functions[0], lambda g, out, x, y: g))
    status, printed, complaint = command("rules", "--html", "sheet.html")
    assert (status, complaint) == (1, "error: the derivative is wrong of divide, softmax\n")  # whose definition divides
    assert re.search(r"^divide .* WRONG$", printed, re.MULTILINE)
    assert "4 of 6 rows" in printed
    assert "Wrong: divide, softmax." in (workplace / "sheet.html").read_text()


@pytest.mark.parametrize("width", [20, 60, 80, 100, 300])
def test_lines_keep_to_the_width_of_the_terminal(width):
    for name, row in ROWS.items():
        told = list(lines(CheckedRow(row, 1e-13, "a message " * 20), width))
        assert told[0][0].strip() == name
        assert [error.strip() for _, _, error, _ in told if error.strip()] == ["WRONG"]
        for name_part, middle, error, _ in told:
            assert len(name_part + middle + error) <= max(width, 56)
        said = "".join(middle for _, middle, _, _ in told).replace(" ", "")
        assert all(str(derivative).replace(" ", "") in said for derivative in row.derivatives)
    assert len(header(width)) <= max(width, 56)


def test_the_page_is_one_valid_file_without_scripts_or_links(few, command, workplace):
    status, printed, _ = command("rules", "--html", "new/sheet.html")
    assert status == 0
    assert "new/sheet.html" in printed.replace("\\", "/")
    page = (workplace / "new" / "sheet.html").read_text(encoding="utf-8")
    outline = Outline(page.partition("<!-- python")[0])
    assert {"script", "link", "img", "iframe"}.isdisjoint(outline.seen)
    assert not {key for key, _ in outline.attributes} & {"src", "href"}
    assert "http" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    for name in few:
        assert f'<tr id="{name}">' in page
    assert outline.seen.count("math") > 12
    assert "<mfrac><mi>g</mi><mi>y</mi></mfrac>" in page
    assert "<code>g[_part(parts, axis, position)]</code>" in page


def test_the_page_escapes_what_it_shows():
    row = CheckedRow(ROWS["divide"], None, "<b>&</b>")
    page = write_page([row], "<i>")
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in page


def test_a_page_is_overwritten_only_if_this_command_wrote_it(few, command, refused, workplace):
    assert command("rules", "--html", "sheet.html")[0] == 0
    assert command("rules", "--html", "sheet.html", "--seed", "3")[0] == 0
    page = workplace / "sheet.html"
    page.write_text(page.read_text().replace("operation", "OPERATION"))
    before = page.read_bytes()
    assert "sheet.html" in refused("rules", "--html", "sheet.html")
    assert page.read_bytes() == before
    (workplace / "folder").mkdir()
    refused("rules", "--html", "folder")
    refused("rules", "--html", "sheet.html/below")
    refused("micrograd", "--out", "sheet.html")


def test_on_a_terminal_the_sheet_has_colours(few, monkeypatch, capsys):
    from demos.rules import show

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(CheckedRow(ROWS["divide"], 1e-13), 80)
    printed = capsys.readouterr().out
    assert "\x1b[1mdivide" in printed
    assert "1e-13" in printed
