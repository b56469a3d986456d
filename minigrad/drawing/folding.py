"""What is drawn as one box: modules below some depth, equal layers, long chains, and what is too far away.

A `Folding` says, for each vertex of a graph, which vertex stands for it. Foldings come finest first; the drawing takes
the first that is small enough, and the next one where the engine ran out of time.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from minigrad.drawing.graph import Graph, Vertex
from minigrad.drawing.pieces import Pieces

Path = tuple[str, ...]

READABLE = 150
"""More boxes than this are folded further, if the caller did not ask for a depth."""
DRAWABLE = 2500
"""More boxes than this are folded in any case."""

_ENDS = 2
_SHORTEST_RUN = 6


@dataclass(slots=True)
class Group:
    """Several vertices drawn as one box, in the cluster `path`; `module` where it is a whole module."""

    title: str
    path: Path
    members: list[int] = field(default_factory=list)
    module: bool = False


@dataclass(slots=True)
class Folding:
    """Who stands for whom.

    stand_in: for each vertex the vertex drawn in its place (itself, if it is drawn).
    groups: what a stand-in stands for, where that is more than an equal layer's twin.
    times: how often the module at a path is repeated, and the last name of the repetition.
    steps: the pairs (vertex, user) by which one equal layer feeds the next, not drawn.
    rows: leaves drawn as rows of their users.
    twins: vertices for which the same vertex of an equal layer stands: what they take is what that one takes.
    """

    stand_in: list[int]
    groups: dict[int, Group]
    times: dict[Path, tuple[int, str]]
    steps: set[tuple[int, int]]
    rows: set[int]
    twins: frozenset[int]
    note: str = ""

    def copy(self) -> "Folding":
        """Another one that can be folded further without changing this."""
        return Folding(list(self.stand_in), dict(self.groups), self.times, self.steps, self.rows, self.twins, self.note)

    def everyone(self) -> dict[int, list[int]]:
        """For each vertex that is drawn, all for which it stands, those of equal layers too."""
        found: dict[int, list[int]] = {}
        for vertex, place in enumerate(self.stand_in):
            found.setdefault(place, []).append(vertex)
        return found

    def repeated(self, path: Path) -> int:
        """For how many equal modules the one at `path` is drawn."""
        return self.times.get(path, (1, ""))[0]

    def boxes(self) -> int:
        """How many boxes it leaves."""
        return len({stand_in for vertex, stand_in in enumerate(self.stand_in) if vertex not in self.rows})


def path_of(vertex: Vertex) -> Path:
    """The nested modules that a vertex was made in; a list and the place in it are one: ("encoder", "layers.0")."""
    parts: list[str] = []
    for part in vertex.path.split(".") if vertex.path else ():
        if parts and part.partition("#")[0].isdecimal():
            parts[-1] += "." + part
        else:
            parts.append(part)
    return tuple(parts)


@dataclass(frozen=True)
class Opened:
    """Which modules are open, showing what is in them; the others are one box each.

    depth: those so deep or less, None for all. expand: these and all around them too, by dotted name. collapse: not
    these, nor what is in them.
    """

    depth: int | None = None
    expand: frozenset[str] = frozenset()
    collapse: frozenset[str] = frozenset()

    def home(self, path: Path) -> Path | None:
        """The outermost module around something at `path` that is not open; None if all are."""
        for length in range(1, len(path) + 1):
            if not self.opens(path[:length]):
                return path[:length]
        return None

    def opens(self, module: Path) -> bool:
        """Whether a module is open, if all around it are."""
        name = dotted(module)
        if name in self.collapse:
            return False
        if any(wanted == name or wanted.startswith(f"{name}.") for wanted in self.expand):
            return True
        return self.depth is None or len(module) <= self.depth

    def named(self) -> frozenset[str]:
        """The modules that are named."""
        return self.expand | self.collapse


def dotted(path: Path) -> str:
    """A module's name: its path joined by dots, without the numbers of calls."""
    return ".".join(part.partition("#")[0] for part in path)


def modules(graph: Graph) -> dict[str, int]:
    """The names of all modules in a graph, and how many operations are within each."""
    counts: Counter[str] = Counter()
    for vertex in graph.vertices:
        path = path_of(vertex) if vertex.operation else ()
        counts.update(dotted(path[:length]) for length in range(1, len(path) + 1))
    return dict(counts)


