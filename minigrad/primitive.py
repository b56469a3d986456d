"""Primitive and Fused: the only door by which an operation gets onto the tape.

A `Primitive` is a row of the table of rules: a forward function of arrays and, per operand, its derivative, written
once as a pure expression in plain NumPy. The same expression runs on arrays in a backward pass and on Tensors where
the derivative must itself be recorded. A `Fused` operation is a textbook definition, composed of primitives, and a
hand-derived kernel that is fast; both give the same values and gradients.

Rules never un-broadcast, never parse axes, never cast, never accumulate: the walk does each once.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, operation_error
from minigrad.state import current, setting
from minigrad.tape import SMALL, Array, Constant, Node, arrays_within, make_node, small
from minigrad.tensor import Tensor, as_array, wrap

PYTHON_NUMBERS = frozenset({bool, int, float, complex})

TABLE: dict[str, "Operation"] = {}
"""Every operation by name: the table of rules."""


class Rule:
    """The derivative for one operand: `function(g, out, *operands, **params)`, and the names of what it reads.

    g is the cotangent of the output. What is not among `reads` comes as an object with a shape and a dtype only.
    """

    __slots__ = ("function", "reads")

    def __init__(self, function: Callable[..., Any], reads: str = "") -> None:
        self.function = function
        self.reads = frozenset(reads.split())


class Operation:
    """An operation with a name in the table. `Primitive` and `Fused` say how it runs and how it is derived.

    derived: the names of the parameters that follow from the operand's and the output's shape: no picture shows them.
    """

    forward: Callable[..., Any]
    leaves_residuals = False  # whether `forward` gives (output, residuals), not the output alone

    def __init__(self, name: str, formula: str, kinks: str, analytic: bool, derived: str = "") -> None:
        if name in TABLE:
            raise ValueError(f"an operation named {name!r} is in the table already")
        self.name = name
        self.formula = formula
        self.kinks = kinks
        self.analytic = analytic
        self.derived = frozenset(derived.split())
        TABLE[name] = self
        self._kept: dict[int, frozenset[int]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.name}>"

    @property
    def reads_output(self) -> bool:
        """Whether some derivative reads the output."""
        raise NotImplementedError

    def kept(self, tracked: int) -> frozenset[int]:
        """The positions of the operands (-1: the output) that rules read, for the operands in the bit set `tracked`."""
        raise NotImplementedError

    def cotangents(self, node: Node, g: Array, out: Any, args: Sequence[Any]) -> list[Any]:
        """What each operand of `node` contributes to the gradient, from the cotangent `g` of its output: arrays.

        out, args: the output and the operands, each as far as a rule reads it.
        """
        raise NotImplementedError

    def __call__(self, *operands: Any, **params: Any) -> Tensor:
        """Run, and put the output on the tape if an operand requires a gradient. All dtype and error rules are here."""
        state = current()
        if state.watch is not None:
            return state.watch.run(self, operands, params)
        arrays: list[Any] = []
        entries: list[Any] = []
        tracked, bit, constants = 0, 1, False
        array: Any
        entry: Any
        for operand in operands:
            if isinstance(operand, Tensor):
                array = operand._data
                entry = operand._node
                if entry is None:
                    entry, constants = operand, True
                else:
                    tracked |= bit
            elif operand.__class__ in PYTHON_NUMBERS:
                array = entry = operand
            else:
                array = entry = self._operand(operand)
                constants = constants or isinstance(array, np.ndarray)
            arrays.append(array)
            entries.append(entry)
            bit += bit
        if not tracked and not constants:
            arrays = [as_array(array) for array in arrays]  # weak numbers alone
        try:
            output = self.forward(*arrays, **params) if params else self.forward(*arrays)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise operation_error(self.name, state.path, arrays, error) from error
        residuals = None
        if self.leaves_residuals:
            output, residuals = output
            for array in arrays_within(residuals):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
        if output.__class__ is not np.ndarray:
            output = np.asarray(output)
        output.setflags(False)  # write=False takes three times as long
        if not tracked or not state.recording:
            return wrap(output, None)
        if output.dtype.kind != "f":
            if output.dtype.kind == "c":
                raise DtypeError(f"{self.name}: complex numbers go forward only; no gradient can be recorded")
            return wrap(output, None)
        if constants:
            entries = [constant(entry) for entry in entries]
        return wrap(output, self._record(entries, arrays, params, tracked, output, residuals, state.path))

    def _operand(self, operand: Any) -> Any:
        """A plain number for NumPy's scalars, which are weak; a locked copy of anything else."""
        if isinstance(operand, np.generic):
            return operand.item()
        try:
            return as_array(operand)
        except (ValueError, TypeError) as error:
            path = current().path
            where = f" in {path}" if path else ""
            raise DtypeError(f"{self.name}{where}: an operand can't be a {type(operand).__name__}: {error}") from error

    def _record(
        self,
        inputs: list[Any],
        arrays: list[Any],
        params: dict[str, Any],
        tracked: int,
        output: Array,
        residuals: Any,
        path: str,
    ) -> Node:
        kept = self._kept.get(tracked)
        if kept is None:
            kept = self._kept[tracked] = self.kept(tracked)
        args = inputs
        data, stamp = None, None
        if kept:
            args = inputs.copy()
            for position in kept:
                if position < 0:
                    data = output
                    continue
                args[position] = arrays[position]
                entry = inputs[position]
                if entry.__class__ is Node and entry.primitive is None:
                    stamp = (stamp or 0) + entry.version
        if data is None and output.size <= SMALL:
            data = small(output)
        return make_node(self, params, tuple(inputs), tuple(args), data, residuals, output, path, stamp)


