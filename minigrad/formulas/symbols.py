"""Symbols: they answer the operators and NumPy's protocols as Tensors do, and remember what was asked of them."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from minigrad.operation import Operation

OPERATORS: dict[str, str] = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@",
    "greater": ">", "less": "<", "greater_equal": ">=", "less_equal": "<=", "equal": "==", "not_equal": "!=",
    "bitwise_and": "&", "bitwise_or": "|", "logical_and": "&", "logical_or": "|",
}  # fmt: skip
"""NumPy's name of an operator, and how Python writes it."""

MOST_BRANCHES = 6


class Undecided(Exception):
    """The truth of a symbol was asked for, and nobody has said what it is."""

    def __init__(self, condition: "Symbol") -> None:
        super().__init__(f"is {condition} true?")
        self.condition = condition


_ANSWERS: ContextVar[list[bool]] = ContextVar("answers")


class Symbol:
    """A name, or an operation on symbols and plain values.

    kind: "name", "operator", "negative", "not", "call", "attribute", "item" or "if".
    what: the name, the operator's sign, the function's or the attribute's name.
    parts: the operands; `options`: a call's keywords.
    """

    __slots__ = ("kind", "options", "parts", "what")
    __iter__ = None  # else Python would ask for item 0, 1, 2, ... for ever

    def __init__(self, kind: str, what: str, *parts: Any, **options: Any) -> None:
        self.kind = kind
        self.what = what
        self.parts = parts
        self.options = options

    def __repr__(self) -> str:
        from minigrad.formulas.text import text

        return text(self)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        answers = _ANSWERS.get([])
        if not answers:
            raise Undecided(self)
        return answers.pop(0)

    def applied(self, operation: "Operation", *others: Any, **params: Any) -> "Symbol":
        """Another row of the table, applied within a rule."""
        return Symbol("call", operation.name, self, *others, **params)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> "Symbol":
        if method != "__call__" or kwargs:
            raise TypeError(f"np.{ufunc.__name__}.{method} writes where none looks")
        if ufunc.__name__ in OPERATORS:
            return Symbol("operator", OPERATORS[ufunc.__name__], *inputs)
        if ufunc is np.negative:
            return Symbol("negative", "-", *inputs)
        if ufunc in (np.logical_not, np.invert):
            return Symbol("not", "~", *inputs)
        return Symbol("call", "abs" if ufunc is np.absolute else ufunc.__name__, *inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> "Symbol":
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        return Symbol("call", f"{module}.{function.__name__}" if module else function.__name__, *args, **kwargs)

    # What a Tensor also answers; a method is written as NumPy's function of its name

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "size", "T"):
            return Symbol("attribute", name, self)
        if name.startswith("_") or not callable(getattr(np, name, None)) or not hasattr(np.ndarray, name):
            raise AttributeError(f"a symbol has no {name}")
        return lambda *args, **options: Symbol("call", name, self, *args, **options)

    def __getitem__(self, index: Any) -> "Symbol":
        return Symbol("item", "", self, index)

    def astype(self, dtype: Any) -> "Symbol":
        """In another dtype."""
        return Symbol("call", "astype", self, dtype)

    def __neg__(self) -> "Symbol":
        return Symbol("negative", "-", self)

    def __pos__(self) -> "Symbol":
        return self

    def __invert__(self) -> "Symbol":
        return Symbol("not", "~", self)

    def __abs__(self) -> "Symbol":
        return Symbol("call", "abs", self)

    if TYPE_CHECKING:

        def _answer(self, other: Any) -> "Symbol": ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _answer
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = _answer
        __gt__ = __lt__ = __ge__ = __le__ = _answer


def answer(sign: str, swapped: bool) -> Callable[[Symbol, Any], Symbol]:
    """The method for an operator; `swapped` where the symbol stands on the right."""
    return lambda self, other: Symbol("operator", sign, *((other, self) if swapped else (self, other)))


for _name, _sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@", "and": "&", "or": "|",
}.items():  # fmt: skip
    setattr(Symbol, f"__{_name}__", answer(_sign, False))
    setattr(Symbol, f"__r{_name}__", answer(_sign, True))
for _comparison, _sign in {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}.items():
    setattr(Symbol, f"__{_comparison}__", answer(_sign, False))


def name(what: str) -> Symbol:
    """A symbol that stands for itself."""
    return Symbol("name", what)


def explore(function: Callable[[], Any], decided: tuple[bool, ...] = ()) -> Any:
    """What `function`, of symbols, gives. Where it asks for the truth of one, both ways are gone.

    Raises whatever the function does, and RecursionError beyond a few branches one after another.
    """
    token = _ANSWERS.set(list(decided))
    try:
        return function()
    except Undecided as question:
        condition = question.condition
    finally:
        _ANSWERS.reset(token)
    if len(decided) == MOST_BRANCHES:
        raise RecursionError("a rule that asks so many questions has no formula")
    yes, no = explore(function, (*decided, True)), explore(function, (*decided, False))
    return yes if same(yes, no) else Symbol("if", "", condition, yes, no)


def same(one: Any, other: Any) -> bool:
    """Whether two formulas are written alike."""
    return repr(one) == repr(other)
