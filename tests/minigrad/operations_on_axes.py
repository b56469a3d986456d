"""Cases for the rows that work along axes, and for einsum."""

from hypothesis import strategies as st

import minigrad as mg
from minigrad.operation import TABLE
from tests.minigrad.case import Case, case, masks, reduction, some_of
from tests.minigrad.strategies import axes, axis, shapes


@st.composite
def extreme(draw, function):
    shape = draw(shapes(empty=False))
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    mask = draw(st.none() | masks(shape).map(lambda mask: some_of(mask, over)))
    return case(draw, lambda x: function(x, over, keepdims, mask), shape, how="spread", note=f"axis={over}")


@st.composite
def product(draw):
    shape = draw(shapes())
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    return case(draw, lambda x: mg.prod(x, over, keepdims), shape, note=f"axis={over}")


@st.composite
def variance(draw):
    shape = draw(shapes(empty=False))
    over, keepdims, ddof = draw(axes(len(shape))), draw(st.booleans()), draw(st.sampled_from((0, 0.5)))
    return case(draw, lambda x: mg.var(x, over, ddof, keepdims), shape, note=f"axis={over}, ddof={ddof}")


@st.composite
def running(draw, function, min_dims=1):
    shape = draw(shapes(min_dims=min_dims))
    along = draw(st.none() | axis(len(shape)) if shape else st.none())
    return case(draw, lambda x: function(x, along), shape, note=f"axis={along}")


@st.composite
def recurrence(draw):
    shape = draw(shapes(min_dims=1))
    return case(draw, TABLE["recurrence"], shape, shape)


@st.composite
def flip(draw):
    shape = draw(shapes())
    over = draw(axes(len(shape)))
    return case(draw, lambda x: mg.flip(x, over), shape, note=f"axis={over}")


@st.composite
def pad(draw):
    shape = draw(shapes())
    width = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
    value = draw(st.sampled_from((0, 1.5)))
    return case(draw, lambda x: mg.pad(x, width or 2, constant_values=value), shape, note=f"{width}")


SPELLINGS = (
    "ij,jk->ik", "bij,bjk->bik", "ij,ij->i", "i,j->ij", "ij,k->", "abcd,bd->ac", "ii,i->i", "ij,jk", "ba,b",
    "ij,jk,kl->il", "i,i,i->", ",i->i", "ijj,jk->ki", "iii,ij->j", "ij,kl->jk", "...i,...i->...", "...ij,jk->...ik",
    "i...,i", "...,...", "ab,cb,ad->dc",
)  # fmt: skip


@st.composite
def einsum(draw):
    spelling = draw(st.sampled_from(SPELLINGS))
    optimize = draw(st.booleans())
    letters = sorted({letter for letter in spelling.split("->")[0] if letter.isalpha()})
    sizes = dict(zip(letters, draw(st.permutations((2, 3, 4, 5))), strict=False))
    if draw(st.integers(0, 5)) == 0:
        sizes[draw(st.sampled_from(letters or ["i"]))] = 0
    operands = []
    for term in spelling.split("->")[0].split(","):
        hidden = draw(st.sampled_from(((), (6,), (2, 6), (1, 6), (2, 1)))) if "..." in term else ()
        place = term.find("...")
        letters_before, letters_after = (term[:place], term[place + 3 :]) if place >= 0 else (term, "")
        ones = {letter for letter in term if draw(st.integers(0, 7)) == 0}
        before, after = (
            tuple(1 if letter in ones else sizes[letter] for letter in part) for part in (letters_before, letters_after)
        )
        operands.append((*before, *hidden, *after))
    return case(draw, lambda *xs: mg.einsum(spelling, *xs, optimize=optimize), *operands, note=spelling)


CASES_ON_AXES: dict[str, st.SearchStrategy[Case]] = {
    "cumprod": running(mg.cumprod),
    "cumsum": running(mg.cumsum),
    "einsum": einsum(),
    "flip": flip(),
    "max": extreme(mg.max),
    "min": extreme(mg.min),
    "norm": reduction(lambda x, over, keepdims: mg.norm(x, None, over, keepdims), empty=False),
    "pad": pad(),
    "prod": product(),
    "recurrence": recurrence(),
    "var": variance(),
}
