"""Reductions: NumPy's axes, None and tuples and all, against torch's."""

from typing import Any

import torch
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.operations import masks, some_of
from tests.minigrad.strategies import axes, axis, shapes
from tests.parity.comparison import Pair, pair


def dims(over: Any, ndim: int) -> tuple[int, ...]:
    """NumPy's axis as torch's dim: all axes for None."""
    if over is None:
        return tuple(range(ndim))
    return over if isinstance(over, tuple) else (over,)


def over_no_axis(x: torch.Tensor, dim: tuple[int, ...], theirs: Any, keepdim: bool) -> Any:
    """torch reads an empty dim as all axes, NumPy as none: then each element is reduced by itself."""
    if dim:
        return theirs(x, dim, keepdim)
    return theirs(x.unsqueeze(-1), (-1,), False)


@st.composite
def reduction(draw: Any, name: str, theirs: Any, how: str = "any", empty: bool = False) -> Pair:
    shape = draw(shapes(empty=empty))
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    dim = dims(over, len(shape))
    mine = getattr(mg, name)
    return pair(
        draw, lambda x: mine(x, axis=over, keepdims=keepdims), lambda x: over_no_axis(x, dim, theirs, keepdims), shape,
        how=how, note=f"axis={over}, keepdims={keepdims}",
    )  # fmt: skip


def product_over(x: torch.Tensor, dim: tuple[int, ...], keepdim: bool) -> torch.Tensor:
    """torch.prod takes one dim: one after the other, from the last."""
    for i in sorted((d % x.ndim for d in dim), reverse=True):
        x = x.prod(i, keepdim=keepdim)
    return x


@st.composite
def spread_out(draw: Any, name: str, theirs: Any) -> Pair:
    """var and std, with a correction that leaves something to divide by."""
    shape = draw(shapes(min_dims=1, empty=False))
    wide = [i for i, size in enumerate(shape) if size > 1]
    if not wide:
        shape, wide = (3, *shape), [0]
    over, keepdims = draw(st.sampled_from((None, wide[0], wide[-1] - len(shape)))), draw(st.booleans())
    ddof = draw(st.sampled_from((0, 1)))
    mine = getattr(mg, name)
    return pair(
        draw, lambda x: mine(x, axis=over, ddof=ddof, keepdims=keepdims),
        lambda x: theirs(x, dims(over, len(shape)), correction=ddof, keepdim=keepdims), shape, how="spread",
        note=f"axis={over}, ddof={ddof}",
    )  # fmt: skip


@st.composite
def running(draw: Any, name: str, theirs: Any) -> Pair:
    """cumsum and cumprod."""
    shape = draw(shapes(min_dims=1))
    over = draw(st.none() | axis(len(shape)))
    mine = getattr(mg, name)
    flat = lambda x: theirs(x.reshape(-1), 0) if over is None else theirs(x, over)  # noqa: E731
    return pair(draw, lambda x: mine(x, axis=over), flat, shape, note=f"axis={over}")


@st.composite
def masked(draw: Any, mine: Any, theirs: Any, neutral: float) -> Pair:
    """With where=: what takes no part is torch's neutral element; something is left in every slice."""
    shape = draw(shapes(min_dims=1, empty=False))
    over = draw(axis(len(shape)))
    mask = some_of(draw(masks(shape)), over)
    hidden = torch.tensor(~mask)
    return pair(
        draw, lambda x: mine(x, axis=over, where=mask), lambda x: theirs(x.masked_fill(hidden, neutral), over), shape,
        how="spread", note=f"axis={over}, where=",
    )  # fmt: skip


PAIRS: dict[str, Any] = {
    name: strategy(name, *rest)
    for name, strategy, *rest in (
        ("sum", reduction, torch.sum, "any", True),
        ("mean", reduction, torch.mean),
        ("max", reduction, torch.amax, "spread"),
        ("min", reduction, torch.amin, "spread"),
        ("prod", reduction, product_over),
        ("norm", reduction, lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim), "spread"),
        ("var", spread_out, torch.var),
        ("std", spread_out, torch.std),
        ("cumsum", running, torch.cumsum),
        ("cumprod", running, torch.cumprod),
    )
}
MASKED: dict[str, Any] = {
    "sum": masked(mg.sum, torch.sum, 0.0),
    "max": masked(mg.max, torch.amax, -torch.inf),
    "min": masked(mg.min, torch.amin, torch.inf),
}
"""The same with `where=`."""
