"""Hooks: functions that see the gradient of a node as a backward pass reaches it.

A hook observes. It can't change the gradient: that is a derivative, and derivatives are rules. An identity operation
with a rule of its own changes one, and drawings, `check_grads` and higher derivatives see it too:

>>> import numpy as np
>>> import minigrad as mg
>>> from minigrad.operation import TABLE
>>> clipped = mg.Primitive(
...     "clipped_gradient", lambda x, *, limit: x.view(), "x, its gradient within +-limit",
...     mg.Rule(lambda g, out, x, *, limit: np.minimum(np.maximum(g, -limit), limit)),
... )
>>> x = mg.Tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = clipped(x, limit=3.0)
>>> seen = []
>>> with y.register_hook(lambda gradient: seen.append(gradient)):
...     mg.sum(y * y).backward()
>>> seen[0], x.grad
(Tensor([2., 4., 6.]), Tensor([2., 3., 3.]))
>>> del TABLE["clipped_gradient"]  # this was an example; an operation of your own stays

What a hook must not do is fail in silence, so each way in which it would be ignored is an error:

- it returns something: GraphError, in the backward pass;
- its tensor requires no gradient, or its operation was released by a backward pass: GraphError, when registering;
- no backward pass ever reached it: GraphError, when it is removed (by `remove()`, or at the end of a with-block).

`backward()` and `gradients()` call hooks; `walk()` does not, for whoever reads the stream has the steps themselves.
"""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from minigrad.errors import DtypeError, GraphError

if TYPE_CHECKING:
    from minigrad.tape import Node
    from minigrad.tensor import Tensor

Hook: TypeAlias = Callable[["Tensor"], None]


class Handle:
    """A hook on a node: what takes it off again. Also a context manager, which takes it off at its end.

    calls: how often the hook was called.
    """

    def __init__(self, node: "Node", hook: Hook) -> None:
        self.calls = 0
        self._node = node
        self._hook = hook

    def remove(self) -> None:
        """Take the hook off; a second time does nothing.

        Raises GraphError where no backward pass ever reached it, unless another error is being handled.
        """
        if self not in self._node.hooks:
            return
        self._node.hooks = tuple(handle for handle in self._node.hooks if handle is not self)
        if not self.calls and sys.exception() is None:
            raise GraphError(
                f"{self} was never called: no backward() or gradients() went through its node since it was registered; "
                "does the output depend on that tensor?"
            )

    def __enter__(self) -> "Handle":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.remove()
        else:
            self._node.hooks = tuple(handle for handle in self._node.hooks if handle is not self)

    def __repr__(self) -> str:
        return f"the hook {getattr(self._hook, '__qualname__', self._hook)!s} on {self._node}"

    def call(self, cotangent: "Tensor") -> None:
        """Show the hook a cotangent. Raises GraphError where it returns anything."""
        self.calls += 1
        try:
            answer: Any = self._hook(cotangent)
        except Exception as error:
            error.add_note(f"in {self}")
            raise
        if answer is not None:
            raise GraphError(
                f"{self} returned a {type(answer).__name__}, which would be ignored: a hook observes, so it returns "
                "None; to change a gradient, apply an identity operation with a rule of its own (see minigrad.hooks)"
            )


def register(node: "Node | None", hook: Hook) -> Handle:
    """Put a hook on a node. Raises GraphError where it would never be called, TypeError for what can't be called."""
    if not callable(hook):
        raise DtypeError(f"a hook is a function of a gradient, not a {type(hook).__name__}")
    if node is None:
        raise GraphError("a hook on a tensor that requires no gradient would never be called")
    if node.released:
        raise GraphError(
            f"a hook on {node} would never be called: its graph was released by a backward pass; register it before, "
            "or use retain_graph=True there"
        )
    handle = Handle(node, hook)
    node.hooks = (*node.hooks, handle)
    return handle
