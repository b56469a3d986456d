"""Fused: an operation with a textbook definition, composed of primitives, and a hand-derived kernel that is fast.

Both give the same values and gradients. The kernel runs; the definition does under `unfused`, and where a derivative
must itself be recorded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.operation import PYTHON_NUMBERS, Operation, operand_names
from minigrad.primitive import alias_of
from minigrad.state import current, setting
from minigrad.tape import Array, Constant, Node
from minigrad.tensor import Tensor, wrap


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

    def kept(self, tracked: int, count: int) -> frozenset[int]:
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
