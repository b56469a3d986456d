"""Operation: the only door by which something gets onto the tape.

`Operation.__call__` runs an operation and records it, whichever of the two kinds it is: a `Primitive`, which has a rule
an operand, or a `Fused` one, which has a definition and a kernel. Each is a row of the table of rules.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, operation_error
from minigrad.state import current
from minigrad.tape import SMALL, Array, Constant, Node, arrays_within, make_node, small
from minigrad.tensor import Tensor, as_array, wrap

PYTHON_NUMBERS = frozenset({bool, int, float, complex})

TABLE: dict[str, "Operation"] = {}
"""Every operation by name: the table of rules."""


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

    def kept(self, tracked: int, count: int) -> frozenset[int]:
        """The positions of the operands (-1: the output) that the rules of those in the bit set `tracked` read.

        count: how many operands there are.
        """
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
        return wrap(output, self._record(entries, arrays, params, tracked | bit, output, residuals, state.path))

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
        pattern: int,
        output: Array,
        residuals: Any,
        path: str,
    ) -> Node:
        # The bits of the tracked operands, and one behind the last operand's, which tells how many there are.
        kept = self._kept.get(pattern)
        if kept is None:
            count = len(inputs)
            kept = self._kept[pattern] = self.kept(pattern ^ 1 << count, count)
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


def operand_names(function: Callable[..., Any], skip: int = 0) -> tuple[str, ...]:
    """The names of a function's positional parameters, the first `skip` left out."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return tuple(names[skip:])
