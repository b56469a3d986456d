"""check_grads: a function's derivative against what the function itself does when its inputs are nudged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.backprop import gradients
from minigrad.errors import DtypeError, GradientCheckError, GraphError
from minigrad.tape import Array, no_grad, topological_order
from minigrad.tensor import Tensor

CENTRAL_STEP = 1e-5
COMPLEX_STEP = 1e-20


def check_grads(
    f: Callable[..., Tensor],
    args: Sequence[Any],
    order: int = 1,
    *,
    complex_step: bool | None = None,
    entries: int | None = None,
    seed: int = 0,
) -> None:
    """Raise GradientCheckError unless the derivatives of `f(*args)` are right, up to `order`.

    A random cotangent u is drawn, and d sum(u * f) / d x is compared, at each entry of each floating argument x:
    - with the central difference (F(x + h) - F(x - h)) / 2h in float64, to a relative 1e-6 or an absolute 1e-9 (times
      the size of the summed terms), so that a gradient that is exactly 0 is not judged by a ratio of two roundings;
    - with the complex step Im F(x + ih) / h, h = 1e-20, to a relative 1e-10, where every operation on the tape is
      analytic. It has no rounding error to speak of. Source: Squire and Trapp 1998.
    Order n checks the derivative of sum(v * gradient), with random v, as a function of its own, at order n - 1.

    args: arrays, Tensors or numbers; floating ones are checked (in float64), others are constants.
    complex_step: None: where it is possible; True or False: always or never.
    entries: compare at most so many entries of each argument, chosen at random; None: all.
    The message names the operation, the input, the index, what was expected and what came out.
    """
    arrays = [np.asarray(arg.data if isinstance(arg, Tensor) else arg) for arg in args]
    arrays = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    checked = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    rng = np.random.default_rng(seed)
    inputs = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
    output = f(*inputs)
    if not isinstance(output, Tensor):
        raise DtypeError(f"check_grads: the function must return a Tensor, not {type(output).__name__}")
    if output._node is None:
        raise GraphError("check_grads: the function's output depends on none of its floating arguments")
    name = output._node.primitive.name if output._node.primitive is not None else "identity"
    cotangent = rng.standard_normal(output.shape)
    found = gradients(output, [inputs[i] for i in checked], cotangent)
    if complex_step is None:
        nodes = topological_order([output._node])
        complex_step = all(node.primitive is None or node.primitive.analytic for node in nodes)

    def summed(changed: list[Array]) -> tuple[Any, float]:
        terms = cotangent * f(*map(Tensor, changed)).data
        return terms.sum(), float(np.abs(terms).sum())

    for i, gradient in zip(checked, found, strict=True):
        for index in chosen(arrays[i].shape, entries, rng):
            got = float(gradient.data[index])
            expected, size = central_difference(summed, arrays, i, index)
            verdict(name, i, index, expected, got, 1e-6, 1e-9 * max(1.0, size), "central difference")
            if complex_step:
                verdict(
                    name,
                    i,
                    index,
                    stepped(summed, arrays, i, index),
                    got,
                    1e-10,
                    1e-12 * max(1.0, size),
                    "complex step",
                )
    if order > 1:
        directions = [rng.standard_normal(arrays[i].shape) for i in checked]
        further = derivative(f, checked, cotangent, directions)
        check_grads(further, arrays, order - 1, complex_step=False, entries=entries, seed=seed + 1)


def derivative(
    f: Callable[..., Tensor], checked: list[int], cotangent: Array, directions: list[Array]
) -> Callable[..., Tensor]:
    """x -> sum over inputs of sum(v * d sum(u * f) / d x), itself on the tape."""

    def function(*inputs: Tensor) -> Tensor:
        live = [
            Tensor(x.data, requires_grad=True) if i in checked and not x.requires_grad else x
            for i, x in enumerate(inputs)
        ]
        output = f(*live)
        found = gradients(output, [live[i] for i in checked], cotangent, create_graph=True)
        total = Tensor(0.0, dtype=np.float64)
        for v, gradient in zip(directions, found, strict=True):
            total = total + (gradient * v).sum()
        # A sum that no longer depends on an input has derivative 0 there; keep it on the tape all the same.
        return total + sum(((live[i] * 0.0).sum() for i in checked), Tensor(0.0, dtype=np.float64))

    return function


def chosen(shape: tuple[int, ...], entries: int | None, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """The indices to compare: all, or `entries` of them at random."""
    size = int(np.prod(shape))
    flat = range(size) if entries is None or entries >= size else rng.choice(size, entries, replace=False)
    for position in flat:
        yield tuple(int(i) for i in np.unravel_index(position, shape))


Summed = Callable[[list[Array]], tuple[Any, float]]


def central_difference(summed: Summed, arrays: list[Array], i: int, index: tuple[int, ...]) -> tuple[float, float]:
    """((F(x + h) - F(x - h)) / 2h at one entry, the size of F's terms)."""
    h = CENTRAL_STEP * max(1.0, abs(float(arrays[i][index])))
    above, size = summed(nudged(arrays, i, index, h))
    below, _ = summed(nudged(arrays, i, index, -h))
    return float(above - below) / (2 * h), size


def stepped(summed: Summed, arrays: list[Array], i: int, index: tuple[int, ...]) -> float:
    """Im F(x + ih) / h at one entry."""
    with no_grad():  # complex numbers go forward only, also where f closes over tensors with gradients
        value, _ = summed(nudged(arrays, i, index, 1j * COMPLEX_STEP))
    return float(np.imag(value)) / COMPLEX_STEP


def nudged(arrays: list[Array], i: int, index: tuple[int, ...], h: complex) -> list[Array]:
    """The arrays with one entry of the i-th moved by h."""
    moved = arrays[i].astype(np.result_type(arrays[i], h))
    moved[index] += h
    return [moved if j == i else array for j, array in enumerate(arrays)]


def verdict(
    name: str, i: int, index: tuple[int, ...], expected: float, got: float, relative: float, absolute: float, how: str
) -> None:
    """Raise where the two differ by more than both bounds, or one is not a number."""
    if not abs(expected - got) <= max(absolute, relative * max(abs(expected), abs(got))):
        raise GradientCheckError(
            f"{name}: input {i} at {index if index else '()'}: expected {expected:.12g} ({how}), got {got:.12g}"
        )
