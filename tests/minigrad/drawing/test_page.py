"""The page's file: it holds all it needs, nothing a user wrote gets out of its place, and everything can be seen.

tests/browser opens it in a real browser.
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.drawing.page import COLOURS, Picture, html, script_safe
from minigrad.drawing.palette import contrast, dark


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path: Path) -> None:
    x = mg.Tensor(3.0, requires_grad=True, name="x")
    page = mg.draw(x * x, title="A square").save(tmp_path / "x.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>A square</title>" in page
    links = set(re.findall(r"(?:https?:)?//[\w.]+[^\s\"'<\\]*", page))
    assert {link for link in links if link.startswith("http")} <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "default-src 'none'" in page
    assert not re.search(r"<(?:link|img|iframe|script)[^>]+(?:src|href)=\"(?!data:)", page)


def test_the_same_program_gives_the_same_page() -> None:
    def page() -> str:
        x = mg.Tensor(3.0, requires_grad=True, name="x")
        return mg.draw(mg.exp(x) * x, gradients=True).html()

    assert page() == page()


@given(st.text(max_size=30))
def test_whatever_a_user_wrote_stays_data(text: str) -> None:
    embedded = script_safe({"a": text})
    assert not re.search(r"[<>&\u2028\u2029]", embedded)
    assert json.loads(embedded) == {"a": text}
    page = html({"": Picture("<svg/>", details={"n0": {"title": text}})}, text)
    assert page.count("<script") == 2
    assert page.count("</script") == 2


def test_a_picture_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match=r"picture '' leads to 'a\.b', which is not there"):
        html({"": Picture("<svg/>", opens={"n0": "a.b"})}, "")
    with pytest.raises(ValueError, match="leads to 'c'"):
        html({"": Picture("<svg/>", closes={"c0": "c"})}, "")


@pytest.mark.parametrize("turned", [str, dark], ids=["light", "dark"])
def test_the_pages_own_colours_can_be_told_apart(turned) -> None:  # type: ignore[no-untyped-def]
    shades = {name: turned(colour) for name, colour in COLOURS.items()}
    for ground in (shades["paper"], shades["panel"]):
        assert min(contrast(shades[name], ground) for name in ("text", "quiet", "accent")) >= 4.5
        assert min(contrast(shades[name], ground) for name in ("line", "found", "arrow")) >= 3
