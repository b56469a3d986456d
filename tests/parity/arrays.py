"""Shapes, indexing and products: NumPy's signatures on one side, torch's on the other."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.operations import indices, seeds
from tests.minigrad.strategies import Shape, axes, axis, broadcastable, shapes
from tests.parity.comparison import Pair, pair
from tests.parity.reductions import dims


@st.composite
def single(draw: Any, mine: Any, theirs: Any, min_dims: int = 1, how: str = "any") -> Pair:
    """`mine(x, axis)` against `theirs(x, axis)`."""
    shape = draw(shapes(min_dims=min_dims))
    over = draw(axis(len(shape)))
    return pair(draw, lambda x: mine(x, over), lambda x: theirs(x, over), shape, how=how, note=f"axis={over}")


@st.composite
def reshape(draw: Any) -> Pair:
    shape = draw(shapes())
    sizes = tuple(draw(st.permutations(shape)))
    return pair(draw, lambda x: mg.reshape(x, sizes), lambda x: x.reshape(sizes), shape, note=f"to {sizes}")


@st.composite
def transpose(draw: Any) -> Pair:
    shape = draw(shapes())
    order = tuple(i - len(shape) if draw(st.booleans()) else i for i in draw(st.permutations(range(len(shape)))))
    return pair(draw, lambda x: mg.transpose(x, order), lambda x: x.permute(order), shape, note=f"{order}")


@st.composite
def swapaxes(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1))
    i, j = draw(axis(len(shape))), draw(axis(len(shape)))
    return pair(draw, lambda x: mg.swapaxes(x, i, j), lambda x: x.swapaxes(i, j), shape, note=f"{i}, {j}")


@st.composite
def squeeze(draw: Any) -> Pair:
    shape = tuple(size for n in draw(shapes(max_dims=3)) for size in ((1, n) if draw(st.booleans()) else (n,)))
    return pair(draw, mg.squeeze, torch.squeeze, shape)


@st.composite
def expand_dims(draw: Any) -> Pair:
    shape = draw(shapes(max_dims=3))
    new = draw(axis(len(shape) + 1))
    return pair(draw, lambda x: mg.expand_dims(x, new), lambda x: x.unsqueeze(new), shape, note=f"{new}")


@st.composite
def broadcast_to(draw: Any) -> Pair:
    whole, x = draw(broadcastable(2))
    target = np.broadcast_shapes(whole, x)
    return pair(draw, lambda x: mg.broadcast_to(x, target), lambda x: x.broadcast_to(target), x, note=f"to {target}")


def parts_of(draw: Any) -> tuple[list[Shape], int]:
    """Shapes that differ along one axis only, and that axis."""
    shape = draw(shapes(min_dims=1))
    along = draw(axis(len(shape)))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    parts = [tuple(n if i == along % len(shape) else size for i, size in enumerate(shape)) for n in lengths]
    return parts, along


@st.composite
def concatenate(draw: Any) -> Pair:
    parts, along = parts_of(draw)
    return pair(
        draw, lambda *xs: mg.concatenate(xs, along), lambda *xs: torch.concatenate(xs, along), *parts,
        note=f"axis={along}",
    )  # fmt: skip


@st.composite
def stack(draw: Any) -> Pair:
    shape = draw(shapes(max_dims=3))
    along, count = draw(axis(len(shape) + 1)), draw(st.integers(1, 3))
    return pair(
        draw, lambda *xs: mg.stack(xs, along), lambda *xs: torch.stack(xs, along), *[shape] * count,
        note=f"axis={along}",
    )  # fmt: skip


@st.composite
def split(draw: Any) -> Pair:
    """The pieces joined in reverse order, so that one tensor says where each went."""
    parts, along = parts_of(draw)
    ends = np.cumsum([part[along] for part in parts]).tolist()
    whole = tuple(ends[-1] if i == along % len(parts[0]) else size for i, size in enumerate(parts[0]))
    return pair(
        draw, lambda x: mg.concatenate(mg.split(x, ends[:-1], axis=along)[::-1], along),
        lambda x: torch.concatenate(torch.tensor_split(x, ends[:-1], dim=along)[::-1], along), whole,
        note=f"at {ends[:-1]}, axis={along}",
    )  # fmt: skip


@st.composite
def padded(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1, max_dims=3))
    widths = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
    flat = [width for both in reversed(widths) for width in both]
    return pair(
        draw, lambda x: mg.pad(x, widths), lambda x: torch.nn.functional.pad(x, flat), shape, note=f"{widths}"
    )  # fmt: skip


@st.composite
def repeat(draw: Any) -> Pair:
    shape, count = draw(shapes(min_dims=1, max_dims=3)), draw(st.integers(1, 3))
    over = draw(st.none() | axis(len(shape)))
    return pair(
        draw, lambda x: mg.repeat(x, count, axis=over), lambda x: torch.repeat_interleave(x, count, dim=over), shape,
        note=f"{count}, axis={over}",
    )  # fmt: skip


@st.composite
def tile(draw: Any) -> Pair:
    shape = draw(shapes(max_dims=3))
    reps = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    return pair(draw, lambda x: mg.tile(x, reps), lambda x: torch.tile(x, reps), shape, note=f"{reps}")


@st.composite
def flip(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1))
    over = draw(axes(len(shape)))
    return pair(
        draw, lambda x: mg.flip(x, axis=over), lambda x: torch.flip(x, dims(over, len(shape))), shape,
        note=f"axis={over}",
    )  # fmt: skip


@st.composite
def getitem(draw: Any) -> Pair:
    """Every index that torch reads as NumPy does: no negative step, no list among slices."""
    shape = draw(shapes(min_dims=1))
    index = draw(indices(shape).filter(torch_reads))
    seen = tuple(
        torch.tensor(i if i.dtype == bool else i.astype(np.int64)) if isinstance(i, np.ndarray) else i
        for i in as_tuple(index)
    )
    return pair(draw, lambda x: mg.getitem(x, index), lambda x: x[seen], shape, note=f"[{index!r}]")


def as_tuple(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def torch_reads(index: Any) -> bool:
    """Whether torch has this index, with NumPy's meaning."""
    parts = as_tuple(index)
    if any(isinstance(i, slice) and (i.step or 1) < 0 for i in parts) or any(isinstance(i, list) for i in parts):
        return False
    arrays = [i for i in parts if isinstance(i, np.ndarray)]
    return not arrays or not any(isinstance(i, int) for i in parts)


