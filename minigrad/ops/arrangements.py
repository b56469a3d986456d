"""Putting arrays together, cutting, repeating, turning and bordering them: linear, each with its adjoint."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.axes import all_axes, as_places, located, one_axis, shape_of
from minigrad.ops.choices import where
from minigrad.ops.indexing import getitem
from minigrad.ops.selections import take
from minigrad.ops.shapes import broadcast_to, concatenate, expand_dims, reshape
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers, operations
from minigrad.tensor import Axes, Tensor, TensorLike

_flip = Primitive(
    "flip", lambda x, *, axis: np.flip(x, axis), "x in reverse order along axis",
    Rule(lambda g, out, x, *, axis: np.flip(g, axis)),
)  # fmt: skip
_pad = Primitive(
    "pad", lambda x, *, width, value: np.pad(x, width or 0, constant_values=value), "x with a border of a constant",
    Rule(lambda g, out, x, *, width, value: g[
        tuple(slice(before, before + size) for (before, _), size in zip(width, x.shape, strict=True))
    ]),
)  # fmt: skip


@answers(np.stack)
def stack(parts: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The parts, all of one shape, along a new axis at the position `axis`. Each part's gradient is its layer of g."""
    if not len(parts):
        raise ShapeError(f"{located('stack')}: there is nothing to stack")
    shapes = [shape_of(part) for part in parts]
    if len(set(shapes)) > 1:
        raise ShapeError(f"{located('stack')}: all parts must have one shape, not {', '.join(map(str, shapes))}")
    along = one_axis("stack", (1, *shapes[0]), axis)
    return concatenate([expand_dims(part, along) for part in parts], along)


@answers(np.split)
def split(x: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """The slices of x along `axis`: as many equal ones as an integer says, or cut before each of the given indices.

    Each slice gives its g back to its place. Raises ShapeError where an integer does not divide the axis.
    """
    shape = shape_of(x)
    along = one_axis("split", shape, axis)
    size = shape[along]
    if np.ndim(indices_or_sections) == 0:
        count = int(indices_or_sections)
        if count < 1 or size % count:
            raise ShapeError(f"{located('split')}: axis {along} of {shape} does not divide into {count} equal parts")
        cuts = list(range(size // count, size, size // count)) if size else [0] * (count - 1)
    else:
        cuts = [int(cut) for cut in indices_or_sections]
    before = (slice(None),) * along
    ends = zip([0, *cuts], [*cuts, size], strict=True)
    return [getitem(x, (*before, slice(start, stop))) for start, stop in ends]


@answers(np.flip)
def flip(x: TensorLike, axis: Axes = None) -> Tensor:
    """x in reverse order along `axis`: an int, a tuple, or None for all. dx = g, turned back."""
    return _flip(x, axis=all_axes("flip", shape_of(x), axis))


@answers(np.repeat)
def repeat(x: TensorLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element of x `repeats` times in a row along `axis` (None: of x made flat). dx is the sum of its copies' g.

    repeats: one number, or one for each place along `axis`.
    """
    if axis is None:
        x, axis = reshape(x, -1), 0
    shape = shape_of(x)
    along = one_axis("repeat", shape, axis)
    counts = as_places("repeat", repeats)
    if counts.size != 1:
        if counts.shape != (shape[along],):
            raise ShapeError(f"{located('repeat')}: {counts.shape} counts for axis {along} of {shape}")
        return take(x, np.repeat(np.arange(shape[along]), counts), along)
    count = int(counts.reshape(()))
    copies = broadcast_to(expand_dims(x, along + 1), (*shape[: along + 1], count, *shape[along + 1 :]))
    return reshape(copies, (*shape[:along], shape[along] * count, *shape[along + 1 :]))


@answers(np.tile)
def tile(x: TensorLike, reps: int | Sequence[int]) -> Tensor:
    """x laid side by side, reps[i] times along axis i; the shorter of shape and reps gets leading ones. dx: the sum."""
    times = tuple(int(n) for n in np.atleast_1d(np.asarray(reps)))
    shape = shape_of(x)
    dims = max(len(shape), len(times))
    shape = (1,) * (dims - len(shape)) + shape
    times = (1,) * (dims - len(times)) + times
    pairs = list(zip(times, shape, strict=True))
    copies = broadcast_to(
        reshape(x, tuple(one for _, size in pairs for one in (1, size))), tuple(one for pair in pairs for one in pair)
    )
    return reshape(copies, tuple(n * size for n, size in pairs))


@answers(np.pad)
def pad(x: TensorLike, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Tensor:
    """x with a border of a constant, `pad_width` as NumPy: n, (before, after), or one pair an axis. dx is g within.

    Raises ShapeError for another mode than "constant".
    """
    if mode != "constant":
        raise ShapeError(f"{located('pad')}: mode={mode!r} is not supported; there is 'constant'")
    if not np.isscalar(constant_values):
        raise DtypeError(f"{located('pad')}: constant_values is one number, not {constant_values!r}")
    shape = shape_of(x)
    try:
        pairs = np.broadcast_to(np.asarray(pad_width), (len(shape), 2))
    except ValueError as error:
        raise ShapeError(f"{located('pad')}: pad_width={pad_width!r} for shape {shape}: one pair an axis") from error
    width = tuple((int(before), int(after)) for before, after in pairs)
    return _pad(x, width=width, value=constant_values)


@answers(np.tril)
def tril(x: TensorLike, k: int = 0) -> Tensor:
    """x with 0 above the k-th diagonal of its last two axes, (..., n, m) -> (..., n, m). dx is g, with 0 there too."""
    return where(_below("tril", shape_of(x), k), x, 0)


@answers(np.triu)
def triu(x: TensorLike, k: int = 0) -> Tensor:
    """x with 0 below the k-th diagonal of its last two axes, (..., n, m) -> (..., n, m). dx is g, with 0 there too."""
    return where(~_below("triu", shape_of(x), k - 1), x, 0)


def _below(name: str, shape: tuple[int, ...], k: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """True on the k-th diagonal and below."""
    if len(shape) < 2:
        raise ShapeError(f"{located(name)}: {shape}: a matrix has two axes")
    return np.tri(shape[-2], shape[-1], k, dtype=bool)


operations.repeat = repeat
