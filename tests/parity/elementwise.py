"""Operations on each element: minigrad's and torch's, over drawn shapes that broadcast, away from their kinks."""

from typing import Any

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

import minigrad as mg
from tests.minigrad.operations import masks
from tests.minigrad.strategies import broadcastable, shapes
from tests.parity.comparison import Pair, pair


@st.composite
def elementwise(draw: Any, name: str, theirs: Any, how: str = "any") -> Pair:
    return pair(draw, getattr(mg, name), theirs, draw(shapes()), how=how)


@st.composite
def binary(draw: Any, name: str, theirs: Any, how: str = "any", gap: float = 0.0) -> Pair:
    """With a gap, the second operand is moved by it, so that "spread" numbers of both never tie."""
    mine = getattr(mg, name)
    return pair(
        draw, lambda x, y: mine(x, y + gap), lambda x, y: theirs(x, y + gap), *draw(broadcastable(2)), how=how
    )  # fmt: skip


@st.composite
def power(draw: Any) -> Pair:
    if draw(st.booleans()):
        return pair(draw, mg.power, torch.pow, *draw(broadcastable(2)), how=("positive", "any"))
    exponent = draw(st.sampled_from((0, 1, 2, 3, -1, -2, 0.5, 2.5, -0.5, 1.0)))
    how = "positive" if exponent != int(exponent) or exponent < 0 else "any"
    return pair(draw, lambda x: x**exponent, lambda x: x**exponent, draw(shapes()), how=how, note=f"** {exponent}")


@st.composite
def where(draw: Any) -> Pair:
    condition, x, y = draw(broadcastable(3))
    mask = draw(masks(condition))
    seen = torch.tensor(mask)
    return pair(draw, lambda a, b: mg.where(mask, a, b), lambda a, b: torch.where(seen, a, b), x, y)


@st.composite
def clip(draw: Any) -> Pair:
    low, high = draw(st.sampled_from(((-0.52, 0.53), (None, 0.23), (-0.27, None), (10.0, 20.0))))
    return pair(
        draw, lambda x: mg.clip(x, low, high), lambda x: torch.clamp(x, low, high), draw(shapes()), how="spread",
        note=f"[{low}, {high}]",
    )  # fmt: skip


@st.composite
def astype(draw: Any) -> Pair:
    mine = lambda x: x.astype("float32").astype("float64")  # noqa: E731
    return pair(draw, mine, lambda x: x.float().double(), draw(shapes()), note="through float32")


UNARY: dict[str, tuple[Any, str]] = {
    "abs": (torch.abs, "spread"),
    "negative": (torch.negative, "any"),
    "exp": (torch.exp, "any"),
    "log": (torch.log, "positive"),
    "sqrt": (torch.sqrt, "positive"),
    "tanh": (torch.tanh, "any"),
    "sin": (torch.sin, "any"),
    "cos": (torch.cos, "any"),
    "relu": (torch.relu, "spread"),
    "sigmoid": (torch.sigmoid, "any"),
    "silu": (F.silu, "any"),
    "softplus": (F.softplus, "any"),
    "erf": (torch.erf, "any"),
}
BINARY: dict[str, tuple[Any, ...]] = {
    "add": (torch.add,),
    "subtract": (torch.subtract,),
    "multiply": (torch.multiply,),
    "divide": (torch.divide, "positive"),
    "maximum": (torch.maximum, "spread", 0.025),
    "minimum": (torch.minimum, "spread", 0.025),
    "logaddexp": (torch.logaddexp,),
}
PAIRS: dict[str, Any] = {
    **{name: elementwise(name, *rest) for name, rest in UNARY.items()},
    **{name: binary(name, *rest) for name, rest in BINARY.items()},
    "power": power(),
    "where": where(),
    "clip": clip(),
    "astype": astype(),
}
