"""What the engine's tests are fed: shapes, axes and arrays that find the mistakes which square, contiguous ones hide.

Sizes within a shape are distinct, so that two exchanged axes show; there are 0-d and size-0 arrays, negative and tuple
axes, and operands in every memory layout. Numbers come from a drawn seed: hypothesis shrinks shapes, not them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minigrad import Tensor
from minigrad.tensor import wrap

SIZES = (2, 3, 4, 5)
LAYOUTS = ("plain", "reversed", "strided", "transposed")
FLOATS = (np.float32, np.float64)

Shape = tuple[int, ...]


@st.composite
def shapes(draw, min_dims: int = 0, max_dims: int = 4, sizes: Sequence[int] = SIZES, empty: bool = True) -> Shape:
    """Distinct sizes; now and then one axis is 1, or (with `empty`) 0."""
    dims = draw(st.integers(min_dims, max_dims))
    shape = list(draw(st.permutations(sizes)))[:dims]
    special = draw(st.sampled_from((None, None, None, 1, 0 if empty else 1)))
    if dims and special is not None:
        shape[draw(st.integers(0, dims - 1))] = special
    return tuple(shape)


@st.composite
def broadcastable(draw, count: int = 2, **options: Any) -> tuple[Shape, ...]:
    """`count` shapes that broadcast: each lacks some leading axes of a common shape and has 1 at some others."""
    whole = draw(shapes(**options))
    found = []
    for _ in range(count):
        kept = whole[draw(st.integers(0, len(whole))) :] if draw(st.booleans()) else whole
        found.append(tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in kept))
    return tuple(found)


def axis(ndim: int) -> st.SearchStrategy[int]:
    """One axis, counted from either end."""
    return st.integers(-ndim, ndim - 1)


@st.composite
def axes(draw, ndim: int) -> int | tuple[int, ...] | None:
    """None, an axis, or a tuple of any number of them (none, too), each from either end."""
    kind = draw(st.sampled_from(("all", "one", "some")))
    if kind == "all" or not ndim:
        return draw(st.sampled_from((None, ()))) if kind != "all" else None
    if kind == "one":
        return draw(axis(ndim))
    chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim))
    return tuple(i - ndim if draw(st.booleans()) else i for i in chosen)


@dataclass(frozen=True)
class Layout:
    """An operand as a view of a base array: `layout.view(base)` works for arrays and for Tensors."""

    name: str

    def base_shape(self, shape: Shape) -> Shape:
        """The base's shape, for an operand of `shape`."""
        if self.name == "strided" and shape:
            return (*shape[:-1], 2 * shape[-1])
        return shape[::-1] if self.name == "transposed" else shape

    def view(self, base: Any) -> Any:
        """The operand."""
        if self.name == "transposed":
            return base.T
        if self.name == "plain" or not base.ndim:
            return base
        return base[::-1] if self.name == "reversed" else base[..., ::2]


layouts = st.sampled_from(LAYOUTS).map(Layout)


def numbers(shape: Shape, seed: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Uniform float64 numbers."""
    return np.asarray(np.random.default_rng(seed).uniform(low, high, shape))


def spread(shape: Shape, seed: int) -> np.ndarray:
    """Distinct numbers, each at least 0.05 from any other and from 0: a kink is further than any difference's step."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation((np.arange(count) - count // 2 + 0.5) * 0.1).reshape(shape)


@st.composite
def arrays(draw, shape: Shape, how: str = "any") -> np.ndarray:
    """A float64 array: "any" numbers in +-2, "positive" ones in [0.5, 2], or "spread" ones without ties."""
    seed = draw(st.integers(0, 2**32 - 1))
    if how == "spread":
        return spread(shape, seed)
    return numbers(shape, seed, 0.5 if how == "positive" else -2.0)


def locked(array: Any) -> np.ndarray:
    """The same array, read-only."""
    array = np.asarray(array)
    array.setflags(write=False)
    return array


def leaf(array: np.ndarray) -> Tensor:
    """A leaf around this very array, in the layout that it has (`Tensor(array)` makes a compact copy)."""
    tensor = wrap(locked(array), None)
    tensor.requires_grad = True
    return tensor


def cotangent(shape: Shape, dtype: Any, layout: Layout, seed: int) -> Tensor:
    """A random cotangent in this layout."""
    return wrap(locked(layout.view(numbers(layout.base_shape(shape), seed).astype(dtype))), None)
