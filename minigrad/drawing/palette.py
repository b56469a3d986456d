"""The one visual language of all pictures: a colour pair per kind of thing, and the greys around them.

A pair is (fill, line). Every text has a contrast of at least 4.5:1 on what it stands on, every line 3:1 (a test
computes them).
"""

from colorsys import hls_to_rgb, rgb_to_hls
from typing import Literal, NamedTuple

Kind = Literal["input", "operation", "output", "parameter", "constant", "module"]


class Pair(NamedTuple):
    """The two colours of a thing: of its surface, and of its outline."""

    fill: str
    line: str


NIGHT = 0.059
"""The luminance of dark paper, and 0.05."""

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


HEAT = (
    "#B35806", "#D17B27", "#E9A863", "#F7D3A8", "#F4F4F4", "#C9D9EC", "#93B5DB", "#6A9ACD", "#2F66A3",
)  # fmt: skip
"""From -1 to 1: orange below 0, blue above, each as strong as the number is big."""


def heat_colour(value: float) -> str:
    """The colour of a number from -1 to 1 in a heat map; a grey for NaN."""
    if not -1 <= value <= 1:
        return "#52606D"
    return HEAT[round((value + 1) / 2 * (len(HEAT) - 1))]


def dark(colour: str) -> str:
    """What stands for a colour `#rrggbb` on a dark ground: its hue, less vivid, with its contrasts to all others.

    The luminance L becomes NIGHT * 1.05 / (L + 0.05) - 0.05, which turns light and dark round and keeps the ratio of
    any two, (L + 0.05) / (M + 0.05); NIGHT - 0.05 is that of what was white.
    """
    hue, lightness, saturation = rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    wanted = min(NIGHT * 1.05 / (luminance(colour) + 0.05) - 0.05, 1.0)
    vivid = saturation * (0.45 if lightness > 0.7 else 0.8)
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if luminance(_hex(hue, middle, vivid)) < wanted else (low, middle)
    return _hex(hue, high, vivid)


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in hls_to_rgb(hue, lightness, saturation))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours `#RRGGBB`, from 1 to 21, as WCAG 2.2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of `#RRGGBB`, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
