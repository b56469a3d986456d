"""`draw(tensor)`: a computation graph as a picture, or as several that lead to each other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Literal, get_args

from minigrad.drawing.backward import backward_view
from minigrad.drawing.details import box_details
from minigrad.drawing.dot import clusters, write_dot
from minigrad.drawing.drawing import Drawing, Links
from minigrad.drawing.folding import DRAWABLE, READABLE, Folding, Opened, dotted, foldings, modules, path_of
from minigrad.drawing.graph import Graph, collect
from minigrad.drawing.view import Flow, View, make_view
from minigrad.errors import DrawingError
from minigrad.tensor import Tensor

Direction = Literal["forward", "backward"]

OVERVIEW = "."
"""The name of the picture in which every module is one box."""


def draw(
    tensors: Tensor | Sequence[Tensor],
    gradients: bool = False,
    *,
    direction: Direction = "forward",
    values: bool | None = None,
    depth: int | None = None,
    expand: str | Iterable[str] = (),
    collapse: str | Iterable[str] = (),
    repeats: bool = True,
    flow: Flow | None = None,
    title: str = "",
) -> Drawing:
    """The graph that made `tensors`, drawn.

    gradients: a backward pass of its own computes every cotangent, from the one scalar among `tensors`; nothing is
        written to `.grad`. Without it, leaves show the `.grad` they have.
    direction: "backward" draws the cotangents' way instead, from the output to the leaves: on each arrow the shape and
        norm of one contribution and the rule that made it, and a sum where several meet. It computes gradients.
    values: show numbers: those of small arrays, of big ones mean and spread and a tiny heat map, the norm of big
        gradients, and the bytes kept for the backward pass. Default: in a small graph, or with `gradients`.
    depth: how many levels of nested modules are shown; deeper ones are one box each. Default: as many as can be read.
    expand, collapse: modules by name, such as "decoder.layers.0", that are shown with what is in them, or as one box
        each, whatever `depth` says. A layer that is named stands by itself, not for its equals.
    repeats: equal consecutive layers are drawn once, with "×N".
    flow: where the outputs are: "right", "down" or "up". Default: right in a small graph without modules, else down.

    With gradients an arrow is the wider, the greater the norm of the gradient that comes back along it.
    An operation has its parameters, masks and constants as rows. What a backward pass has released says so; a
    gradient that is not there is "not computed". The same program gives the same picture, byte by byte.
    Saved as .html it is a page in which every module can be opened and folded.
    Raises DrawingError if `tensors` holds no Tensor, for another `flow`, for a module that is not there, and with
    `gradients` unless exactly one of the tensors is a scalar.
    """
    if flow not in (None, *get_args(Flow)):
        raise DrawingError(f"flow is {', '.join(map(repr, get_args(Flow)))} or None, not {flow!r}")
    if direction not in get_args(Direction):
        raise DrawingError(f"direction is {' or '.join(map(repr, get_args(Direction)))}, not {direction!r}")
    graph = collect(tensors, gradients or direction == "backward")
    known = modules(graph)
    opened = Opened(depth, _named("expand", expand, known), _named("collapse", collapse, known))
    shown = True if values is None and gradients else values
    return Scene(graph, title, flow, direction, shown, repeats, known).picture(opened)


def _named(argument: str, given: str | Iterable[str], known: dict[str, int]) -> frozenset[str]:
    """The modules that an argument names. Raises DrawingError, with the nearest, for one that is not there."""
    names = frozenset([given] if isinstance(given, str) else given)
    for name in sorted(names - known.keys()):
        near = get_close_matches(name, known, 3)
        there = f"; nearest: {', '.join(near)}" if near else "; this graph has no modules" if not known else ""
        raise DrawingError(f"{argument}: there is no module {name!r} in this graph{there}")
    return names


@dataclass(frozen=True)
class Scene:
    """A graph of which there are several pictures. modules: their names, and how many operations each has."""

    graph: Graph
    title: str
    flow: Flow | None
    direction: Direction
    values: bool | None
    repeats: bool
    modules: dict[str, int]

    @classmethod
    def of(cls, graph: Graph, title: str = "") -> "Scene":
        """A graph with nothing special asked for."""
        return cls(graph, title, None, "forward", None, True, modules(graph))

    def picture(self, opened: Opened) -> Drawing:
        """The picture in which these modules are open, as far as it can be read."""
        return self._at(self._levels(opened), 0)

    @cached_property
    def shown(self) -> frozenset[str]:
        """The modules that can be seen: not those for which an equal one stands."""
        stand_in = self._finest(Opened()).stand_in
        paths = {path_of(v) for place, v in enumerate(self.graph.vertices) if stand_in[place] == place}
        return frozenset(dotted(path[:length]) for path in paths for length in range(1, len(path) + 1))

    def views(self) -> Mapping[str, Callable[[], Drawing]]:
        """The pictures of a page but the first, by name: OVERVIEW, and a module's, in which it is open."""
        names = [name for name, operations in self.modules.items() if name in self.shown and operations > 1]
        return {OVERVIEW: partial(self.picture, Opened(0))} | {name: partial(self.focus, name) for name in names}

    def focus(self, module: str) -> Drawing:
        """The picture in which one module is open, and all around it; what is in it too, if that can be read."""
        whole = Opened(0, frozenset(name for name in self.shown if f"{name}.".startswith(f"{module}.")))
        few = self._finest(whole).boxes() <= READABLE // 3
        return self.picture(whole if few else Opened(0, frozenset([module])))

    def _finest(self, opened: Opened) -> Folding:
        return next(foldings(self.graph, opened, self.repeats))

    def _at(self, levels: list[Folding], level: int) -> Drawing:
        view = make_view(self.graph, levels[level], self.title, self.flow, self.values)
        if self.direction == "backward":
            view = backward_view(self.graph, levels[level], view)
        texts = {f"n{position}": box.description for position, box in enumerate(view.boxes.values())}
        coarser = partial(self._at, levels, level + 1) if level + 1 < len(levels) else None
        title = self.title or _default_title(self.graph)
        links = partial(self._links, view)
        return Drawing(write_dot(view), title, describe(view), texts, coarser=coarser, links=links)

    def _links(self, view: View) -> Links:
        """Where the boxes and clusters of a picture lead."""
        views = self.views()
        boxes = {f"n{position}": box for position, box in enumerate(view.boxes.values())}
        opens = {name: dotted(box.module) for name, box in boxes.items() if dotted(box.module) in views}
        closes = {name: dotted(cluster.path[:-1]) or OVERVIEW for name, cluster, _ in clusters(view)}
        details = {name: box_details(self.graph, box) for name, box in boxes.items()}
        return Links(views, opens, closes, details)

    def _levels(self, opened: Opened) -> list[Folding]:
        """The folding to draw, and then, for an engine that fails at it, those with ever fewer boxes."""
        limit = READABLE if opened.depth is None else DRAWABLE
        every = list(foldings(self.graph, opened, self.repeats))
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
