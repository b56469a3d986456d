"""einsum: sums of products over named axes.

What concerns one operand alone (an index written twice, an index found nowhere else) is done by slices, sums and
transposes, which have their own rows. What is left is a product of two operands, each index once in each: the row
"einsum". Its derivative is an einsum again: of the cotangent and the other operand.
"""

from collections import Counter
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.axes import located, shape_of
from minigrad.ops.indexing import getitem
from minigrad.ops.reductions import sum
from minigrad.ops.shapes import reshape, transpose
from minigrad.primitive import Primitive, Rule
from minigrad.registry import answers
from minigrad.tape import Array
from minigrad.tensor import Tensor, TensorLike

Sizes = dict[str, int]


def _product(x: Any, y: Any, *, subscripts: str, **_: Any) -> Array:
    """numpy.einsum, told to look for a matrix product; a plain number, which is weak, in the other operand's dtype."""
    dtype = np.result_type(x, y)
    return np.asarray(np.einsum(subscripts, np.asarray(x, dtype), np.asarray(y, dtype), optimize=True))


def _toward(g: Any, other: Any, own: str, others: str, result: str, sizes: Sizes) -> Any:
    """The cotangent of the operand with the indices `own`: stretched over those that the product never saw."""
    known = "".join(label for label in own if label in result or label in others)
    seen = dict(zip(others, np.shape(other), strict=True)) | dict(zip(result, g.shape, strict=True))
    part = _einsum.in_kind(
        g, other, left=result, right=others, result=known, sizes=seen, subscripts=f"{result},{others}->{known}"
    )
    spread = part[tuple(slice(None) if label in known else None for label in own)]
    return np.broadcast_to(spread, tuple(sizes[label] for label in own))


_einsum: Primitive = Primitive(
    "einsum", _product, "sum of x * y over the indices not kept",
    Rule(lambda g, out, x, y, *, left, right, result, sizes, **_: _toward(g, y, left, right, result, sizes), "y"),
    Rule(lambda g, out, x, y, *, left, right, result, sizes, **_: _toward(g, x, right, left, result, sizes), "x"),
    derived="left right result sizes",
)  # fmt: skip


@answers(np.einsum)
def einsum(subscripts: str, *operands: TensorLike, optimize: Any = False) -> Tensor:
    """The sum of products over the indices that `subscripts` leaves out, as NumPy: "bij,bjk->bik", "ii->i", "...i,i".

    An index may be repeated within an operand (its diagonal), stand in one operand only (summed), or be hidden in an
    ellipsis (broadcast); without "->" the indices that occur once are kept, in the alphabet's order.
    The derivative of an operand is the einsum of g and the others. Three operands and more are taken two by two, from
    the left; `optimize` says to choose the cheapest order (`numpy.einsum_path`).
    Raises ShapeError for subscripts that do not fit the operands, TypeError for the form with lists.
    """
    if not isinstance(subscripts, str):
        raise DtypeError(f"{located('einsum')}: the form with lists is not supported; write 'ij,jk->ik'")
    shapes = [shape_of(operand) for operand in operands]
    terms, result = _parsed(subscripts, shapes)
    _sizes(subscripts, terms, shapes)
    parts = [_diagonals(operand, term) for operand, term in zip(operands, terms, strict=True)]
    order = [(0, 1)] * (len(parts) - 1)
    if optimize is not False:
        order = np.einsum_path(f"{','.join(terms)}->{result}", *map(np.empty, shapes), optimize="greedy")[0][1:]
    for pair in order:
        first, *others = [parts.pop(i) for i in sorted(pair, reverse=True)][::-1]
        for position, other in enumerate(others, 1):
            wanted = result + "".join(term for _, term in (*parts, *others[position:]))
            first = _merged(first, other, wanted)
        parts.insert(0 if optimize is False else len(parts), first)
    return _arranged(*parts[0], result)


