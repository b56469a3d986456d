"""What is done to an engine's SVG: it fits its surroundings, can be read aloud, and reads the same with any font."""

import hashlib
import re
from collections.abc import Mapping
from xml.etree import ElementTree

from minigrad.drawing.palette import dark
from minigrad.drawing.text import SANS, clean, width
from minigrad.errors import DrawingError

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_POINTS = re.compile(r"([\d.]+)pt")
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _XLINK)


def finish(raw: bytes, title: str, description: str, texts: Mapping[str, str]) -> str:
    """An engine's SVG as a page can take it in.

    It scales with the width it is given, up to its own; it is dark where its reader's system is; it has a title and a
    description; a box's tooltip is what `texts` says for its id, never the engine's "n0"; fonts are a list that every
    system has one of; each text keeps
    the width that the layout gave it. Raises DrawingError for what is no SVG.
    """
    try:
        root = ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:
        raise DrawingError(f"the layout engine wrote no valid SVG: {error}") from error
    for side in ("width", "height"):
        size = _POINTS.fullmatch(root.get(side, ""))
        if size:
            root.set(side, f"{float(size[1]) * 4 / 3:.0f}")
    root.set("style", "max-width:100%;height:auto")
    root.set("font-family", SANS)
    mark = hashlib.blake2s(raw, digest_size=4).hexdigest()
    root.set("role", "img")
    root.set("aria-labelledby", f"title-{mark} description-{mark}")
    _raise_cluster_labels(root)
    for element in root.iter():
        _mend(element, texts)
    root.insert(0, _night(root))
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        child = ElementTree.Element(f"{{{_SVG}}}{tag}")
        child.text = clean(text)
        child.set("id", f"{'title' if tag == 'title' else 'description'}-{mark}")
        child.tail = "\n"
        root.insert(position, child)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _raise_cluster_labels(root: ElementTree.Element) -> None:
    """Put the names of clusters above the arrows, each on a rim of its cluster's colour: no arrow crosses one out."""
    for graph in root.iter(f"{{{_SVG}}}g"):
        if graph.get("class") != "graph":
            continue
        raised = []
        for cluster in graph.iterfind(f"{{{_SVG}}}g[@class='cluster']"):
            surface = cluster.find(f"{{{_SVG}}}path")
            for label in cluster.findall(f"{{{_SVG}}}text"):
                cluster.remove(label)
                rim = "white" if surface is None else surface.get("fill", "white")
                for name, value in (("paint-order", "stroke"), ("stroke", rim), ("stroke-width", "5")):
                    label.set(name, value)
                label.set("stroke-linejoin", "round")
                label.set("id", f"{cluster.get('id')}-label")
                raised.append(label)
        graph.extend(raised)


def _night(root: ElementTree.Element) -> ElementTree.Element:
    """A style that turns every colour of the picture dark where the reader's system is dark; print stays light."""
    rules = []
    for place in ("fill", "stroke"):
        for colour in sorted({element.get(place, "") for element in root.iter()}):
            if _COLOUR.fullmatch(colour):
                rules.append(f'[{place}="{colour}"]{{{place}:{dark(colour)}}}')
    style = ElementTree.Element(f"{{{_SVG}}}style")
    style.text = f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"
    style.tail = "\n"
    return style


def _mend(element: ElementTree.Element, texts: Mapping[str, str]) -> None:
    for child in list(element):
        if child.tag == f"{{{_SVG}}}title":
            text = texts.get(element.get("id", ""))
            if text:
                child.text = clean(text.replace("\n", " · "))
            else:
                element.remove(child)
    if element.tag == f"{{{_SVG}}}text":
        element.attrib.pop("font-family", None)
        element.attrib.pop("{http://www.w3.org/XML/1998/namespace}space", None)
        text = "".join(element.itertext())
        size = float(element.get("font-size", "10"))
        reserved = width(text, size, element.get("font-weight") == "bold")
        if len(text) > 1:
            element.set("textLength", f"{reserved:.1f}")
            element.set("lengthAdjust", "spacingAndGlyphs")
        elif element.get("text-anchor") == "start":  # a sign: in the middle of its place, however wide the font has it
            element.set("x", f"{float(element.get('x', '0')) + _assumed(text, reserved, size) / 2:.2f}")
            element.set("text-anchor", "middle")


def _assumed(sign: str, measured: float, size: float) -> float:
    """The width that the engine gave a sign: it counts a space for each byte of what is not ASCII."""
    return measured if sign.isascii() else len(sign.encode()) * 0.278 * size
