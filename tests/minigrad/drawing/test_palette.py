import pytest

from minigrad.drawing.palette import ARROW, CLUSTERS, KINDS, PAPER, QUIET_TEXT, TEXT, contrast

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