@st.composite
def scatter_add(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1, empty=False))
    count = draw(st.integers(0, 6))
    rows = np.random.default_rng(draw(seeds)).integers(0, shape[0], count)
    index = torch.tensor(rows)
    return pair(
        draw, lambda x: mg.scatter_add(x, rows, shape),
        lambda x: torch.zeros(shape, dtype=torch.float64).index_add(0, index, x), (count, *shape[1:]),
    )  # fmt: skip


@st.composite
def take(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1, empty=False))
    over = draw(axis(len(shape)))
    chosen = np.random.default_rng(draw(seeds)).integers(0, shape[over], draw(st.integers(0, 5)))
    index = torch.tensor(chosen)
    return pair(
        draw, lambda x: mg.take(x, chosen, axis=over), lambda x: x.index_select(over, index), shape,
        note=f"axis={over}",
    )  # fmt: skip


@st.composite
def take_along_axis(draw: Any) -> Pair:
    shape = draw(shapes(min_dims=1, empty=False))
    over = draw(axis(len(shape)))
    wide = tuple(4 if i == over % len(shape) else size for i, size in enumerate(shape))
    chosen = np.random.default_rng(draw(seeds)).integers(0, shape[over], wide)
    index = torch.tensor(chosen)
    return pair(
        draw, lambda x: mg.take_along_axis(x, chosen, axis=over), lambda x: torch.take_along_dim(x, index, over),
        shape, note=f"axis={over}",
    )  # fmt: skip


@st.composite
def triangle(draw: Any, name: str, theirs: Any) -> Pair:
    shape, k = draw(shapes(min_dims=2)), draw(st.integers(-2, 2))
    mine = getattr(mg, name)
    return pair(draw, lambda x: mine(x, k), lambda x: theirs(x, k), shape, note=f"k={k}")


@st.composite
def matmul(draw: Any) -> Pair:
    left, right = draw(broadcastable(2, max_dims=2, sizes=(2, 7)))
    n, k, m = draw(st.permutations((3, 4, 5)))
    k = draw(st.sampled_from((k, k, 0, 1)))
    x = draw(st.sampled_from(((k,), (*left, n, k))))
    y = draw(st.sampled_from(((k,), (*right, k, m))))
    return pair(draw, mg.matmul, torch.matmul, x, y)


EINSUMS = (
    "ij,jk->ik", "ij,jk", "bij,bjk->bik", "...ij,...jk->...ik", "i,j->ij", "ij->ji", "ij->", "ij->j", "ij,ij->i",
    "bhqd,bhkd->bhqk", "abcd->bd", "ij,jk,kl->il", "i,i->", "bi,ij,bj->b",
)  # fmt: skip


@st.composite
def einsum(draw: Any) -> Pair:
    spelling = draw(st.sampled_from(EINSUMS))
    sizes = dict(zip("abcdhijklq", draw(st.permutations((2, 3, 4, 5, 2, 3, 4, 5, 2, 3))), strict=True))
    leading = draw(st.sampled_from(((), (2,), (3, 2))))
    operands = [
        (*leading, *(sizes[c] for c in term[3:])) if term.startswith("...") else tuple(sizes[c] for c in term)
        for term in spelling.split("->")[0].split(",")
    ]
    return pair(
        draw, lambda *xs: mg.einsum(spelling, *xs), lambda *xs: torch.einsum(spelling, *xs), *operands, note=spelling
    )  # fmt: skip


PAIRS: dict[str, Any] = {
    "broadcast_to": broadcast_to(),
    "concatenate": concatenate(),
    "einsum": einsum(),
    "expand_dims": expand_dims(),
    "flip": flip(),
    "getitem": getitem(),
    "matmul": matmul(),
    "pad": padded(),
    "repeat": repeat(),
    "reshape": reshape(),
    "scatter_add": scatter_add(),
    "split": split(),
    "squeeze": squeeze(),
    "stack": stack(),
    "swapaxes": swapaxes(),
    "take": take(),
    "take_along_axis": take_along_axis(),
    "tile": tile(),
    "transpose": transpose(),
    "tril": triangle("tril", torch.tril),
    "triu": triangle("triu", torch.triu),
    "sort": single(lambda x, over: mg.sort(x, axis=over), lambda x, over: x.sort(dim=over).values, how="spread"),
}
