"""What every derivative promises beside its values: determinism, linearity at zero, layouts, shapes and dtypes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backprop import gradients
from minigrad.errors import GradientCheckError
from minigrad.tape import Array
from minigrad.tensor import Tensor, wrap
from minigrad.transforms import jvp

Function = Callable[..., Tensor]


def check_promises(name: str, f: Function, arrays: Sequence[Array], checked: Sequence[int], cotangent: Array) -> None:
    """Raise GradientCheckError for a promise that `f` or its derivative does not keep at these arguments."""
    with np.errstate(all="ignore"):
        value, found = run(f, arrays, checked, Tensor(cotangent))
        again, found_again = run(f, arrays, checked, Tensor(cotangent))
        same_bits(name, "values", value, again)
        for i, one, other in zip(checked, found, found_again, strict=True):
            same_bits(name, f"gradients of input {i}", one, other)
        _, at_zero = run(f, arrays, checked, Tensor(np.zeros(value.shape)))
        for i, gradient in zip(checked, at_zero, strict=True):
            if gradient.any():
                raise GradientCheckError(
                    f"{name}: input {i}: a zero cotangent gives a gradient that is not zero; a rule must be linear in g"
                )
        _, strided = run(f, arrays, checked, spread_out(cotangent))
        for i, one, other in zip(checked, found, strided, strict=True):
            if not np.allclose(one, other, rtol=1e-10, atol=1e-12 * max(1.0, float(np.abs(one).max(initial=0)))):
                raise GradientCheckError(f"{name}: input {i}: the gradient depends on how the cotangent lies in memory")
        for dtype in (np.float32, np.float64):
            cast = [array.astype(dtype) if i in checked else array for i, array in enumerate(arrays)]
            _, kept = run(f, cast, checked, Tensor(cotangent))
            for i, gradient in zip(checked, kept, strict=True):
                if (gradient.shape, gradient.dtype) != (cast[i].shape, cast[i].dtype):
                    raise GradientCheckError(
                        f"{name}: input {i} of {np.dtype(dtype)} and shape {cast[i].shape} "
                        f"has a gradient of {gradient.dtype} and shape {gradient.shape}"
                    )


def check_adjoint(
    name: str, f: Function, arrays: Sequence[Array], checked: Sequence[int], cotangent: Array, rng: np.random.Generator
) -> None:
    """Raise GradientCheckError unless <J v, u> = <v, J^T u> to 1e-12: the rules on Tensors against those on arrays."""
    directions = [rng.standard_normal(arrays[i].shape) for i in checked]

    def varied(*given: Tensor) -> Tensor:
        whole: list[Any] = list(map(Tensor, arrays))
        for i, tensor in zip(checked, given, strict=True):
            whole[i] = tensor
        return f(*whole)

    with np.errstate(all="ignore"):
        moved = jvp(varied, [arrays[i] for i in checked], directions)[1].data
        _, found = run(f, arrays, checked, Tensor(cotangent))
    terms = moved * cotangent
    left = float(terms.sum())
    right = float(sum((g * v).sum() for g, v in zip(found, directions, strict=True)))
    size = float(np.abs(terms).sum() + sum(np.abs(g * v).sum() for g, v in zip(found, directions, strict=True)))
    if not abs(left - right) <= 1e-12 * max(1.0, size):
        raise GradientCheckError(
            f"{name}: the dot-product test fails: <J v, u> is {left:.15g}, but <v, J^T u> is {right:.15g}"
        )


def run(f: Function, arrays: Sequence[Array], checked: Sequence[int], u: Tensor) -> tuple[Array, list[Array]]:
    """The function's values, and its gradients at the cotangent u."""
    inputs = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
    output = f(*inputs)
    return output.data, [g.data for g in gradients(output, [inputs[i] for i in checked], u)]


def same_bits(name: str, what: str, one: Array, other: Array) -> None:
    """Raise GradientCheckError where two runs differ, be it in the sign of a zero, and say where first."""
    where = ""
    if one.shape == other.shape:
        same = ((one == other) & (np.signbit(one) == np.signbit(other))) | (np.isnan(one) & np.isnan(other))
        if same.all():
            return
        index = tuple(int(i) for i in np.argwhere(~same)[0])
        where = f" (at {index}: {one[index]}, then {other[index]})"
    raise GradientCheckError(
        f"{name}: two runs with the same arguments gave different {what}{where}; "
        "draw random numbers outside of the function, and hand them in"
    )


def spread_out(array: Array) -> Tensor:
    """The same numbers, every other one of a larger array, in reverse, as a tensor that does not copy them."""
    if not array.ndim:
        return Tensor(array)
    larger = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    larger[..., ::2] = array[::-1]
    view = larger[::-1, ..., ::2] if array.ndim > 1 else larger[::2][::-1]
    view.setflags(write=False)
    return wrap(view, None)
