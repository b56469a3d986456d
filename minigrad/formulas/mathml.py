"""A formula as MathML, which browsers typeset without network or scripts."""

from html import escape
from typing import Any

from minigrad.formulas.symbols import Symbol
from minigrad.formulas.text import ATOM, BINDS, COMPARED, PRODUCT, SIGN, SUM, text, written

SIGNS = {"*": "·", "-": "−", ">=": "≥", "<=": "≤", "==": "=", "!=": "≠", "&": "∧", "|": "∨"}
COMPARISONS = {">", "<", ">=", "<=", "==", "!="}


def mathml(formula: Any) -> str:
    """A `<math>` element that shows the formula, with its plain text as the alternative."""
    return f'<math alttext="{escape(text(formula))}" displaystyle="true">{typeset(formula)}</math>'


def typeset(formula: Any) -> str:
    """The MathML of a formula, as one element."""
    if not isinstance(formula, Symbol):
        return plain(formula)
    match formula.kind:
        case "name":
            return identifier(formula.what)
        case "operator":
            return operation(formula.what, *formula.parts)
        case "negative":
            return row(sign("−"), enclosed(formula.parts[0], SIGN))
        case "not":
            return row(sign("¬"), enclosed(formula.parts[0], SIGN))
        case "attribute":
            return attribute(formula.parts[0], formula.what)
        case "item":
            whole, index = formula.parts
            shown = text(Symbol("item", "", Symbol("name", ""), index))[1:-1]  # what stands between the brackets
            return row(enclosed(whole, ATOM), fenced("[", f"<mtext>{escape(shown)}</mtext>", "]"))
        case "if":
            condition, yes, no = formula.parts
            return cases([(yes, condition)], no)
    return call(formula.what, formula.parts, formula.options)


def operation(what: str, left: Any, right: Any) -> str:
    """An operator between its operands: a quotient as a fraction, a power raised."""
    if what == "/":
        return f"<mfrac>{typeset(left)}{typeset(right)}</mfrac>"
    if what == "**":
        return f"<msup>{enclosed(left, ATOM)}{typeset(right)}</msup>"
    strength = BINDS.get(what, COMPARED)
    between = '<mspace width="0.25em"/>' if what == "@" else sign(SIGNS.get(what, what))
    # A comparison that is reckoned with counts 1 or 0: Iverson's bracket.
    return row(enclosed(left, strength), between, enclosed(right, strength + (what in "-*@")))


def call(what: str, parts: tuple[Any, ...], options: dict[str, Any]) -> str:
    """A function of its arguments, in the notation that it has."""
    if what == "where" and len(parts) == 3:
        condition, yes, no = parts
        return cases([(yes, condition)], no)
    if what == "sqrt":
        return f"<msqrt>{typeset(parts[0])}</msqrt>"
    if what == "abs":
        return fenced("|", typeset(parts[0]), "|")
    if what == "square":
        return f"<msup>{enclosed(parts[0], ATOM)}<mn>2</mn></msup>"
    if what == "swapaxes" and [text(part) for part in parts[1:]] in (["-1", "-2"], ["-2", "-1"]):
        return f"<msup>{enclosed(parts[0], ATOM)}<mi>T</mi></msup>"
    if what == "sum" and set(options) <= {"axis", "keepdims"} and len(parts) == 1:
        axis = f"<munder>{sign('∑')}{typeset(options['axis'])}</munder>" if "axis" in options else sign("∑")
        return row(axis, enclosed(parts[0], PRODUCT))
    shown = [typeset(part) for part in parts]
    shown += [row(identifier(key), sign("="), typeset(part)) for key, part in options.items() if key != "keepdims"]
    return row(identifier(what), fenced("(", sign(",").join(shown), ")"))


def cases(branches: list[tuple[Any, Any]], otherwise: Any) -> str:
    """One of several formulas, by conditions: a brace. Alternatives of the last one join it."""
    while isinstance(otherwise, Symbol) and (
        (otherwise.kind == "call" and otherwise.what == "where") or otherwise.kind == "if"
    ):
        condition, yes, otherwise = otherwise.parts
        branches.append((yes, condition))
    left = '<mtd style="text-align:left">'
    lines = [f"{left}{typeset(yes)}</mtd>{left}<mtext>if\u00a0</mtext>{typeset(when)}</mtd>" for yes, when in branches]
    lines.append(f"{left}{typeset(otherwise)}</mtd>{left}<mtext>otherwise</mtext></mtd>")
    table = "".join(f"<mtr>{line}</mtr>" for line in lines)
    return row(sign("{"), f"<mtable>{table}</mtable>")


def attribute(whole: Any, what: str) -> str:
    """The shape of x and the like; the transposed raised."""
    if what == "T":
        return f"<msup>{enclosed(whole, ATOM)}<mi>T</mi></msup>"
    return row(identifier(what), fenced("(", typeset(whole), ")"))


def enclosed(formula: Any, strength: int) -> str:
    """The MathML, in parentheses where it binds less than `strength`; a comparison in Iverson's brackets."""
    shown = typeset(formula)
    if isinstance(formula, Symbol) and formula.kind == "operator":
        if formula.what in COMPARISONS and strength >= SUM:
            return fenced("[", shown, "]")
        if formula.what == "/" and strength <= PRODUCT + 1:
            return shown  # a fraction's line says enough
    if isinstance(formula, Symbol) and formula.kind == "call" and formula.what == "sum" and strength > PRODUCT:
        return fenced("(", shown, ")")
    return shown if written(formula)[1] >= strength else fenced("(", shown, ")")


def plain(value: Any) -> str:
    """A plain value: a number, a tuple of formulas, or anything as its text."""
    if isinstance(value, tuple):
        return fenced("(", sign(",").join(map(typeset, value)), ")")
    shown = text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return row(sign("−"), f"<mn>{shown[1:]}</mn>") if shown.startswith("-") else f"<mn>{shown}</mn>"
    return f"<mtext>{escape(shown)}</mtext>"


def identifier(what: str) -> str:
    """A name: one letter slanted, as browsers show it, more upright."""
    return f"<mi>{escape(what)}</mi>"


def sign(what: str) -> str:
    """An operator's sign, or a bracket."""
    return f"<mo>{escape(what)}</mo>"


def fenced(opening: str, inside: str, closing: str) -> str:
    """Something between brackets, which are as high as it is where it has several lines, else as a letter."""
    high = "true" if "<mfrac>" in inside or "<mtable>" in inside or "<munder>" in inside else "false"
    return f'<mrow><mo stretchy="{high}">{opening}</mo>{inside}<mo stretchy="{high}">{closing}</mo></mrow>'


def row(*parts: str) -> str:
    """Elements side by side."""
    return f"<mrow>{''.join(parts)}</mrow>"
