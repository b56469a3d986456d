"""Layers with named parameters."""

from minigrad.nn.layers import Embedding, LayerNorm, Linear, RMSNorm, dropout, normal, ones, xavier_uniform, zeros
from minigrad.nn.module import Module, Parameter, current_path

__all__ = [
    "Embedding",
    "LayerNorm",
    "Linear",
    "Module",
    "Parameter",
    "RMSNorm",
    "current_path",
    "dropout",
    "normal",
    "ones",
    "xavier_uniform",
    "zeros",
]
