"""minigrad: a tensor autograd engine whose every derivative can be read, checked and drawn.

>>> import minigrad as mg
>>> x = mg.Tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = mg.sum(x * x)
>>> y.backward()
>>> x.grad
Tensor([2., 4., 6.])
"""

from typing import TYPE_CHECKING, Any

from minigrad import nn, ops, optim
from minigrad.anomaly import detect_anomaly
from minigrad.backprop import Step, gradients, walk
from minigrad.checking import check_grads
from minigrad.errors import (
    AnomalyError,
    CheckpointError,
    DrawingError,
    DtypeError,
    GradientCheckError,
    GraphError,
    MinigradError,
    ModuleError,
    OutOfRangeError,
    ShapeError,
)
from minigrad.fused import Fused
from minigrad.ops import *  # noqa: F403 - the public functions, under NumPy's names
from minigrad.primitive import Primitive, Rule
from minigrad.state import default_dtype, enable_grad, fusing, no_grad, unfused
from minigrad.tape import Node
from minigrad.tensor import Tensor
from minigrad.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

if TYPE_CHECKING:
    from minigrad.checkpoint import load, save
    from minigrad.drawing import Drawing, draw

__version__ = "0.1.0"

_LATE = {"draw": "drawing", "Drawing": "drawing", "save": "checkpoint", "load": "checkpoint"}
"""Names whose modules load libraries that a training step does not need: imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'minigrad' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"minigrad.{_LATE[name]}"), name)
    return value


__all__ = [
    *ops.__all__,
    "AnomalyError", "CheckpointError", "Drawing", "DrawingError", "DtypeError", "Fused", "GradientCheckError",
    "GraphError", "MinigradError", "ModuleError", "Node", "OutOfRangeError", "Primitive", "Rule", "ShapeError", "Step",
    "Tensor", "check_grads", "default_dtype", "detect_anomaly", "draw", "enable_grad", "fusing", "grad", "gradients",
    "hessian", "hvp", "jacobian", "jvp", "load", "nn", "no_grad", "optim", "save", "unfused", "value_and_grad", "vjp",
    "walk",
]  # fmt: skip
