"""Names of activations: look at them, `with model.capture() as seen`, and replace them, `with model.patch({...})`.

An activation's name is its module's path, a dot and one of these; what a linear map makes is called as the map is:

    TokenEmbedding       out (B, T, D)
    PositionalEncoding   sum, out (B, T, D)
    LearnedPositions     sum, out (B, T, D)
    RandomisedPositions  sum, out (B, T, D)
    NothingAdded         out (B, T, D)
    MultiHeadAttention   query (B, T_q, D); key, value (B, T_k, E); q (B, H, T_q, D_h); k, v (B, H_k, T_k, D_h);
                         scores, pattern (B, H, T_q, T_k); z (B, H, T_q, D_h); out (B, T_q, D)
    FeedForward          inner, hidden (B, T, F); out (B, T, D)
    GatedFeedForward     gate, opened, inner, hidden (B, T, F); out (B, T, D)
    AddNorm              normal, refined, sum, out (B, T, D)
    Encoder              out (B, T, D)
    Decoder              out (B, T, D)
    Transformer          logits (B, T, V), as of the models of one stack

Sums and `refined` are what goes into and comes out of the residual connections: `refined` is the sub-layer's output
after dropout, `normal`, in pre-norm alone, its input; post-norm alone has a `sum`. q and k are turned by their places
where positions are rotary, scores hold a bias of distance. With a cache, key, value, k and v are the new positions'.
B batch, T lengths, D d_model, H heads, H_k heads of keys, D_h a head's width, E = H_k D_h, F d_ff, V vocabulary.

What is made again within one outermost call (the steps of `generate`) has its call's number at the end of the module's
path: "decoder.layers.0.self_attention#2.pattern"; the model's own have it at their end, "logits#2",
where `encode` is a call too.
While somebody looks at a model or replaces something, its modules run in parts, and attention its definition, step by
step, so that scores and pattern are the tensors that made the output.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

import minigrad as mg

Function: TypeAlias = Callable[[mg.Tensor], mg.Tensor]
Replacement: TypeAlias = mg.Tensor | Function | npt.ArrayLike
"""A Tensor or an array, which is broadcast to the activation's shape, or a function: Tensor -> Tensor of its shape."""


class UnknownActivation(KeyError):
    """A name that no activation has, with the nearest that there are."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError shows its argument's repr


class Seen(dict[str, mg.Tensor]):
    """{name: activation}, in the order in which they were made. An unknown name raises UnknownActivation."""

    def __missing__(self, name: str) -> NoReturn:
        raise unknown([name], self)


class Patches:
    """Replacements by name and call number, None for every call; and what they met."""

    def __init__(self, replacements: Mapping[str, Replacement]) -> None:
        self.replacements = {parsed(name): _checked(name, value) for name, value in replacements.items()}
        self.names = {parsed(name): name for name in replacements}
        self.met: dict[str, None] = {}

    def replaced(self, name: str, number: int, activation: mg.Tensor) -> mg.Tensor:
        """What goes on in place of an activation. A replacement for one call goes before one for all."""
        self.met[numbered(name, number)] = None
        for key in ((name, number), (name, None)):
            if key in self.replacements:
                self.names.pop(key, None)
                return _replaced(numbered(name, number), self.replacements[key], activation)
        return activation


class Watch(NamedTuple):
    """Whose activations these are, and who looks at them or replaces them."""

    modules: frozenset[int]
    by: Seen | Patches


_WATCHES: ContextVar[tuple[Watch, ...]] = ContextVar("watches", default=())


@contextmanager
def capture(model: mg.nn.Module) -> Iterator[Seen]:
    """Collect every named activation that `model` makes: {"encoder.layers.0.self_attention.pattern": Tensor, ...}.

    They keep their gradients: after `loss.backward()`, in the block or behind it, `seen[name].grad` is there, where
    operations were recorded; `mg.gradients(loss, [seen[name]])` works too. A new outermost call replaces what it makes
    anew. Within `patch`, what is seen is what went on. A name that is not there raises UnknownActivation.
    """
    seen = Seen()
    with _watching(model, seen):
        yield seen


@contextmanager
def patch(model: mg.nn.Module, replacements: Mapping[str, Replacement]) -> Iterator[None]:
    """Replace activations of `model` by name: {"decoder.layers.1.cross_attention.pattern": value or function}.

    A value, array or Tensor, is broadcast to the activation's shape and cast to its dtype; gradients flow into a Tensor
    that requires them. A function takes the activation and gives a Tensor of its shape; gradients flow through it.
    What is put in goes on as it is: a pattern is not masked again.
    A name without a number is for every call, so for every step of `generate`, "#1" for the first alone. Of blocks
    within each other the inner one comes last. A constant that is put in for what required a gradient keeps one too.
    Raises UnknownActivation with the nearest names: at once where the model has no such module, else at the end of the
    block where no call made such an activation. ShapeError for what does not fit, TypeError for what is no Tensor.
    """
    paths = {module.path for _, module in model.named_modules()}
    lost = [name for name in replacements if parsed(name)[0].rpartition(".")[0] not in paths]
    if lost:
        raise unknown(lost, [f"{path}.{name.rpartition('.')[2]}".lstrip(".") for name in lost for path in paths])
    patches = Patches(replacements)
    with _watching(model, patches):
        yield
    if patches.names:
        raise unknown(list(patches.names.values()), patches.met)


class Observed(mg.nn.Module):
    """A model whose activations can be looked at and replaced."""

    def capture(self) -> AbstractContextManager[Seen]:
        """`with model.capture() as seen: model(...)`; see `transformer.activations.capture`."""
        return capture(self)

    def patch(self, replacements: Mapping[str, Replacement]) -> AbstractContextManager[None]:
        """`with model.patch({name: replacement}): model(...)`; see `transformer.activations.patch`."""
        return patch(self, replacements)

    @property
    def parameter_count(self) -> int:
        """How many numbers are learnt; a tied table counts once."""
        return sum(parameter.size for parameter in self.parameters())


def watched(module: mg.nn.Module) -> bool:
    """Whether somebody looks at this module, or replaces what it makes."""
    watches = _WATCHES.get()
    return bool(watches) and any(id(module) in watch.modules for watch in watches)


def in_parts(module: mg.nn.Module) -> bool:
    """Whether a module runs its parts one by one, each on the tape under its own name, in place of one fused operation.

    So it does where somebody looks at it, and within `mg.unfused()`.
    """
    return watched(module) or not mg.fusing()


def noted(module: mg.nn.Module, name: str, activation: mg.Tensor) -> mg.Tensor:
    """Give the running module's activation its name; what is returned goes on."""
    watches = _WATCHES.get()
    return _met(watches, module, name, activation) if watches else activation


