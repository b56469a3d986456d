"""A formula as plain text. It is Python, with NumPy's names: evaluating it gives the value."""

from typing import Any

import numpy as np

from minigrad.formulas.symbols import Symbol

IF, COMPARED, OR, AND, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
BINDS = {"|": OR, "&": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "@": PRODUCT, "**": POWER}
"""How tightly an operator binds, as in Python. All comparisons bind alike."""


def text(formula: Any) -> str:
    """The formula in one line."""
    return written(formula)[0]


def written(formula: Any) -> tuple[str, int]:
    """(text, how tightly its outermost operation binds)."""
    if not isinstance(formula, Symbol):
        return value(formula)
    match formula.kind:
        case "name":
            return formula.what, ATOM
        case "operator":
            strength = BINDS.get(formula.what, COMPARED)
            left, right = formula.parts
            # What follows on the right of its like needs parentheses, but for a sum in a sum, a product in a product.
            return (
                f"{within(left, strength + (strength in (POWER, COMPARED)))} {formula.what} "
                f"{within(right, strength + 1 - (formula.what == '**'))}",
                strength,
            )
        case "negative":
            return f"-{within(formula.parts[0], SIGN)}", SIGN
        case "not":
            return f"~{within(formula.parts[0], SIGN)}", SIGN
        case "attribute":
            return f"{within(formula.parts[0], ATOM)}.{formula.what}", ATOM
        case "item":
            whole, index = formula.parts
            return f"{within(whole, ATOM)}[{place(index)}]", ATOM
        case "if":
            condition, yes, no = formula.parts
            return f"{within(yes, COMPARED)} if {within(condition, COMPARED)} else {text(no)}", IF
    options = [f"{key}={text(part)}" for key, part in formula.options.items()]
    return f"{formula.what}({', '.join([*map(text, formula.parts), *options])})", ATOM


def within(formula: Any, strength: int) -> str:
    """The text, in parentheses where it binds less than `strength`."""
    body, own = written(formula)
    return body if own >= strength else f"({body})"


def value(plain: Any) -> tuple[str, int]:
    """A plain value: a number, a tuple of formulas, a dtype, None."""
    if isinstance(plain, tuple | list):
        parts = ", ".join(map(text, plain))
        return (f"[{parts}]" if isinstance(plain, list) else f"({parts}{',' * (len(plain) == 1)})"), ATOM
    if isinstance(plain, np.generic):
        plain = plain.item()
    if isinstance(plain, np.ndarray):
        return f"array({plain.tolist()!r})", ATOM
    if plain is Ellipsis:
        return "...", ATOM
    if isinstance(plain, slice):
        parts = ", ".join(map(text, (plain.start, plain.stop, plain.step)))
        return f"slice({parts})", ATOM
    if isinstance(plain, type):
        return plain.__name__, ATOM
    negative = isinstance(plain, int | float) and plain < 0
    return repr(plain), SIGN if negative else ATOM


def place(index: Any) -> str:
    """An index as it stands between brackets."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(place, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        start, stop = ("" if end is None else text(end) for end in (index.start, index.stop))
        return f"{start}:{stop}" + ("" if index.step is None else f":{text(index.step)}")
    return text(index)
