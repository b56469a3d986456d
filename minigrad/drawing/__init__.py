"""Computation graphs as pictures: graph -> folding -> view -> DOT -> SVG, PNG or PDF."""

from minigrad.drawing import palette
from minigrad.drawing.drawing import Drawing, DrawingWarning, Links
from minigrad.drawing.engine import Engine, LayoutError, find_engine
from minigrad.drawing.graph import Graph, Operand, Vertex, collect
from minigrad.drawing.numerals import shape_text
from minigrad.drawing.palette import Pair
from minigrad.drawing.pieces import Pieces
from minigrad.drawing.placed import Canvas
from minigrad.drawing.scene import Scene, draw

__all__ = [
    "Canvas",
    "Drawing",
    "DrawingWarning",
    "Engine",
    "Graph",
    "LayoutError",
    "Links",
    "Operand",
    "Pair",
    "Pieces",
    "Scene",
    "Vertex",
    "collect",
    "draw",
    "find_engine",
    "palette",
    "shape_text",
]
