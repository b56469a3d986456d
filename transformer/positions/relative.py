"""Positions inside attention: queries and keys turned by their places (rotary), a penalty of distance (ALiBi).

Shapes: B batch, T length, H heads, D_h their width. All here are constants; gradients flow through what is turned.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.masks import Ids
from transformer.positions.places import longest
from transformer.positions.sinusoidal import angles_of

Array = npt.NDArray[Any]


class Turn(NamedTuple):
    """The cosine and sine of each number's angle: each (T, D_h), or with (B, 1), (H,) or (B, H) before it."""

    cos: Array
    sin: Array


class Relative(NamedTuple):
    """What places do to one attention. None: nothing.

    query, key: how each is turned. bias: what is added to the scores, broadcast to (B, H, T_q, T_k).
    """

    query: Turn | None = None
    key: Turn | None = None
    bias: Array | None = None


NOTHING = Relative()


def turn(places: Ids, d_head: int, dtype: npt.DTypeLike, base: float = 10000.0) -> Turn:
    """Angles place / base^(2i / D_h), each for the two numbers of a pair: (T,) -> (T, D_h), (B, T) -> (B, 1, T, D_h).

    Source: Su et al. 2021, section 3.2.2.
    """
    cos, sin = _turns(1 << (longest(places) - 1).bit_length(), d_head, np.dtype(dtype), base)
    return Turn(cos[places], sin[places]) if places.ndim == 1 else Turn(cos[places][:, None], sin[places][:, None])


@lru_cache(maxsize=8)
def _turns(length: int, d_head: int, dtype: np.dtype[Any], base: float) -> tuple[Array, Array]:
    angles = np.repeat(angles_of(length, d_head, base), 2, axis=1)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def turned(x: mg.Tensor, by: Turn) -> mg.Tensor:
    """Each pair (a, b) of numbers becomes (a cos - b sin, a sin + b cos): (..., T, D_h) -> (..., T, D_h).

    So the product of a query and a key depends on the difference of their places alone. Source: Su et al. 2021, eq. 34.
    """
    return x * by.cos + mg.matmul(x, _quarter(x.shape[-1], x.dtype)) * by.sin


@lru_cache(maxsize=8)
def _quarter(width: int, dtype: np.dtype[Any]) -> Array:
    """The matrix that turns each pair by a quarter: (a, b) -> (-b, a); locked, the same array is given out again."""
    quarter: Array = np.kron(np.eye(width // 2), [[0, 1], [-1, 0]]).astype(dtype)
    quarter.setflags(write=False)
    return quarter


def both_ends(places: Ids, from_end: Ids, heads: int, d_head: int, dtype: npt.DTypeLike, base: float) -> Turn:
    """The turn of keys whose place the first half of the heads count from the start, the second from the end.

    (T,) or (B, T) -> (H, T, D_h) or (B, H, T, D_h).
    """
    start, end = turn(places, d_head, dtype, base), turn(from_end, d_head, dtype, base)
    shape = (*places.shape[:-1], heads // 2, places.shape[-1], d_head)
    return Turn(
        *(
            np.concatenate([np.broadcast_to(a, shape), np.broadcast_to(b, shape)], axis=-3)
            for a, b in zip(start, end, strict=True)
        )
    )


def distance_penalty(query: Ids, key: Ids, heads: int, dtype: npt.DTypeLike) -> Array:
    """-2^(-8 h / H) |i - j| for head h = 1..H: (T_q,), (T_k,) -> (H, T_q, T_k), or (B, H, T_q, T_k) of (B, T).

    Near heads and far-sighted ones. What follows is penalised as what went before, where no mask hides it.
    Source: Press et al. 2022, section 3.
    """
    slopes = (2.0 ** (-8 * np.arange(1, heads + 1) / heads)).astype(dtype)
    distance = np.abs(query[..., :, None] - key[..., None, :]).astype(dtype)
    return np.asarray(-slopes[:, None, None] * distance[..., None, :, :])