def foldings(graph: Graph, opened: Opened = Opened(), repeats: bool = True) -> Iterator[Folding]:
    """From the finest, which has these modules open, to the coarsest, which always is small."""
    rows = parameter_rows(graph)
    paths = [path_of(vertex) for vertex in graph.vertices]
    twins, times, steps = _repeats(graph, paths, rows, opened.named()) if repeats else ({}, {}, set())
    deepest = max((len(path) for path in paths), default=0)
    finest = deepest if opened.depth is None else min(max(opened.depth, 0), deepest)
    for level in range(finest, -1, -1):
        stand_in = [twins.get(vertex, vertex) for vertex in range(len(paths))]
        folding = Folding(stand_in, {}, times, steps, rows, frozenset(twins))
        _fold_modules(graph, folding, paths, replace(opened, depth=level))
        yield folding
    chained = folding.copy()
    _fold_runs(graph, chained)
    yield chained
    for keep in (READABLE // 2, READABLE // 6, READABLE // 20):
        last = chained.copy()
        _fold_early(last, keep)
        yield last


def parameter_rows(graph: Graph) -> set[int]:
    """The leaves that are a module's own: named for a module that uses them. They are rows, not boxes.

    A module around it may use them in its stead, as one fused operation does.
    """
    rows = set()
    outputs = set(graph.outputs)
    users = graph.users()
    for index, vertex in enumerate(graph.vertices):
        if vertex.operation or not vertex.name or index in outputs or not users[index]:
            continue
        owner = vertex.name.rpartition(".")[0]
        if owner and any(_along(_plain(graph.vertices[user].path), owner) for user in users[index]):
            rows.add(index)
    return rows


def _plain(path: str) -> str:
    return ".".join(part.partition("#")[0] for part in path.split("."))


def _along(one: str, other: str) -> bool:
    """Whether one module is within the other, or is it."""
    return one == other or one.startswith(f"{other}.") or (one != "" and other.startswith(f"{one}."))


def _fold_modules(graph: Graph, folding: Folding, paths: list[Path], opened: Opened) -> None:
    """Each module that is not open becomes a box of its own in the module above.

    A module that was left and entered again, as a pre-norm layer's norm is, becomes a box for each piece: one box would
    be before and after what came between.
    """
    pieces = Pieces(len(paths))
    known = {path: opened.home(path) for path in set(paths)}
    homes = {v: home for v, path in enumerate(paths) if (home := known[path]) and folding.stand_in[v] == v}
    for vertex, home in homes.items():
        for operand in graph.vertices[vertex].operands:
            source = operand.source
            if source is not None and homes.get(source) == home:
                pieces.join(source, vertex)
    folding.stand_in = [pieces.head(place) for place in folding.stand_in]
    for vertex, home in sorted(homes.items()):
        group = Group(home[-1], home[:-1], module=True)
        folding.groups.setdefault(pieces.head(vertex), group).members.append(vertex)


def _repeats(
    graph: Graph, paths: list[Path], rows: set[int], named: frozenset[str]
) -> tuple[dict[int, int], dict[Path, tuple[int, str]], set[tuple[int, int]]]:
    """Equal consecutive modules `name.0, name.1, ...`, each fed by the one before: the first of a run stands for it.

    named: modules that somebody wants to see, or not to see, by name: one that is not the first is no twin.
    """
    copies: dict[Path, dict[int, list[int]]] = {}
    for vertex, path in enumerate(paths):
        for level, part in enumerate(path):
            name, _, place = part.rpartition(".")
            if place.isdecimal():
                copies.setdefault((*path[:level], name), {}).setdefault(int(place), []).append(vertex)
    twins: dict[int, int] = {}
    times: dict[Path, tuple[int, str]] = {}
    steps: set[tuple[int, int]] = set()
    for stem, members in sorted(copies.items(), key=lambda item: (len(item[0]), item[0])):
        if any(inside[0] in twins for inside in members.values()):
            continue
        signatures = {n: _signature(graph, paths, rows, members[n], len(stem)) for n in sorted(members)}
        apart = {n for n in sorted(members)[1:] if _within_any(named, f"{dotted(stem)}.{n}")}
        for _, alike in groupby(signatures, key=lambda n: (n in apart and n, signatures[n])):
            numbers = list(alike)
            feeds = [_feeds(graph, members[one], members[two]) for one, two in pairwise(numbers)]
            if not feeds or not all(feeds):
                continue
            for number in numbers[1:]:
                twins.update(zip(members[number], members[numbers[0]], strict=True))
            steps.update(*feeds)
            times[(*stem[:-1], f"{stem[-1]}.{numbers[0]}")] = len(numbers), str(numbers[-1])
    for vertex, twin in twins.items():
        while twin in twins:  # in an outer layer's twin, and there in an inner one's
            twin = twins[twin]
        twins[vertex] = twin
    return twins, times, steps


def _within_any(names: frozenset[str], module: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for name in names)


def _feeds(graph: Graph, one: list[int], two: list[int]) -> set[tuple[int, int]]:
    within = set(one)
    return {(o.source, user) for user in two for o in graph.vertices[user].operands if o.source in within}


def _signature(graph: Graph, paths: list[Path], rows: set[int], members: list[int], level: int) -> list[object]:
    """The structure of one copy: equal for copies that would be drawn alike."""
    place = {vertex: position for position, vertex in enumerate(members)}
    copy = ".".join(paths[members[0]][:level])
    described: list[object] = []
    for index in members:
        vertex = graph.vertices[index]
        operands: list[object] = []
        for operand in vertex.operands:
            source = operand.source
            if source in place:
                operands.append(place[source])
            elif source in rows:
                operands.append(((graph.vertices[source].name or "").removeprefix(f"{copy}."), operand.shape))
            else:
                operands.append((source is None, operand.shape, operand.dtype, operand.label))
        params = sorted((name, repr(value)) for name, value in vertex.params.items())
        what = (vertex.operation, paths[index][level:], vertex.shape, vertex.dtype)
        described.append((what, operands, params))
    return described


def _fold_runs(graph: Graph, folding: Folding) -> None:
    """Long chains of operations, each the only user of the one before, keep their ends; the rest becomes one box."""
    users = graph.users()
    outputs = set(graph.outputs)

    def before(index: int) -> int | None:
        vertex = graph.vertices[index]
        if not vertex.operation or folding.stand_in[index] != index or index in folding.groups:
            return None
        sources = {o.source for o in vertex.operands if o.source is not None}
        made = [source for source in sources if graph.vertices[source].operation]
        if len(made) != 1 or len(users[made[0]]) != 1 or made[0] in outputs:
            return None
        return made[0] if graph.vertices[made[0]].path == vertex.path else None

    runs: dict[int, list[int]] = {}  # by their last vertex
    for index in range(len(graph.vertices)):
        previous = before(index)
        if previous is None or previous not in runs:
            runs[index] = [index]
        else:
            run = runs[index] = runs.pop(previous)
            run.append(index)
    for run in runs.values():
        middle = run[_ENDS:-_ENDS]
        if len(middle) >= _SHORTEST_RUN:
            _fold(folding, middle, path_of(graph.vertices[run[0]]), f"{len(middle):,} operations in a row")


def _fold_early(folding: Folding, keep: int) -> None:
    """All but the last `keep` boxes become one: what the outputs were made from, long ago."""
    drawn = sorted({place for vertex, place in enumerate(folding.stand_in) if vertex not in folding.rows})
    old = set(drawn[:-keep])
    members = [vertex for vertex, place in enumerate(folding.stand_in) if place in old]
    if len(old) > 1:
        _fold(folding, members, (), f"{len(members):,} earlier steps")


def _fold(folding: Folding, members: list[int], path: Path, title: str) -> None:
    head = members[0]
    folding.groups[head] = Group(title, path, members)
    for vertex in members:
        folding.stand_in[vertex] = head


def tally(graph: Graph, members: list[int], times: int, most: int = 4) -> list[tuple[str, int]]:
    """The commonest operations among `members`, which are `times` equal modules, with their counts in one of these."""
    counts = Counter(graph.vertices[member].operation for member in members if graph.vertices[member].operation)
    return [
        (name, count // times) for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    ]
