"""The cotangent of an activation, as an array."""

from transformer.study.trace import Array, Trace


def cotangent(trace: Trace, name: str) -> Array:
    """d loss / d activation, of the activation's shape. An unknown name raises UnknownActivation."""
    gradient = trace.seen[name].grad
    assert gradient is not None  # a trace gives every activation one
    return gradient.data
