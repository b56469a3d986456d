"""Naming activations as they are made, so that one can look at them: `with model.capture() as seen: model(...)`."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import minigrad as mg


@dataclass(frozen=True)
class Watch:
    """Who is looked at, and what was seen so far."""

    modules: frozenset[int]
    seen: dict[str, mg.Tensor]


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def capture(model: mg.nn.Module) -> Iterator[dict[str, mg.Tensor]]:
    """Collect every named activation that `model` makes: {"encoder.layers.0.self_attention.pattern": Tensor, ...}.

    Modules run in parts meanwhile, and attention its definition, step by step, so that scores and pattern are the
    tensors that made the output, and have gradients too: `mg.gradients(loss, [seen[name]])`. What is made again (a
    second call, the steps of `generate`) has "#2" and so on at the end of the module's path; a new outermost call
    replaces what it makes anew.
    """
    watch = Watch(frozenset(id(module) for _, module in model.named_modules()), {})
    token = _WATCH.set(watch)
    try:
        yield watch.seen
    finally:
        _WATCH.reset(token)


def watched(module: mg.nn.Module) -> bool:
    """Whether somebody looks at this module."""
    watch = _WATCH.get()
    return watch is not None and id(module) in watch.modules


def in_parts(module: mg.nn.Module) -> bool:
    """Whether a module runs its parts one by one, each on the tape under its own name, in place of one fused operation.

    So it does where somebody looks at it, and within `mg.unfused()`.
    """
    return watched(module) or not mg.fusing()


def noted(module: mg.nn.Module, name: str, activation: mg.Tensor) -> mg.Tensor:
    """Note an activation of the running module under its path and its name, if somebody looks; what goes on from it."""
    watch = _WATCH.get()
    if watch is not None and id(module) in watch.modules:
        path = mg.nn.current_path()
        watch.seen[f"{path}.{name}" if path else name] = activation
    return activation
