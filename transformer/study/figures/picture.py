"""What all figures share: paper, title, words for who does not see it, and one style sheet.

A figure is put into a page as it is, beside others of its kind, so it has no ids, and its style sheet speaks of classes
`sf-...` alone, each of which means the same in every figure. Numbers become coordinates in `grid.py`, `bars.py`, ...;
how they look is in `style.css.jinja` and the templates of the same names.
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from transformer.study.figures.words import NOTHING, Label, Language, said, wrapped

if TYPE_CHECKING:
    import jinja2

MARGIN, NARROWEST = 14, 280
FONT, TITLE, LINE = 12, 15, 20
BOLD = 1.08  # how much wider a bold text is
SERIES = ("#2F6FDB", "#A45A12", "#9A4590", "#2E7D4F", "#C2185B", "#52606D")
"""Colours of curves and groups, taken in turn, each with a contrast of 4.5 to the paper."""
STEPS = 16
"""Colours of a heat map from 0 to the greatest magnitude, and as many from 0 down."""
ODD = "odd"
"""The level of what has no place on the scale: NaN and infinities."""


def picture(
    file: str,
    title: Label,
    language: Language,
    size: tuple[float, float],
    spoken: str,
    levels: Iterable[int | str] = (),
    **facts: Any,
) -> str:
    """The SVG text of a figure.

    file: its template. size: of what it draws, width and height, below the title. spoken: the main numbers in words.
    levels: of the heat colours that it uses.
    """
    name = said(title, language)
    wide = max(size[0], NARROWEST)
    lines = wrapped(name, TITLE * BOLD, wide)
    top = MARGIN + LINE * len(lines) + 6
    return template(file).render(
        language=language, title=[(MARGIN + LINE * n + TITLE - 1, line) for n, line in enumerate(lines)],
        name=name, spoken=spoken, margin=MARGIN, top=top, width=wide + 2 * MARGIN, height=top + size[1] + MARGIN,
        style=style(tuple(sorted(set(levels), key=str))), **facts,
    )  # fmt: skip


def nothing(title: Label, language: Language) -> str:
    """The picture of a figure without numbers."""
    return picture("nothing.svg.jinja", title, language, (NARROWEST, 24), NOTHING.said(language))


def level(value: float, greatest: float) -> int | str:
    """The colour of a number in a heat map: from -STEPS to STEPS, or ODD."""
    if not abs(value) < float("inf"):
        return ODD
    return round(value / greatest * STEPS) if greatest else 0


def fill(of: int | str) -> str:
    """The colour of a level, `#RRGGBB`: between two of the palette's, linearly."""
    from minigrad.drawing import palette

    if isinstance(of, str):
        return palette.QUIET_TEXT
    place = (of + STEPS) / (2 * STEPS) * (len(palette.HEAT) - 1)
    low, part = int(place), place % 1
    pair = palette.HEAT[low], palette.HEAT[min(low + 1, len(palette.HEAT) - 1)]
    channels = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in pair]
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in zip(*channels, strict=True))


def ink(ground: str) -> str:
    """Black or white, whichever is better to be read on `ground`: its contrast is at least 4.58."""
    from minigrad.drawing.palette import contrast

    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, ground))


@cache
def style(levels: tuple[int | str, ...]) -> str:
    """The style sheet, with the heat colours of `levels`."""
    from minigrad.drawing import palette

    light = {of: fill(of) for of in levels}
    paper = {
        "text": palette.TEXT, "paper": palette.PAPER, "quiet": palette.QUIET_TEXT, "axis": palette.ARROW,
        "rule": "#DDE3E9", "hidden": "#F7F9FB",
    }  # fmt: skip
    shades = [
        ({name: shade(colour) for name, colour in paper.items()}, [shade(colour) for colour in SERIES],
         {of: shade(colour) for of, colour in light.items()})
        for shade in (str, palette.dark)
    ]  # fmt: skip
    return template("style.css.jinja").render(shades=shades, ink=ink).strip()


def template(file: str) -> "jinja2.Template":
    """One of the templates beside this file. What is put into it is escaped."""
    return _environment().get_template(file)


@cache
def _environment() -> "jinja2.Environment":
    import jinja2  # only here: whoever draws nothing need not wait for it

    folder = resources.files(__package__)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["at"] = at
    return environment


def at(coordinate: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{round(coordinate, 1) + 0.0:g}"
