"""Primitive: an operation with a rule an operand.

A forward function of arrays and, per operand, its derivative, written once as a pure expression in plain NumPy. The
same expression runs on arrays in a backward pass and on Tensors where the derivative must itself be recorded.

Rules never un-broadcast, never parse axes, never cast, never accumulate: the walk does each once.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.operation import Operation, operand_names
from minigrad.tape import Node
from minigrad.tensor import Tensor


class Rule:
    """The derivative for one operand: `function(g, out, *operands, **params)`, and the names of what it reads.

    g is the cotangent of the output. What is not among `reads` comes as an object with a shape and a dtype only.
    """

    __slots__ = ("function", "reads")

    def __init__(self, function: Callable[..., Any], reads: str = "") -> None:
        self.function = function
        self.reads = frozenset(reads.split())


class Primitive(Operation):
    """A row of the table of rules.

    name: as in NumPy, where it has one.
    forward: `forward(*arrays, **params) -> array`.
    formula: the forward pass as text, such as "x * y".
    rules: one an operand, in order; None where no gradient flows. With `variadic`, one for all operands, which gets
        the operand's `position` as a further keyword, and reads all operands or none.
    kinks: the convention where the derivative is not defined.
    analytic: whether the forward pass may be run on complex numbers to check the derivative (no comparison in it).

    An operation of your own comes in by the same door. The absolute value made smooth, sqrt(x**2 + c**2), has the
    derivative x / sqrt(x**2 + c**2), which reads the operand and the output; c is a parameter, so nothing flows to it:

    >>> import numpy as np
    >>> import minigrad as mg
    >>> from minigrad.operation import TABLE
    >>> smooth_abs = mg.Primitive(
    ...     "smooth_abs", lambda x, *, c: np.sqrt(x * x + c * c), "sqrt(x**2 + c**2)",
    ...     mg.Rule(lambda g, out, x, *, c: g * x / out, reads="x out"),
    ... )
    >>> x = mg.Tensor([3.0, -4.0], requires_grad=True)
    >>> y = smooth_abs(x, c=0.0)
    >>> mg.sum(y).backward()
    >>> y.data, x.grad.data
    (array([3., 4.], dtype=float32), array([ 1., -1.], dtype=float32))
    >>> checked = mg.check_grads(lambda x: smooth_abs(x, c=0.5), [np.array([3.0, -4.0, 0.0])], order=2)
    >>> del TABLE["smooth_abs"]  # this was an example; an operation of your own stays
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        formula: str,
        *rules: Rule | None,
        variadic: bool = False,
        kinks: str = "",
        analytic: bool = True,
        derived: str = "",
    ) -> None:
        super().__init__(name, formula, kinks, analytic, derived)
        self.forward = forward
        self.rules = rules
        self.variadic = variadic
        first = next(rule for rule in rules if rule is not None)
        names = operand_names(first.function, skip=2)
        self.operands = ("out", *names)
        self.functions = tuple(None if rule is None else rule.function for rule in rules)
        for rule in rules:
            if rule is not None and not rule.reads <= set(self.operands):
                raise ValueError(f"{name}: a rule reads {set(rule.reads) - set(self.operands)}, which it does not have")

    @property
    def reads_output(self) -> bool:
        """Whether some derivative reads the output."""
        return any(rule is not None and "out" in rule.reads for rule in self.rules)

    def in_kind(self, x: Any, *others: Any, **params: Any) -> Any:
        """This operation inside another's rule: an array for arrays, a Tensor where one operand is one."""
        if isinstance(x, Tensor) or any(isinstance(other, Tensor) for other in others):
            return self(x, *others, **params)
        if hasattr(x, "applied"):  # a symbol, by which the rule writes its formula
            return x.applied(self, *others, **params)
        return self.forward(x, *others, **params)

    def rule(self, position: int) -> Rule | None:
        """The rule of the operand at `position`."""
        return self.rules[0 if self.variadic else position]

    def kept(self, tracked: int, count: int) -> frozenset[int]:
        """See `Operation.kept`. A variadic rule reads all operands or none, whichever of them wants a gradient."""
        if self.variadic:
            rule = self.rule(0)
            assert rule is not None
            read = range(count) if rule.reads - {"out"} else ()
            return frozenset((-1, *read) if "out" in rule.reads else read)
        wanted = [rule for i, rule in enumerate(self.rules) if rule is not None and tracked >> i & 1]
        return frozenset(i - 1 for i, name in enumerate(self.operands) if any(name in rule.reads for rule in wanted))

    def cotangents(self, node: Node, g: Any, out: Any, args: Sequence[Any]) -> list[Any]:
        """See `Operation.cotangents`. The very same rules run on arrays and on Tensors."""
        functions, inputs = self.functions, node.inputs
        if node.params or self.variadic or len(args) > 2:
            return self._cotangents_of_any_number(node, g, out, args)
        # Most nodes: a call without a star takes half of the time.
        if len(args) == 1:
            (rule,), (x,) = functions, args
            return [None if rule is None else rule(g, out, x)]
        (first, second), (left, right), (x, y) = functions, inputs, args
        return [
            None if first is None or left.__class__ is not Node else first(g, out, x, y),
            None if second is None or right.__class__ is not Node else second(g, out, x, y),
        ]

    def _cotangents_of_any_number(self, node: Node, g: Any, out: Any, args: Sequence[Any]) -> list[Any]:
        params, inputs = node.params, node.inputs
        if self.variadic:
            (variadic,) = self.functions
            assert variadic is not None
            return [
                variadic(g, out, *args, position=position, **params) if entry.__class__ is Node else None
                for position, entry in enumerate(inputs)
            ]
        return [
            None if rule is None or entry.__class__ is not Node else rule(g, out, *args, **params)
            for rule, entry in zip(self.functions, inputs, strict=True)
        ]


alias_of = Primitive("alias", lambda x: x.view(), "x", Rule(lambda g, out, x: g))
