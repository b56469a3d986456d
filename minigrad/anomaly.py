"""detect_anomaly: find the first value that is not finite, and say which line made it, out of what.

Forward, each operation's output is looked at; backward, each step of the walk. Nothing of this runs when it is off:
the door is one test of the state an operation, and one a step.
"""

import linecache
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.diagnosis import Finding, backward_finding, forward_finding, seed_finding
from minigrad.errors import AnomalyError, describe
from minigrad.fused import Fused
from minigrad.operation import Operation
from minigrad.state import current, setting
from minigrad.tape import Array, Node
from minigrad.tensor import Tensor, plain

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def detect_anomaly() -> setting:
    """Raise AnomalyError at the first value that is not finite: a context manager and a decorator.

    The error names the operation, the module path, the line of the user's code, the index, what made the value (0
    times inf, the log of 0, an overflow, ...) and the usual remedy. Values and cotangents are looked at as they are
    made, so it is for finding a mistake, not for a whole training run: an operation takes several times as long.

    An operation that makes an infinity of finite numbers, or a NaN of anything, is an anomaly; so is one that reads
    either from a leaf. An infinity that stands in a constant, as the -inf of a mask, is taken as meant, and may be
    passed on until a NaN comes of it. NumPy's own warnings are silent: the error says more. Lines are recorded only
    inside: a graph that was made before is reported without.

    >>> import minigrad as mg
    >>> x = mg.Tensor([0.0, 4.0], requires_grad=True, name="x")
    >>> with detect_anomaly():
    ...     y = mg.where(x.data < 1, x, mg.sqrt(x))
    ...     mg.sum(y).backward()
    Traceback (most recent call last):
    minigrad.errors.AnomalyError: sqrt: (2,): backward: the gradient of x is nan at index (0,): sqrt'(0) is inf and \
the cotangent there is 0: 0 * inf is nan (where() chooses too late: choose before as well, sqrt(where(x > 0, x, 1)), \
or add an eps, sqrt(x + eps))
      <doctest minigrad.anomaly.detect_anomaly[2]>:2: y = mg.where(x.data < 1, x, mg.sqrt(x))
    """
    return setting(watch=_WATCH)


class AnomalyWatch:
    """See `minigrad.state.Watch`. It has no state of its own: lines stand in the nodes."""

    def run(self, operation: Operation, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
        """Run an operation. Raises AnomalyError where its output is not finite."""
        with setting(watch=None), np.errstate(all="ignore"):
            output = operation(*operands, **params)
        source = users_line()
        if output._node is not None and source is not None:
            output._node.source = source
        state = current()
        # Inside a rule, what is not read is NaN (see Fused.replay); there the step's contributions are looked at.
        if all_finite(output._data) or state.inside_rule:
            return output
        finding = forward_finding(operation, operands, output._data)
        if finding is None:
            return output
        if isinstance(operation, Fused):
            with setting(unfused=True, recording=False):
                operation(*operands, **params)  # raises at the step inside that made it, if the definition has one
        raise report(operation, state.path, [plain(operand) for operand in operands], finding, source, "forward")

    def step(self, node: Node, cotangent: Any, contributions: Sequence[Any]) -> None:
        """Raises AnomalyError where a step's cotangent or one of its contributions is not finite."""
        arriving = plain(cotangent)
        if not all_finite(arriving):
            raise report(node.primitive, node.path, [node], seed_finding(node, arriving), source_of(node), "backward")
        for position, contribution in enumerate(contributions):
            if contribution is not None and not all_finite(plain(contribution)):
                finding = backward_finding(node, arriving, position, plain(contribution))
                raise report(node.primitive, node.path, node.inputs, finding, source_of(node), "backward")


_WATCH = AnomalyWatch()


def all_finite(array: Array) -> bool:
    """Whether no element is NaN or infinite."""
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def source_of(node: Node) -> tuple[str, int] | None:
    """The user's line that made a node, if it was made under `detect_anomaly`."""
    return getattr(node, "source", None)


def users_line() -> tuple[str, int] | None:
    """(file, line) of the innermost call that is not minigrad's own."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(PACKAGE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def report(
    operation: Operation | None,
    path: str,
    operands: Sequence[Any],
    finding: Finding,
    source: tuple[str, int] | None,
    direction: str,
) -> AnomalyError:
    """The error in the house's form: operation, path, shapes, what was found, remedy; then the line."""
    name = "leaf" if operation is None else operation.name
    where = f" in {path}" if path else ""
    shapes = ", ".join(describe(operand) for operand in operands)
    at = f" at index {finding.index}" if finding.index else ""
    what = f"{finding.subject} is {finding.value}{at}"
    remedy = f" ({finding.remedy})" if finding.remedy else ""
    message = f"{name}{where}: {shapes}: {direction}: {what}: {finding.cause}{remedy}"
    if source is not None:
        file, line = source
        message += f"\n  {file}:{line}: {linecache.getline(file, line).strip()}".rstrip(": ")
    error = AnomalyError(message)
    error.operation, error.path, error.index = name, path, finding.index
    error.source, error.direction = source, direction
    return error
