"""The one HTML viewer: pictures of one thing that lead to each other, in one file that needs nothing else.

The pictures are laid out beforehand; the browser only shows one of them at a time. The file works from disk, asks the
network for nothing (its own policy forbids it), follows the reader's dark mode, and can be used without a mouse.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from minigrad.drawing.palette import ARROW, CLUSTERS, KINDS, PAPER, QUIET_TEXT, TEXT, dark

if TYPE_CHECKING:
    import jinja2

COLOURS = {
    "paper": PAPER, "text": TEXT, "quiet": QUIET_TEXT, "line": CLUSTERS[0].line, "panel": CLUSTERS[0].fill,
    "accent": KINDS["parameter"].line, "found": KINDS["operation"].line, "arrow": ARROW,
}  # fmt: skip
"""The page's own colours, by their names in the style sheet; `dark` turns each for dark mode."""


@dataclass(frozen=True)
class Picture:
    """One picture of a page.

    svg: its text. opens: by a box's id in it, the name of the picture in which that box is open. closes: by a
    cluster's id, the name of the picture in which it is one box. details: by a box's id, what is told of it: "title",
    "path", "operation", "formula", "shape", "value", "gradient", "saved", "source", plain JSON values.
    """

    svg: str
    opens: Mapping[str, str] = field(default_factory=dict)
    closes: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def html(pictures: Mapping[str, Picture], title: str) -> str:
    """The page. pictures: by name; "" is shown first, "." is the overview, others are module paths.

    Raises ValueError for a name that a picture leads to and that is not there.
    """
    for name, picture in pictures.items():
        for target in (*picture.opens.values(), *picture.closes.values()):
            if target not in pictures:
                raise ValueError(f"picture {name!r} leads to {target!r}, which is not there")
    folder = files(__name__)
    body, style, script = ((folder / f"viewer.{end}").read_text("utf-8") for end in ("html.jinja", "css", "js"))
    body = environment().from_string(body).render(title=title)
    return shell(title, body, style, script, {name: asdict(picture) for name, picture in pictures.items()}, COLOURS)


def shell(title: str, body: str, style: str, script: str, data: Any, colours: Mapping[str, str]) -> str:
    """A whole page in one file, which asks the network for nothing: its own policy forbids it.

    body, style, script: HTML, CSS, JavaScript. data: what the script finds as JSON in the element `data`.
    colours: by their names as CSS variables; `dark` turns each for dark mode.
    """
    folder = files(__name__)
    page = environment().from_string((folder / "shell.html.jinja").read_text("utf-8"))
    return page.render(
        title=title,
        colours=colours,
        night={name: dark(colour) for name, colour in colours.items()},
        style=(folder / "shell.css").read_text("utf-8") + style,
        body=body,
        script=script,
        data=script_safe(data),
    )


def environment() -> "jinja2.Environment":
    """How the templates of pages are read: every text in them is escaped, and a name that is missing is an error."""
    import jinja2

    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def script_safe(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or begins a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
