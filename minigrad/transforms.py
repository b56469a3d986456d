"""Derivatives of functions: grad, value_and_grad, vjp, jvp, jacobian, hessian, hvp.

Each takes a function of trees (dicts, lists, tuples, named tuples) whose leaves are Tensors, arrays or floats, and
gives back trees of Tensors: a derivative has the structure, the shapes and the dtypes of what it is taken by. Each
nests in any other, to any order:

>>> import minigrad as mg
>>> third = mg.grad(mg.grad(mg.grad(lambda x: x**4)))
>>> third(2.0)
Tensor(48.)

A transform keeps no state. It works on its own aliases of the inputs and walks back to these and no further. A result
is on the tape if something outside asks for it: an input that has a history, or a tensor that requires a gradient and
that `f` closes over; under `mg.no_grad()` it never is (operations inside `f` are recorded all the same).

Integers and booleans have no derivative: as an input to derive by, or as an output, they are a DtypeError. Leave such
an argument out by `argnums`, or close over it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.errors import DtypeError, OutOfRangeError, ShapeError
from minigrad.linearised import Linearised, conforming, linearised, pull, tracked
from minigrad.ops import concatenate, reshape
from minigrad.state import current, enable_grad
from minigrad.tensor import Tensor
from minigrad.trees import filled, kind_of

Function = Callable[..., Any]


def grad(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The gradient of a scalar function: `grad(f)(x, ...)` is df/dx, a tree as x is.

    argnums: by which argument; a tuple of several gives a tuple of gradients.
    Raises ShapeError where f gives more than one number, DtypeError for integers, OutOfRangeError for an argument that
    was not given.

    >>> grad(lambda p: p["w"] * p["w"] + p["b"])({"w": 3.0, "b": 1.0})
    {'w': Tensor(6.), 'b': Tensor(1.)}
    """
    both = _value_and_grad("grad", f, argnums)

    @functools.wraps(f, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return gradient


def value_and_grad(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """`value_and_grad(f)(x, ...)` is (f(x, ...), df/dx), from one forward pass. See `grad`.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (Tensor(9.), Tensor(6.))
    """
    return _value_and_grad("value_and_grad", f, argnums)


def _value_and_grad(name: str, f: Function, argnums: int | tuple[int, ...]) -> Function:
    @functools.wraps(f, updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
        at = positions(name, args, argnums)
        value, pullback = linearised(name, partly(f, args, at, kwargs), [args[i] for i in at], at)
        if not isinstance(value, Tensor) or value.size != 1:
            raise ShapeError(
                f"{name}: the function gave {kind_of(value)}, not one number; sum it, or use mg.jacobian or mg.vjp"
            )
        gradient = pullback(Tensor(np.ones(value.shape, value.dtype)))
        return value, gradient[0] if isinstance(argnums, int) else gradient

    return value_and_gradient


def vjp(f: Function, *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(f(*args), pullback): `pullback(u)` is J^T u, one tree an argument, for a cotangent u of f's structure.

    J is the Jacobian of f at args. The pullback may be called many times.
    Raises ShapeError for a cotangent of another structure or shape, and names the place.

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (Tensor(3.), Tensor(2.))
    """
    return linearised("vjp", f, args)


def jvp(f: Function, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(f(*args), J v): how f changes when its arguments move by the tangents v, which have their structure.

    By the double-vjp trick: h(u) = J^T u is linear in u, and its own pullback at v is J v. So forward mode needs no
    second table of rules that could disagree with the first; it costs about three backward passes. Source: Townsend,
    "A new trick for calculating Jacobian vector products", 2017.
    Raises ShapeError for tangents of another structure or shape, and names the place.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 10.0))
    (Tensor(6.), Tensor(23.))
    """
    check_tuples("jvp", args=args, tangents=tangents)
    call = Linearised("jvp", f, args)
    v = conforming("jvp", tuple(tangents), tuple(args), call.inputs, "tangents")
    with enable_grad():
        u = [Tensor(np.zeros(output.shape, output.dtype), requires_grad=True) for output in call.outputs]
        pulled = pull(call.outputs, call.inputs, u, record=True)
    record = current().recording and (call.nested or tracked(v))
    return call.value, filled(call.value, pull(pulled, u, v, record))


def jacobian(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The Jacobian of f by an argument: for each output leaf a tree as the argument, of shape output + input.

    One backward pass an output element. argnums: as for `grad`.

    >>> jacobian(lambda x: x * x)(Tensor([1.0, 2.0, 3.0]))
    Tensor([[2., 0., 0.],
            [0., 4., 0.],
            [0., 0., 6.]])
    """

    @functools.wraps(f, updated=())
    def derivative(*args: Any, **kwargs: Any) -> Any:
        at = positions("jacobian", args, argnums)
        call = Linearised("jacobian", partly(f, args, at, kwargs), [args[i] for i in at], at)
        found = []
        for position, output in enumerate(call.outputs):
            rows = [call.pulled_back(basis(call.outputs, position, flat)) for flat in range(output.size)]
            blocks = [stacked([row[i] for row in rows], output, of) for i, of in enumerate(call.inputs)]
            tree = filled(call.args, blocks)
            found.append(tree[0] if isinstance(argnums, int) else tree)
        return filled(call.value, found)

    return derivative


def hessian(f: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The second derivatives of a scalar function: the Jacobian of its gradient, of shape input + input.

    Of a tree it is a tree of trees: `hessian(f)(p)["w"]["b"]` is d2f / dw db.

    >>> hessian(lambda x: (x**3).sum())(Tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Function, args: Sequence[Any], vectors: Sequence[Any]) -> tuple[Any, ...]:
    """H v: the Hessian of a scalar function by all of its arguments, times vectors of their structure.

    Two backward passes, whatever the size: H is symmetric, so H v is the gradient's pullback at v.
    Raises ShapeError for vectors of another structure or shape, and names the place.

    >>> hvp(lambda x, y: x * x * y, (3.0, 2.0), (1.0, 0.0))
    (Tensor(4.), Tensor(6.))
    """
    check_tuples("hvp", args=args, vectors=vectors)
    _, pullback = linearised("hvp", grad(f, tuple(range(len(args)))), args, cotangents="vectors")
    return pullback(tuple(vectors))


def positions(name: str, args: tuple[Any, ...], argnums: int | tuple[int, ...]) -> list[int]:
    """`argnums` as positions from the front. Raises OutOfRangeError for an argument that is not there."""
    wanted = (argnums,) if isinstance(argnums, int) else argnums
    for position in wanted:
        if not -len(args) <= position < len(args):
            raise OutOfRangeError(f"{name}: argnums={argnums}, but the call has {len(args)} positional arguments")
    return [position % len(args) for position in wanted]


def check_tuples(name: str, **given: Any) -> None:
    """Raise DtypeError for what is no tuple or list of one entry an argument."""
    for what, entries in given.items():
        if not isinstance(entries, tuple | list):
            raise DtypeError(f"{name}: {what} must be a tuple, one entry an argument, not {kind_of(entries)}")


def partly(f: Function, args: tuple[Any, ...], at: list[int], kwargs: dict[str, Any]) -> Function:
    """`f` as a function of the arguments at these positions."""

    def function(*varied: Any) -> Any:
        whole = list(args)
        for position, arg in zip(at, varied, strict=True):
            whole[position] = arg
        return f(*whole, **kwargs)

    return function


def basis(outputs: list[Tensor], position: int, flat: int) -> list[Tensor]:
    """Cotangents that are 1 at one element of one output, and 0 elsewhere."""
    arrays = [np.zeros(output.shape, output.dtype) for output in outputs]
    arrays[position].reshape(-1)[flat] = 1
    return [Tensor(array) for array in arrays]


def stacked(rows: list[Tensor], output: Tensor, of: Tensor) -> Tensor:
    """One block of a Jacobian from its rows, of shape output + input."""
    shape = (*output.shape, *of.shape)
    if not rows:
        return Tensor(np.zeros(shape, of.dtype))
    return reshape(concatenate([reshape(row, (1, *of.shape)) for row in rows]), shape)
