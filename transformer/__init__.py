"""The Transformer of "Attention Is All You Need", from first principles, on minigrad."""

from typing import TYPE_CHECKING, Any

from transformer.activations import capture, patch
from transformer.attention import MultiHeadAttention
from transformer.config import OneStackConfig, TransformerConfig
from transformer.model import Transformer
from transformer.one_stack import DecoderOnly, EncoderOnly

if TYPE_CHECKING:
    from transformer.paper_figure import figure1


def __getattr__(name: str) -> Any:
    if name != "figure1":  # drawing is imported only when something is drawn
        raise AttributeError(f"module 'transformer' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = function = import_module("transformer.paper_figure").figure1
    return function


__all__ = [
    "DecoderOnly", "EncoderOnly", "MultiHeadAttention", "OneStackConfig", "Transformer", "TransformerConfig", "capture",
    "figure1", "patch",
]  # fmt: skip
