"""Naming activations as they are made, so that one can look at them: `with capture() as seen: model(...)`."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import minigrad as mg

_SEEN: ContextVar[dict[str, mg.Tensor] | None] = ContextVar("activations", default=None)


@contextmanager
def capture() -> Iterator[dict[str, mg.Tensor]]:
    """Collect every named activation made inside: {"encoder.layers.0.self_attention.pattern": Tensor, ...}.

    Attention runs its definition inside, step by step, so that scores and pattern are the tensors that made the output:
    with `retain_grad()` before a backward pass, or `mg.gradients`, their gradients can be had too.
    """
    seen: dict[str, mg.Tensor] = {}
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def capturing() -> bool:
    """Whether somebody looks."""
    return _SEEN.get() is not None


def named(name: str, activation: mg.Tensor) -> mg.Tensor:
    """The activation itself, noted under the running module's path and its name if somebody looks."""
    seen = _SEEN.get()
    if seen is not None:
        path = mg.nn.current_path()
        seen[f"{path}.{name}" if path else name] = activation
    return activation
