"""Weights to and from other libraries, which are not imported for it."""

from transformer.interop.torch_weights import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]
