"""NumPy's order of arguments, where it is not ours: `np.sum(t, 0, None, None, True)` means keepdims=True there too."""

import inspect
from collections.abc import Callable
from typing import Any

from minigrad.errors import DtypeError
from minigrad.registry import answers
from minigrad.state import Function


def answers_in_order(numpy_function: Any, order: str) -> Callable[[Function], Function]:
    """A decorator: the function below is what `numpy_function` does on a Tensor.

    order: NumPy's names of the arguments after the first. They are handed on by name; one that says nothing (None where
    ours has no such name) is dropped, and any other that ours does not have is a TypeError that names it.
    """
    names = order.split()

    def register(function: Function) -> Function:
        known = set(inspect.signature(function).parameters)

        def in_order(x: Any, *rest: Any, **named: Any) -> Any:
            named.update(zip(names, rest, strict=False))
            given = {name: value for name, value in named.items() if name in known or value is not None}
            for name in given:
                if name not in known:
                    raise DtypeError(f"np.{numpy_function.__name__}(..., {name}=) is not supported on a Tensor")
            return function(x, **given)

        answers(numpy_function)(in_order)
        return function

    return register
