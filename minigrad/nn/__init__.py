"""Layers with named parameters."""

from minigrad.nn.layers import Embedding, LayerNorm, Linear, dropout, xavier_uniform
from minigrad.nn.module import Module, Parameter

__all__ = ["Embedding", "LayerNorm", "Linear", "Module", "Parameter", "dropout", "xavier_uniform"]