def constant(entry: Any) -> Any:
    """An entry of a node's `inputs`: an operand that no gradient flows to is remembered without its array."""
    if isinstance(entry, Tensor):
        return Constant(entry._data, entry._name)
    return Constant(entry, None) if isinstance(entry, np.ndarray) else entry


class Primitive(Operation):
    """A row of the table of rules.

    name: as in NumPy, where it has one.
    forward: `forward(*arrays, **params) -> array`.
    formula: the forward pass as text, such as "x * y".
    rules: one an operand, in order; None where no gradient flows. With `variadic`, one for all operands, which gets
        the operand's `position` as a further keyword.
    kinks: the convention where the derivative is not defined.
    analytic: whether the forward pass may be run on complex numbers to check the derivative (no comparison in it).

    An operation of your own comes in by the same door. The absolute value made smooth, sqrt(x**2 + c**2), has the
    derivative x / sqrt(x**2 + c**2), which reads the operand and the output; c is a parameter, so nothing flows to it:

    >>> import minigrad as mg
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

    def kept(self, tracked: int) -> frozenset[int]:
        """See `Operation.kept`. A variadic rule reads all operands or none."""
        if self.variadic:
            rule = self.rules[0]
            return frozenset(range(tracked.bit_length())) if rule is not None and rule.reads else frozenset()
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


class Fused(Operation):
    """A definition and a kernel.

    definition: `definition(*tensors, **params) -> Tensor`, the textbook formula, composed of primitives.
    forward: `forward(*arrays, **params) -> (output, residuals)`, on arrays only; it may do anything but write to them.
    backward: `backward(g, out, residuals, *arrays, **params) -> cotangents`, one an operand, fresh arrays (or None).
    reads: the names of the operands that `backward`, or the derivative of the definition, reads; "out" for the output.
    """

    leaves_residuals = True

    def __init__(
        self,
        name: str,
        definition: Callable[..., Tensor],
        forward: Callable[..., tuple[Any, Any]],
        backward: Callable[..., Sequence[Any]],
        formula: str,
        reads: str,
        kinks: str = "",
        analytic: bool = True,
        derived: str = "",
    ) -> None:
        super().__init__(name, formula, kinks, analytic, derived)
        self.definition = definition
        self.forward = forward
        self.backward = backward
        self.operands = ("out", *operand_names(definition))
        self.reads = frozenset(reads.split())
        if not self.reads <= set(self.operands):
            raise ValueError(f"{name}: it reads {set(self.reads) - set(self.operands)}, which it does not have")

    def __call__(self, *operands: Any, **params: Any) -> Tensor:
        """The kernel; under `unfused` the definition, whose nodes have this operation's name at their path's end."""
        state = current()
        if not state.unfused:
            return super().__call__(*operands, **params)
        tensors = [
            operand
            if isinstance(operand, Tensor) or (position and operand.__class__ in PYTHON_NUMBERS)
            else Tensor(operand)
            for position, operand in enumerate(operands)
        ]
        with setting(path=f"{state.path}.{self.name}" if state.path else self.name):
            return self.definition(*tensors, **params)

    @property
    def reads_output(self) -> bool:
        """Whether the kernel's backward reads the output."""
        return "out" in self.reads

    def kept(self, tracked: int) -> frozenset[int]:
        """See `Operation.kept`: the same, whichever operand wants a gradient."""
        return frozenset(i - 1 for i, name in enumerate(self.operands) if name in self.reads)

    def cotangents(self, node: Node, g: Array, out: Any, args: Sequence[Any]) -> list[Any]:
        """See `Operation.cotangents`."""
        return list(self.backward(g, out, node.residuals, *args, **node.params))

    def replay(self, node: Node) -> tuple[Tensor, list[Tensor | None]]:
        """The definition run anew on aliases of the inputs: its output, and the aliases of those that have a gradient.

        An operand that is not read is replaced by NaN (if the derivative did depend on it, that would show), an integer
        one by 0.
        """
        assert node.args is not None
        inputs: list[Any] = []
        aliases: list[Tensor | None] = []
        for entry, arg in zip(node.inputs, node.args, strict=True):
            value = arg
            if isinstance(arg, Node | Constant):
                value = np.broadcast_to(np.array(np.nan if arg.dtype.kind in "fc" else 0, arg.dtype), arg.shape)
            alias = alias_of(wrap(value, entry)) if isinstance(entry, Node) else None
            inputs.append(value if alias is None else alias)
            aliases.append(alias)
        return self.definition(*inputs, **node.params), aliases


def operand_names(function: Callable[..., Any], skip: int = 0) -> tuple[str, ...]:
    """The names of a function's positional parameters, the first `skip` left out."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return tuple(names[skip:])


alias_of = Primitive("alias", lambda x: x.view(), "x", Rule(lambda g, out, x: g))
