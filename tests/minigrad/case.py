"""A case: an operation of the table with drawn operands and parameters, and the means to draw one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.strategies import Layout, Shape, arrays, axes, broadcastable, layouts, shapes

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Case:
    """`call(*operands)` applies the operation; operand i is `layouts[i].view(bases[i])`, of the base's layout."""

    call: Callable[..., mg.Tensor]
    bases: list[np.ndarray]
    layouts: list[Layout]
    note: str = ""

    def operands(self, bases: Sequence[Any] | None = None) -> list[Any]:
        """The operands as views of these bases (arrays or Tensors)."""
        given = self.bases if bases is None else bases
        return [layout.view(base) for layout, base in zip(self.layouts, given, strict=True)]

    def of_views(self, *bases: Any) -> mg.Tensor:
        """The same as a function of the bases, so that what is checked has gone through the layout."""
        return self.call(*self.operands(bases))

    def __repr__(self) -> str:
        operands = ", ".join(
            f"{layout.name} {operand.shape}" for layout, operand in zip(self.layouts, self.operands(), strict=True)
        )
        return f"<{self.note or 'case'}: {operands}>"


def case(draw: Any, call: Callable[..., mg.Tensor], *operands: Shape, how: str | Sequence[str] = "any", note: str = ""):
    """A case whose operands have these shapes, with drawn numbers and layouts."""
    chosen = [draw(layouts) for _ in operands]
    hows = [how] * len(operands) if isinstance(how, str) else how
    bases = [
        draw(arrays(layout.base_shape(shape), how))
        for shape, layout, how in zip(operands, chosen, hows, strict=True)
    ]  # fmt: skip
    return Case(call, bases, chosen, note)


@st.composite
def elementwise(draw, function, count=1, how="any"):
    operands = draw(broadcastable(count)) if count > 1 else (draw(shapes()),)
    return case(draw, function, *operands, how=how)


def apart(function):
    """`function` of spread operands, the second moved so that no element of one equals one of the other."""
    return lambda x, y: function(x, y + 0.025)


def masks(shape: Shape) -> st.SearchStrategy[np.ndarray]:
    """Boolean arrays of this shape: random, all True, or all False."""
    return st.one_of(
        seeds.map(lambda seed: np.asarray(np.random.default_rng(seed).random(shape) < 0.6)),
        st.sampled_from((True, False)).map(lambda value: np.full(shape, value)),
    )


def some_of(mask: np.ndarray, axis: Any) -> np.ndarray:
    """The mask with True added where it would leave nothing over `axis`."""
    return np.asarray(mask | ~mask.any(axis=axis, keepdims=True))


@st.composite
def reduction(draw, function, how="any", empty=True):
    shape = draw(shapes(empty=empty))
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    return case(draw, lambda x: function(x, over, keepdims), shape, how=how, note=f"axis={over}")
