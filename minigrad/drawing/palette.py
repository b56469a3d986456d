"""The one visual language of all pictures: a colour pair per kind of thing, and the greys around them.

A pair is (fill, line). Every text has a contrast of at least 4.5:1 on what it stands on, every line 3:1 (a test
computes them).
"""

from typing import Literal, NamedTuple

Kind = Literal["input", "operation", "output", "parameter", "constant", "module"]


class Pair(NamedTuple):
    """The two colours of a thing: of its surface, and of its outline."""

    fill: str
    line: str


PAPER = "#FFFFFF"
TEXT = "#1B2733"
QUIET_TEXT = "#52606D"
ARROW = "#546778"

KINDS: dict[Kind, Pair] = {
    "input": Pair("#DDF2E3", "#2E7D4F"),
    "operation": Pair("#FFF1DC", "#A45A12"),
    "output": Pair("#F4E1F1", "#9A4590"),
    "parameter": Pair("#DCE8F8", "#3B6CAB"),
    "constant": Pair("#E9EDF1", "#66788A"),
    "module": Pair("#E6E6F7", "#5F5FB8"),
}
CLUSTERS = (Pair("#F7F9FB", "#75869A"), Pair("#EDF2F7", "#75869A"))
"""The surfaces of nested modules, by turns."""


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours `#RRGGBB`, from 1 to 21, as WCAG 2.2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of `#RRGGBB`, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
