"""The registry: what a Tensor's methods call, and which function of ours answers which of NumPy's.

`minigrad.ops` and `minigrad.backprop` fill it when they are imported, so that a Tensor need not import what stands
above it.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from minigrad.state import Function

if TYPE_CHECKING:
    from minigrad.tensor import Tensor


class Operations:
    """The operations by name, and NumPy's own functions mapped to ours.

    `ufuncs` and `functions` are how a Tensor answers NumPy's protocols.
    """

    if TYPE_CHECKING:
        add: Callable[[Any, Any], Tensor]
        subtract: Callable[[Any, Any], Tensor]
        multiply: Callable[[Any, Any], Tensor]
        divide: Callable[[Any, Any], Tensor]
        power: Callable[[Any, Any], Tensor]
        matmul: Callable[[Any, Any], Tensor]
        negative: Callable[[Any], Tensor]
        abs: Callable[[Any], Tensor]
        exp: Callable[[Any], Tensor]
        log: Callable[[Any], Tensor]
        sqrt: Callable[[Any], Tensor]
        tanh: Callable[[Any], Tensor]
        relu: Callable[[Any], Tensor]
        clip: Callable[[Any, Any, Any], Tensor]
        sum: Callable[..., Tensor]
        mean: Callable[..., Tensor]
        max: Callable[..., Tensor]
        min: Callable[..., Tensor]
        prod: Callable[..., Tensor]
        var: Callable[..., Tensor]
        std: Callable[..., Tensor]
        cumsum: Callable[..., Tensor]
        cumprod: Callable[..., Tensor]
        reshape: Callable[[Any, Any], Tensor]
        transpose: Callable[[Any, Any], Tensor]
        swapaxes: Callable[[Any, int, int], Tensor]
        squeeze: Callable[[Any, Any], Tensor]
        repeat: Callable[[Any, Any, int | None], Tensor]
        take: Callable[[Any, Any, int | None, str], Tensor]
        getitem: Callable[[Any, Any], Tensor]
        astype: Callable[[Any, npt.DTypeLike], Tensor]
        backward: Callable[[Tensor, Any, bool, bool], None]

    def __init__(self) -> None:
        self.ufuncs: dict[Any, Callable[..., Any]] = {}
        self.functions: dict[Any, Callable[..., Any]] = {}


operations = Operations()


def answers(*numpy_functions: Any) -> Callable[[Function], Function]:
    """A decorator: the function below is what these NumPy functions do when they are called on a Tensor."""

    def register(function: Function) -> Function:
        for numpy_function in numpy_functions:
            table = operations.ufuncs if isinstance(numpy_function, np.ufunc) else operations.functions
            table[numpy_function] = function
        return function

    return register


def unsupported(function: Any) -> TypeError:
    """The error for a NumPy function that no operation answers: its name, and the nearest one that is answered."""
    known = {answered.__name__ for answered in (*operations.ufuncs, *operations.functions)}
    near = get_close_matches(function.__name__, sorted(known), n=1, cutoff=0.0)
    instead = f"; the nearest that is: np.{near[0]}" if near else ""
    return TypeError(f"np.{function.__name__} is not supported on a Tensor{instead}; on plain arrays use t.data")
