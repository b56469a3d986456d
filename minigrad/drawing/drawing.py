"""Drawing: a picture, and what the layout engine makes of it."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minigrad.drawing.engine import FORMATS, LayoutError, find_engine
from minigrad.drawing.svg import finish
from minigrad.errors import DrawingError


class DrawingWarning(UserWarning):
    """A picture shows less than was asked for."""


@dataclass(frozen=True)
class Links:
    """How the boxes of a picture lead to other pictures of the same graph, each with a name: "" for the first.

    views: makes the picture of a name: that of a module, which is open in it. opens: by a box's id, the name of the
    picture in which it is open; closes: by a cluster's id, that of the picture in which it is one box. details: by a
    box's id, what a reader may want to know of it, as plain JSON values.
    """

    views: Mapping[str, Callable[[], "Drawing"]] = field(default_factory=dict)
    opens: Mapping[str, str] = field(default_factory=dict)
    closes: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Drawing:
    """A picture: DOT text, and what the layout engine makes of it.

    source: the DOT text. title, description: what it shows, in words. texts: per id in `source`, the words for it.
    placed: whether the source holds every position, so that nothing is to be laid out.
    coarser: gives the same with less detail, for an engine that fails or takes too long; None where nothing does.
    links: tells, when asked, what else there is to see and how its boxes lead there; for a page.

    A notebook shows it as SVG. `print(drawing.source)` for the DOT text, `drawing.save("x.svg")` for a file.
    """

    def __init__(
        self,
        source: str,
        title: str,
        description: str = "",
        texts: Mapping[str, str] | None = None,
        placed: bool = False,
        coarser: Callable[[], "Drawing"] | None = None,
        links: "Callable[[], Links] | None" = None,
    ) -> None:
        self.source = source
        self.title = title
        self.description = description
        self.texts = dict(texts or {})
        self.placed = placed
        self.links = links or Links
        self._coarser = coarser
        self._rendered: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<Drawing: {self.title}>"

    def render(self, form: str, seconds: float = 20.0, engine: str | None = None) -> bytes:
        """The picture as "svg", "png" or "pdf". engine: the program to use, by name or path; see `drawing.engine`.

        An engine that takes longer than `seconds` is stopped. Then, and where the engine fails, the graph is folded one
        level further, with a DrawingWarning and a line in the picture. Raises DrawingError where no engine can do it.
        """
        key = f"{form} {engine or ''}"
        if key not in self._rendered:
            self._rendered[key] = self._render(form, seconds, engine)
        return self._rendered[key]

    def _render(self, form: str, seconds: float, engine: str | None) -> bytes:
        program = find_engine(form, self.source if form == "png" else "", engine)
        try:
            picture = program.run(self.source, form, self.placed, seconds)
        except LayoutError as error:
            if self._coarser is None:
                raise
            warnings.warn(
                f"the picture is folded one level further than asked for: {error}",
                DrawingWarning,
                stacklevel=4,
            )
            return self._coarser().render(form, seconds, engine)
        return finish(picture, self.title, self.description, self.texts).encode() if form == "svg" else picture

    def save(self, path: str | Path, seconds: float = 20.0, engine: str | None = None) -> Path:
        """Write the picture to `path`; its ending says how: .svg, .png, .pdf, .html or .dot. Returns the path.

        Raises DrawingError for another ending and where no engine can do it; OSError where the file can't be written.
        """
        path = Path(path)
        form = path.suffix.lower().removeprefix(".")
        if form in ("dot", "gv"):
            path.write_text(self.source, encoding="utf-8")
        elif form in ("html", "htm"):
            path.write_text(self.html(seconds, engine), encoding="utf-8")
        elif form in FORMATS:
            path.write_bytes(self.render(form, seconds, engine))
        else:
            raise DrawingError(f"{path.name}: a picture is saved as .svg, .png, .pdf, .html or .dot")
        return path

    def svg(self) -> str:
        """The picture as SVG text, to be put into a page."""
        return self.render("svg").decode()

    def html(self, seconds: float = 20.0, engine: str | None = None) -> str:
        """A page of this picture and all that it leads to, in one file: modules can be opened and folded in it."""
        from minigrad.drawing.page import Picture, html

        drawings = {"": self} | {name: make() for name, make in self.links().views.items()}
        pictures = {}
        for name, drawing in drawings.items():
            links = drawing.links()
            pictures[name] = Picture(
                drawing.render("svg", seconds, engine).decode(), links.opens, links.closes, links.details
            )
        return html(pictures, self.title)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows. Without an engine: the reason, and nothing breaks."""
        try:
            return {"image/svg+xml": self.svg(), "text/plain": repr(self)}
        except DrawingError as error:
            return {"text/plain": f"{self!r}\n{error}"}
