import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minigrad.drawing.palette import (
    ARROW,
    CLUSTERS,
    KINDS,
    PAPER,
    QUIET_TEXT,
    TEXT,
    contrast,
    dark,
    luminance,
)

colours = st.integers(0, 0xFFFFFF).map("#{:06x}".format)

SURFACES = [PAPER, *(pair.fill for pair in KINDS.values()), *(pair.fill for pair in CLUSTERS)]


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("surface", SURFACES)
def test_every_text_can_be_read_on_every_surface(surface: str) -> None:
    assert min(contrast(TEXT, surface), contrast(QUIET_TEXT, surface)) >= 4.5


@pytest.mark.parametrize("pair", [*KINDS.values(), *CLUSTERS])
def test_every_outline_and_arrow_can_be_seen(pair: tuple[str, str]) -> None:
    fill, line = pair
    assert contrast(line, fill) >= 3
    assert min(contrast(line, ground) for ground in (PAPER, *(cluster.fill for cluster in CLUSTERS))) >= 3
    assert min(contrast(ARROW, ground) for ground in (PAPER, *(cluster.fill for cluster in CLUSTERS))) >= 3


def test_badges_can_be_read() -> None:
    assert min(contrast(PAPER, KINDS[kind].line) for kind in ("operation", "output")) >= 4.5


@given(colours, colours)
def test_dark_colours_contrast_as_the_light_ones_do(one: str, other: str) -> None:
    assume(min(luminance(one), luminance(other)) > 0.02)  # black would be lighter than white
    assert contrast(dark(one), dark(other)) >= 0.9 * contrast(one, other)


@pytest.mark.parametrize(("fill", "line"), [*KINDS.values(), *CLUSTERS])
def test_in_the_dark_every_text_and_line_can_be_seen_too(fill: str, line: str) -> None:
    assert min(contrast(dark(text), dark(fill)) for text in (TEXT, QUIET_TEXT)) >= 4.5
    assert contrast(dark(line), dark(fill)) >= 3
    assert min(contrast(dark(colour), dark(PAPER)) for colour in (line, ARROW)) >= 3