def numbered(name: str, number: int) -> str:
    """The name of the n-th call's activation: "a.b.pattern" -> "a.b#2.pattern"; the first has no number."""
    path, dot, last = name.rpartition(".")
    mark = f"#{number}" if number > 1 else ""
    return f"{path}{mark}{dot}{last}" if path else f"{last}{mark}"


def parsed(name: str) -> tuple[str, int | None]:
    """A name without its call number, and the number, None if there is none: the inverse of `numbered`."""
    found = re.search(r"#(\d+)(?=$|\.[^.]*$)", name)
    return (name[: found.start()] + name[found.end() :], int(found[1])) if found else (name, None)


def unknown(names: list[str], known: Iterable[str]) -> UnknownActivation:
    """The error for names that are not among those known."""
    there = list(known)
    if not there:
        return UnknownActivation(f"no activation {' or '.join(names)}: the model was not called inside the block")
    told = []
    for name in names:
        near = get_close_matches(name, there, n=3, cutoff=0.5)
        told.append(f"no activation {name}; " + (f"the nearest: {', '.join(near)}" if near else f"as {there[0]} is"))
    return UnknownActivation("; ".join(told))


@contextmanager
def _watching(model: mg.nn.Module, by: Seen | Patches) -> Iterator[None]:
    watch = Watch(frozenset(id(module) for _, module in model.named_modules()), by)
    token = _WATCHES.set((*_WATCHES.get(), watch))
    try:
        yield
    finally:
        _WATCHES.reset(token)


def _met(watches: tuple[Watch, ...], module: mg.nn.Module, name: str, activation: mg.Tensor) -> mg.Tensor:
    """Replace, outermost first, then show what goes on to all who look."""
    call = re.search(r"#(\d+)$", mg.nn.current_path())
    number = int(call[1]) if call else 1
    name = f"{module.path}.{name}" if module.path else name
    those = [watch.by for watch in watches if id(module) in watch.modules]
    for by in those:
        if isinstance(by, Patches):
            activation = by.replaced(name, number, activation)
    for by in those:
        if isinstance(by, Seen):
            if activation.requires_grad:
                activation.retain_grad()
            by.pop(numbered(name, number), None)  # so that what is made anew stands last
            by[numbered(name, number)] = activation
    return activation


def _checked(name: str, value: Replacement) -> mg.Tensor | Function | npt.NDArray[Any]:
    """A value that is put in, as an array or a Tensor that requires a gradient; functions as they are."""
    if isinstance(value, mg.Tensor):
        return value if value.requires_grad else value.data
    if callable(value):
        return value
    array = np.array(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"patch: {name} is replaced by an array, a Tensor or a function, not {type(value).__name__}")
    return array


def _replaced(name: str, value: mg.Tensor | Function | npt.NDArray[Any], activation: mg.Tensor) -> mg.Tensor:
    shape, dtype = activation.shape, activation.dtype
    if isinstance(value, np.ndarray):
        value = mg.Tensor(value.astype(dtype), requires_grad=activation.requires_grad)
    elif not isinstance(value, mg.Tensor):
        made = value(activation)
        if not isinstance(made, mg.Tensor):
            raise TypeError(f"patch: the function for {name} gave {type(made).__name__}, not a Tensor")
        if made.shape != shape:
            raise mg.ShapeError(f"patch: the function for {name} gave the shape {made.shape} for {shape}")
        return made.astype(dtype)
    if not _broadcasts(value.shape, shape):
        raise mg.ShapeError(f"patch: a value of shape {value.shape} for {name}, which has the shape {shape}")
    return mg.broadcast_to(value.astype(dtype), shape)


def _broadcasts(value: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(value, shape) == shape
    except ValueError:
        return False
