"""The stacks of a model: which sub-layers stand in its layers, with which weights and masks. The paper, section 3.1."""

from collections.abc import Mapping

from transformer.config import TransformerConfig
from transformer.study.hand import feed_forward, layer_norm, multi_head
from transformer.study.hand.arrays import Array, Mask
from transformer.study.hand.stack import Stack, Step
from transformer.study.hand.sublayer import Sublayer, cross_attention, feed_forward_network, self_attention

Parameters = Mapping[str, Array]
"""A model's parameters by name, float64. A bias that is not there is none."""


def encoder(parameters: Parameters, config: TransformerConfig, mask: Mask) -> Stack:
    """Self-attention and the feed-forward network, N times. mask: which query sees which key of the source."""
    steps = []
    for layer in range(config.layers):
        path = f"encoder.layers.{layer}"
        own = self_attention(_attention(parameters, f"{path}.self_attention"), config.heads, mask)
        steps += [_step(parameters, f"{path}.self_attention", own), _feed_forward_step(parameters, path)]
    return Stack(steps, config.norm, _last(parameters, config, "encoder"))


def decoder(parameters: Parameters, config: TransformerConfig, memory: Array, mask: Mask, memory_mask: Mask) -> Stack:
    """Self-attention, attention to `memory`, the encoder's output, and the feed-forward network, N times.

    mask, memory_mask: which query of the target sees which key of the target, and of the source.
    """
    steps = []
    for layer in range(config.layers):
        path = f"decoder.layers.{layer}"
        own = self_attention(_attention(parameters, f"{path}.self_attention"), config.heads, mask)
        other = cross_attention(memory, _attention(parameters, f"{path}.cross_attention"), config.heads, memory_mask)
        steps += [
            _step(parameters, f"{path}.self_attention", own),
            _step(parameters, f"{path}.cross_attention", other),
            _feed_forward_step(parameters, path),
        ]
    return Stack(steps, config.norm, _last(parameters, config, "decoder"))


def _attention(parameters: Parameters, path: str) -> multi_head.Weights:
    return multi_head.Weights._make(parameters.get(f"{path}.{name}") for name in multi_head.NAMES)


def _feed_forward_step(parameters: Parameters, layer: str) -> Step:
    path = f"{layer}.feed_forward"
    weights = feed_forward.Weights._make(parameters.get(f"{path}.{name}") for name in feed_forward.NAMES)
    return _step(parameters, path, feed_forward_network(weights))


def _step(parameters: Parameters, path: str, sublayer: Sublayer) -> Step:
    return Step(path, sublayer, _norm(parameters, f"{path}_norm"))


def _last(parameters: Parameters, config: TransformerConfig, path: str) -> layer_norm.Weights | None:
    return _norm(parameters, f"{path}.norm") if config.norm == "pre" else None


def _norm(parameters: Parameters, path: str) -> layer_norm.Weights:
    return layer_norm.Weights(parameters[f"{path}.gain"], parameters.get(f"{path}.bias"))
