"""What a residual connection goes around: attention or the feed-forward network, ready to be called with x alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

from transformer.study.hand import feed_forward, multi_head
from transformer.study.hand.arrays import Array, Mask


class Sublayer(NamedTuple):
    """refined = F(h). forward: h -> (refined, kept). backward: (d_refined, kept) -> (d_h, every gradient of the box).

    What is kept and which gradients there are is the box's affair: nobody on the way looks at them.
    """

    forward: Callable[[Array], tuple[Array, Any]]
    backward: Callable[[Array, Any], tuple[Array, Any]]


def self_attention(weights: multi_head.Weights, heads: int, mask: Mask) -> Sublayer:
    """h asks and h answers: it is read as x and as memory, so d_h = dx + dmemory."""

    def forward(h: Array) -> tuple[Array, multi_head.Kept]:
        return multi_head.forward(h, h, weights, heads, mask)

    def backward(d_refined: Array, kept: multi_head.Kept) -> tuple[Array, multi_head.Gradients]:
        found = multi_head.backward(d_refined, kept)
        return found.x + found.memory, found

    return Sublayer(forward, backward)


def cross_attention(memory: Array, weights: multi_head.Weights, heads: int, mask: Mask) -> Sublayer:
    """h asks, the encoder's output answers: d_h = dx; dmemory goes to the encoder."""

    def forward(h: Array) -> tuple[Array, multi_head.Kept]:
        return multi_head.forward(h, memory, weights, heads, mask)

    def backward(d_refined: Array, kept: multi_head.Kept) -> tuple[Array, multi_head.Gradients]:
        found = multi_head.backward(d_refined, kept)
        return found.x, found

    return Sublayer(forward, backward)


def feed_forward_network(weights: feed_forward.Weights) -> Sublayer:
    """h alone is read: d_h = dx."""

    def forward(h: Array) -> tuple[Array, feed_forward.Kept]:
        return feed_forward.forward(h, weights)

    def backward(d_refined: Array, kept: feed_forward.Kept) -> tuple[Array, feed_forward.Gradients]:
        found = feed_forward.backward(d_refined, kept)
        return found.x, found

    return Sublayer(forward, backward)
