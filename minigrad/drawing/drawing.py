"""`draw(tensor)`: a computation graph as a picture."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from minigrad.drawing.dot import write_dot
from minigrad.drawing.engine import FORMATS, LayoutError, find_engine
from minigrad.drawing.folding import DRAWABLE, READABLE, Folding, foldings
from minigrad.drawing.graph import Graph, collect
from minigrad.drawing.svg import finish
from minigrad.drawing.view import Flow, View, make_view
from minigrad.errors import DrawingError
from minigrad.tensor import Tensor


class DrawingWarning(UserWarning):
    """A picture shows less than was asked for."""


class Drawing:
    """A picture: DOT text, and what the layout engine makes of it.

    source: the DOT text. title, description: what it shows, in words. texts: per id in `source`, the words for it.
    placed: whether the source holds every position, so that nothing is to be laid out.
    coarser: gives the same with less detail, for an engine that fails or takes too long; None where nothing does.

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
    ) -> None:
        self.source = source
        self.title = title
        self.description = description
        self.texts = dict(texts or {})
        self.placed = placed
        self._coarser = coarser
        self._rendered: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<Drawing: {self.title}>"

    def render(self, form: str, seconds: float = 20.0) -> bytes:
        """The picture as "svg", "png" or "pdf".

        An engine that takes longer than `seconds` is stopped. Then, and where the engine fails, the graph is folded one
        level further, with a DrawingWarning and a line in the picture. Raises DrawingError where no engine can do it.
        """
        if form not in self._rendered:
            self._rendered[form] = self._render(form, seconds)
        return self._rendered[form]

    def _render(self, form: str, seconds: float) -> bytes:
        engine = find_engine(form, self.source if form == "png" else "")
        try:
            picture = engine.run(self.source, form, self.placed, seconds)
        except LayoutError as error:
            if self._coarser is None:
                raise
            warnings.warn(
                f"the picture is folded one level further than asked for: {error}",
                DrawingWarning,
                stacklevel=4,
            )
            return self._coarser().render(form, seconds)
        return finish(picture, self.title, self.description, self.texts).encode() if form == "svg" else picture

    def save(self, path: str | Path, seconds: float = 20.0) -> Path:
        """Write the picture to `path`; its ending says how: .svg, .png, .pdf or .dot. Returns the path.

        Raises DrawingError for another ending and where no engine can do it; OSError where the file can't be written.
        """
        path = Path(path)
        form = path.suffix.lower().removeprefix(".")
        if form in ("dot", "gv"):
            path.write_text(self.source, encoding="utf-8")
        elif form in FORMATS:
            path.write_bytes(self.render(form, seconds))
        else:
            raise DrawingError(f"{path.name}: a picture is saved as .svg, .png, .pdf or .dot")
        return path

    def svg(self) -> str:
        """The picture as SVG text, to be put into a page."""
        return self.render("svg").decode()

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows. Without an engine: the reason, and nothing breaks."""
        try:
            return {"image/svg+xml": self.svg(), "text/plain": repr(self)}
        except DrawingError as error:
            return {"text/plain": f"{self!r}\n{error}"}


def draw(
    tensors: Tensor | Sequence[Tensor],
    gradients: bool = False,
    *,
    values: bool | None = None,
    depth: int | None = None,
    repeats: bool = True,
    flow: Flow | None = None,
    title: str = "",
) -> Drawing:
    """The graph that made `tensors`, drawn.

    gradients: a backward pass of its own computes every cotangent, from the one scalar among `tensors`; nothing is
        written to `.grad`. Without it, leaves show the `.grad` they have.
    values: show numbers: those of small arrays, and the norm of big gradients. Default: in a small graph, or with
        `gradients`.
    depth: how many levels of nested modules are shown; deeper ones are one box each. Default: as many as can be read.
    repeats: equal consecutive layers are drawn once, with "×N".
    flow: where the outputs are: "right", "down" or "up". Default: right in a small graph without modules, else down.

    An operation has its parameters, masks and constants as rows. What a backward pass has released says so; a
    gradient that is not there is "not computed". The same program gives the same picture, byte by byte.
    Raises DrawingError if `tensors` holds no Tensor, for another `flow`, and with `gradients` unless exactly one of the
    tensors is a scalar.
    """
    if flow not in (None, *get_args(Flow)):
        raise DrawingError(f"flow is {', '.join(map(repr, get_args(Flow)))} or None, not {flow!r}")
    graph = collect(tensors, gradients)
    shown = True if values is None and gradients else values
    levels = _levels(graph, depth, repeats)

    def picture(level: int) -> Drawing:
        view = make_view(graph, levels[level], title, flow, shown)
        texts = {f"n{position}": box.description for position, box in enumerate(view.boxes.values())}
        coarser = partial(picture, level + 1) if level + 1 < len(levels) else None
        return Drawing(write_dot(view), title or _default_title(graph), describe(view), texts, coarser=coarser)

    return picture(0)


def _levels(graph: Graph, depth: int | None, repeats: bool) -> list[Folding]:
    """The folding to draw, and then, for an engine that fails at it, those with ever fewer boxes."""
    limit = READABLE if depth is None else DRAWABLE
    every = list(foldings(graph, depth, repeats))
    first = next((place for place, folding in enumerate(every) if folding.boxes() <= limit), len(every) - 1)
    levels = [every[first]]
    for folding in every[first + 1 :]:
        if folding.boxes() < levels[-1].boxes():
            folding.note = "Folded further than asked for: the finer picture could not be laid out in time."
            levels.append(folding)
    return levels


def _default_title(graph: Graph) -> str:
    operations = sum(1 for vertex in graph.vertices if vertex.operation)
    return f"Computation graph of {operations:,} operations"


def describe(view: View) -> str:
    """A picture in words: every box, in order, and what it takes."""
    sources: dict[int, list[str]] = {}
    for arrow in view.arrows:
        sources.setdefault(arrow.target, []).append(view.boxes[arrow.source].title)
    lines = []
    for index, box in list(view.boxes.items())[:60]:
        taken = f" from {', '.join(sources[index])}" if index in sources else ""
        lines.append(f"{' '.join((*box.path, box.title))}{taken}.")
    if len(view.boxes) > 60:
        lines.append(f"And {len(view.boxes) - 60} more.")
    return "\n".join(lines)
