"""Computation graphs as pictures: graph -> folding -> view -> DOT -> SVG, PNG or PDF."""

from minigrad.drawing.drawing import Drawing, DrawingWarning, draw
from minigrad.drawing.engine import Engine, EngineTimeout, find_engine
from minigrad.drawing.graph import Graph, Operand, Vertex, collect

__all__ = [
    "Drawing",
    "DrawingWarning",
    "Engine",
    "EngineTimeout",
    "Graph",
    "Operand",
    "Vertex",
    "collect",
    "draw",
    "find_engine",
]