def _parsed(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """The terms and the result with the ellipses spelt out, as letters not used elsewhere."""
    text = subscripts.replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    bad = set(text.replace("...", "").replace("->", "").replace(",", "")) - set(ascii_letters)
    if bad or len(terms) != len(shapes) or any(term.count("...") > 1 for term in (*terms, result)):
        raise _misfit(subscripts, shapes, f"{len(terms)} terms of letters and at most one ellipsis are needed, each")
    hidden = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=True)]
    for term, extra in zip(terms, hidden, strict=True):
        if extra < 0 or (extra and "..." not in term):
            raise _misfit(subscripts, shapes, f"'{term}' does not name the axes of its operand")
    deepest = max((extra for term, extra in zip(terms, hidden, strict=True) if "..." in term), default=0)
    spare = "".join(label for label in ascii_letters if label not in text)[:deepest]
    if len(spare) < deepest:
        raise _misfit(subscripts, shapes, "there are not letters enough")
    spelt = [term.replace("...", spare[deepest - extra :]) for term, extra in zip(terms, hidden, strict=True)]
    if arrow:
        result = result.replace("...", spare)
    else:
        counts = Counter(left.replace("...", ""))
        result = spare + "".join(label for label in sorted(counts) if label != "," and counts[label] == 1)
    if len(set(result)) != len(result) or not set(result) <= set("".join(spelt)):
        raise _misfit(subscripts, shapes, "the result may name each index of the operands once")
    return spelt, result


def _sizes(subscripts: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Sizes:
    """The size of each index; 1 broadcasts. Raises ShapeError where two differ."""
    sizes: Sizes = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            if sizes.setdefault(label, size) == 1:
                sizes[label] = size
            elif size not in (1, sizes[label]):
                raise _misfit(subscripts, shapes, f"index {label!r} has sizes {sizes[label]} and {size}")
    return sizes


def _misfit(subscripts: str, shapes: Sequence[tuple[int, ...]], why: str) -> ShapeError:
    return ShapeError(f"{located('einsum')}: {subscripts!r} with {', '.join(map(str, shapes))}: {why}")


def _diagonals(x: TensorLike, term: str) -> tuple[TensorLike, str]:
    """x with each index once; of a repeated one the diagonal: every (n+1)-th element of the two axes made one."""
    while len(set(term)) < len(term):
        label = next(label for label in term if term.count(label) > 1)
        i, j = term.index(label), term.index(label, term.index(label) + 1)
        rest = [axis for axis in range(len(term)) if axis not in (i, j)]
        x = transpose(x, (*rest, i, j))
        *leading, n, m = x.shape
        if n != m:
            raise ShapeError(f"{located('einsum')}: index {label!r} has sizes {n} and {m} within one operand")
        x = getitem(reshape(x, (*leading, n * n)), (..., slice(None, None, n + 1)))
        term = "".join(term[axis] for axis in rest) + label
    return x, term


def _merged(left: tuple[TensorLike, str], right: tuple[TensorLike, str], wanted: str) -> tuple[TensorLike, str]:
    """The product of two parts, summed over what nobody wants further on."""
    (x, own), (y, others) = left, right
    kept = "".join(dict.fromkeys(label for label in wanted if label in own + others))
    subscripts = f"{own},{others}->{kept}"
    sizes = _sizes(subscripts, (own, others), (shape_of(x), shape_of(y)))
    return _einsum(x, y, left=own, right=others, result=kept, sizes=sizes, subscripts=subscripts), kept


def _arranged(x: TensorLike, term: str, result: str) -> Tensor:
    """One part, summed over what the result leaves out, its axes in the result's order."""
    gone = tuple(i for i, label in enumerate(term) if label not in result)
    total = sum(x, gone) if gone else x
    left = "".join(label for label in term if label in result)
    if left == result and isinstance(total, Tensor):
        return total
    return transpose(total, tuple(left.index(label) for label in result))
