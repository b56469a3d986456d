"""Reading pictures back: what a test of drawings looks at."""

import json
from xml.etree import ElementTree

from minigrad.drawing import Drawing, find_engine

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: Drawing) -> ElementTree.Element:
    """The SVG as XML, as a browser would read it."""
    return ElementTree.fromstring(drawing.render("svg"))


def words(drawing: Drawing) -> dict[str, list[str]]:
    """The texts of each box, by id."""
    return {
        group.get("id", ""): ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
        for group in parsed(drawing).iter(f"{SVG}g")
        if group.get("class") == "node"
    }


def all_words(drawing: Drawing) -> list[str]:
    """Every text of the picture."""
    return ["".join(text.itertext()) for text in parsed(drawing).iter(f"{SVG}text")]


def node_ids(drawing: Drawing) -> list[str]:
    """The ids of the nodes that the engine understood the DOT text to have."""
    graph = json.loads(find_engine().run(drawing.source, "json0"))
    return [item["name"] for item in graph["objects"] if not item["name"].startswith("cluster_")]


def edges(drawing: Drawing) -> list[tuple[str, str, str | None]]:
    """(from, to, port) of each edge, as the engine understood it."""
    graph = json.loads(find_engine().run(drawing.source, "json0"))
    names = [item["name"] for item in graph["objects"]]
    return [(names[edge["tail"]], names[edge["head"]], edge.get("headport")) for edge in graph.get("edges", [])]
