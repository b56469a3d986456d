"""The table of rules as formulas: every operation, with the derivative for each of its operands."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

from minigrad.formulas.mathml import mathml
from minigrad.formulas.symbols import Symbol, explore, name
from minigrad.formulas.text import text
from minigrad.fused import Fused
from minigrad.operation import TABLE, Operation, operand_names
from minigrad.primitive import Primitive


@dataclass(frozen=True)
class Derivative:
    """What an operand gets from the output's cotangent g.

    operand: its name; "" for a kernel, which serves all.
    formula: what the rule did to symbols; None where it needs real arrays (a kernel, a rule that counts axes).
    source: then its text: the expression itself, or what the kernel's docstring says.
    reads: the names of what it reads, but for g.
    """

    operand: str
    formula: Symbol | None
    source: str
    reads: tuple[str, ...]

    def __str__(self) -> str:
        return self.source if self.formula is None else text(self.formula)

    @property
    def mathml(self) -> str | None:
        """The formula as MathML; None where there is only a source."""
        return None if self.formula is None else mathml(self.formula)


@dataclass(frozen=True)
class Row:
    """A row of the table.

    operation: itself; called with operands and parameters, it runs.
    fused: its derivative is a hand-derived kernel's, of all operands at once.
    """

    name: str
    operation: Operation
    forward: str
    derivatives: tuple[Derivative, ...]
    reads: tuple[str, ...]
    kinks: str
    fused: bool

    @property
    def forward_mathml(self) -> str | None:
        """The forward pass as MathML; None where the table says it in words."""
        formula = parsed(self.forward)
        return None if formula is None else mathml(formula)


def rows() -> Iterator[Row]:
    """Every row of the table, by the alphabet."""
    for operation_name in sorted(TABLE):
        operation = TABLE[operation_name]
        derivatives = tuple(of_kernel(operation) if isinstance(operation, Fused) else of_rules(operation))
        read = {part for derivative in derivatives for part in derivative.reads}
        yield Row(
            operation_name,
            operation,
            operation.formula,
            derivatives,
            tuple(part for part in (*operation.operands[1:], "out") if part in read),  # type: ignore[attr-defined]
            operation.kinks,
            isinstance(operation, Fused),
        )


def of_rules(operation: Operation) -> Iterator[Derivative]:
    """The derivatives of a primitive, each written by its rule."""
    assert isinstance(operation, Primitive)
    for position, rule in enumerate(operation.rules):
        if rule is None:
            continue
        formula = symbolic(operation, rule.function)
        source = "" if formula is not None else source_of(rule.function)
        operand = operation.operands[1:][position]
        reads = tuple(part for part in (*operation.operands[1:], "out") if part in rule.reads)
        yield Derivative(operand, formula, source, reads)


def symbolic(operation: Primitive, rule: Callable[..., Any]) -> Symbol | None:
    """What the rule gives for symbols; None where it can't do with them."""
    if operation.variadic:
        return None  # it counts its operands
    operands = [name(operand) for operand in operation.operands[1:]]
    params = {param: name(param) for param in parameters(operation, rule)}
    try:
        found = explore(partial(rule, name("g"), name("out"), *operands, **params))
    except Exception:  # whatever a rule does with what is no array
        return None
    return found if isinstance(found, Symbol) else None


def parameters(operation: Primitive, rule: Callable[..., Any]) -> list[str]:
    """The names of an operation's keyword parameters: what its forward pass takes, and its rule names."""
    functions = [function for function in (operation.forward, rule) if isinstance(function, FunctionType)]
    found = [p for function in functions for p in inspect.signature(function).parameters.values()]
    return list(dict.fromkeys(p.name for p in found if p.kind is p.KEYWORD_ONLY))


def source_of(rule: Callable[..., Any]) -> str:
    """The text of a rule: a lambda's expression, or what a function returns; its name where there is no source."""
    code = rule.__code__
    try:
        tree = ast.parse("".join(inspect.findsource(code)[0]))
    except (OSError, SyntaxError):
        return f"{code.co_name}(g, out, ...)"
    wanted = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda | ast.FunctionDef) and node.lineno == code.co_firstlineno
    ]
    alike = [node for node in wanted if tuple(operand.arg for operand in node.args.args) == operand_args(code)]
    for node in alike or wanted:
        if isinstance(node, ast.Lambda):
            return ast.unparse(node.body)
        returned = [step.value for step in node.body if isinstance(step, ast.Return) and step.value is not None]
        if returned:
            return ast.unparse(returned[-1])
    return f"{code.co_name}(g, out, ...)"


def operand_args(code: Any) -> tuple[str, ...]:
    """The names of a code's positional parameters."""
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


def parsed(formula: str) -> Any:
    """The symbols that a text such as "x * exp(y)" stands for; None where it is no formula but words."""
    python = re.sub(r"\|(\w+)\|", r"abs(\1)", formula)
    known: dict[str, Any] = {word: name(word) for word in re.findall(r"[A-Za-z_]\w*", python)}
    for called in re.findall(r"([A-Za-z_]\w*)\(", python):
        known[called] = partial(Symbol, "call", called)
    try:
        return eval(python, {"__builtins__": {}}, known)  # the table's own words
    except (SyntaxError, TypeError):
        return None


def of_kernel(operation: Fused) -> Iterator[Derivative]:
    """The derivative of a fused operation: what its kernel's docstring says, or its public function's."""
    import minigrad as mg

    public = getattr(mg, operation.name, None)
    told = inspect.getdoc(operation.backward) or inspect.getdoc(public) or ""
    reads = tuple(part for part in (*operand_names(operation.definition), "out") if part in operation.reads)
    yield Derivative("", None, derivative_text(told) or "by walking its definition", reads)


def derivative_text(docstring: str) -> str:
    """The sentences of a docstring that say what a derivative is: "dx = g * y"."""
    told = " ".join(textwrap.dedent(docstring).split())
    found = re.findall(r"\bd[A-Za-z]\w* = .*?(?=[.;]? \bd[A-Za-z]\w* = |\. |\.?$)", told)
    return "; ".join(piece.strip(" .;,") for piece in found)
