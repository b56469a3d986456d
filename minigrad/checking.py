"""check_grads: a function's derivative against what the function itself does when its inputs are nudged."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from minigrad.backprop import gradients
from minigrad.differences import STEPS, complex_step, richardson, unit
from minigrad.errors import DtypeError, GradientCheckError, GraphError
from minigrad.promises import check_adjoint, check_promises
from minigrad.state import enable_grad, no_grad
from minigrad.tape import Array, topological_order
from minigrad.tensor import Tensor

FULL_JACOBIAN = 16
"""Up to so many output elements, each one's gradient is compared, not only that of their random combination."""
ALL_ENTRIES = 256
"""Up to so many elements of an input, each is compared; of a larger one a sample, and random directions."""
SAMPLE, DIRECTIONS = 32, 4


class Checked(NamedTuple):
    """What was found about one input at one order of derivative.

    input, order: which.
    compared: how many numbers were compared.
    zeros: how many of these were differences of two zeros: both sides 0 to rounding, so that their ratio means nothing.
    error: the largest relative error of the others, 0.0 where there are none.
    """

    input: int
    order: int
    compared: int
    zeros: int
    error: float

    def __str__(self) -> str:
        said = (
            f"input {self.input}, order {self.order}: {self.compared} compared, largest relative error {self.error:.1e}"
        )
        return said + (f"; {self.zeros} differences of two zeros, not judged by their ratio" if self.zeros else "")


def check_grads(
    f: Callable[..., Tensor],
    args: Sequence[Any],
    order: int = 1,
    *,
    complex_step: bool | None = None,
    entries: int | None = None,
    seed: int = 0,
) -> list[Checked]:
    """Raise GradientCheckError unless the derivatives of `f(*args)` are right, up to `order`, and keep their promises.

    In float64, at each element of each floating argument x, for a random cotangent u (never ones) and, where f gives no
    more than 16 numbers, for each of these alone (the full Jacobian), d sum(u * f) / dx is compared with
    - the complex step at 1e-20, to a relative 1e-10, where every operation on the tape is analytic;
    - Richardson's difference, to a relative 1e-7, elsewhere.
    Of an argument of more than 256 elements, 32 are taken at random. Random directions, which see all elements, are
    compared besides, by differences in any case. Two numbers that are both 0 to rounding agree, whatever their ratio:
    within 1e-9 (1e-12 for the complex step) times the size of the summed terms.
    Promises: the same arguments give the same bits; a zero cotangent gives zero; a cotangent's layout in memory does
    not matter; gradients have the shape and the dtype of their inputs, float32 too; and, from order 2 on, where the
    rules run on Tensors, <J v, u> = <v, J^T u> to 1e-12.
    Order n then checks the derivative of sum(v * gradient), with random v, as a function of its own.

    args: arrays, Tensors or numbers; floating ones are checked, others are constants.
    complex_step: None: where it is possible; True or False: always or never.
    entries: compare at most so many elements of each argument, chosen at random.
    Returns what was compared, one `Checked` an input and order. The message of the error names the operation, the
    input, the index, what was expected and what came out.
    """
    arrays = [np.asarray(arg.data if isinstance(arg, Tensor) else arg) for arg in args]
    arrays = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    checked = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    found: list[Checked] = []
    for level in range(1, order + 1):
        rng = np.random.default_rng(seed + level - 1)
        point = Point(f, arrays, checked, rng)
        if level > 1:
            point.analytic = False
        elif complex_step is not None:
            point.analytic = complex_step
        elif point.analytic:
            point.analytic = point.takes_complex_numbers()
        with np.errstate(all="ignore"):
            found += [compare_input(point, i, level, entries) for i in checked]
            compare_directions(point, entries)
        if level == 1:
            check_promises(point.name, f, arrays, checked, point.cotangent)
            if order > 1:
                check_adjoint(point.name, f, arrays, checked, point.cotangent, rng)
        if level < order:
            f = derivative(f, checked, point.cotangent, [rng.standard_normal(arrays[i].shape) for i in checked])
    return found


class Point:
    """A function at its arguments: its value, and its gradients by the rules for one random cotangent.

    cotangents: the random one, then, for a full Jacobian, each unit vector; with `gradients`, aligned.
    """

    def __init__(
        self, f: Callable[..., Tensor], arrays: list[Array], checked: list[int], rng: np.random.Generator
    ) -> None:
        self.f, self.arrays, self.checked, self.rng = f, arrays, checked, rng
        inputs = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
        output = f(*inputs)
        if not isinstance(output, Tensor):
            raise DtypeError(f"check_grads: the function must return a Tensor, not {type(output).__name__}")
        if output._node is None:
            raise GraphError("check_grads: the function's output depends on none of its floating arguments")
        self.name = output._node.primitive.name if output._node.primitive is not None else "identity"
        self.value = output.data
        self.analytic = all(
            node.primitive is None or node.primitive.analytic for node in topological_order([output._node])
        )
        self.cotangent = rng.standard_normal(output.shape)
        self.cotangents = [self.cotangent]
        if 1 < output.size <= FULL_JACOBIAN:
            self.cotangents += list(np.eye(output.size).reshape(-1, *output.shape))
        wanted = [inputs[i] for i in checked]
        self.gradients = [
            dict(zip(checked, [g.data for g in gradients(output, wanted, u)], strict=True)) for u in self.cotangents
        ]

    def evaluate(self, arrays: Sequence[Array]) -> Array:
        """The function's values."""
        return self.f(*map(Tensor, arrays)).data

    def evaluate_complex(self, arrays: Sequence[Array]) -> Array:
        """The same unrecorded, as complex numbers must be, also where f closes over tensors with gradients."""
        with no_grad():
            return self.evaluate(arrays)

    def takes_complex_numbers(self) -> bool:
        """Whether complex numbers go through: not where f takes derivatives itself, or casts to a real dtype."""
        try:
            value = self.evaluate_complex([x + 0j if i in self.checked else x for i, x in enumerate(self.arrays)])
        except (DtypeError, TypeError, np.exceptions.ComplexWarning):
            return False
        return np.iscomplexobj(value)

    def by_complex_step(
        self, where: str, direction: Sequence[Array], got: Sequence[float], scale: float
    ) -> "Comparison":
        """Compare the slopes along `direction`, of length `scale`, with `got` from the rules, one a cotangent."""
        slope = complex_step(self.evaluate_complex, self.arrays, direction) / scale
        return self.judge(where, "complex step", slope, got, 1e-10, 1e-12)

    def by_differences(
        self, where: str, direction: Sequence[Array], got: Sequence[float], scale: float
    ) -> "Comparison":
        """The same; with a smaller step where one disagrees, for a kink may lie within it."""
        for step in STEPS[:-1]:
            slope = richardson(self.evaluate, self.arrays, direction, step) / scale
            with suppress(GradientCheckError):
                return self.judge(where, "Richardson difference", slope, got, 1e-7, 1e-9)
        slope = richardson(self.evaluate, self.arrays, direction, STEPS[-1]) / scale
        return self.judge(where, "Richardson difference", slope, got, 1e-7, 1e-9)

    def judge(
        self, where: str, how: str, slope: Array, got: Sequence[float], relative: float, absolute: float
    ) -> "Comparison":
        """Raise where two numbers differ by more than both bounds, or one is not a number."""
        zeros, worst = 0, 0.0
        for u, g in zip(self.cotangents, got, strict=False):
            expected = float((u * slope).sum())
            allowed = absolute * max(1.0, float(np.abs(u * self.value).sum()))
            larger = max(abs(expected), abs(g))
            if not abs(expected - g) <= max(allowed, relative * larger):
                of = "" if u is self.cotangent else f" of output {tuple(int(k) for k in np.argwhere(u)[0])}"
                raise GradientCheckError(f"{self.name}: {where}{of}: expected {expected:.12g} ({how}), got {g:.12g}")
            if larger <= allowed:
                zeros += 1
            else:
                worst = max(worst, abs(expected - g) / larger)
        return Comparison(len(got), zeros, worst)


class Comparison(NamedTuple):
    """How many numbers were compared, how many were two zeros, the largest relative error of the others."""

    compared: int
    zeros: int
    error: float


def compare_input(point: Point, i: int, order: int, entries: int | None) -> Checked:
    """Compare the derivative by elements of the i-th argument."""
    array = point.arrays[i]
    if entries is None and array.size > ALL_ENTRIES:
        entries = SAMPLE
    total = Comparison(0, 0, 0.0)
    for index in chosen(array.shape, entries, point.rng):
        length = max(1.0, abs(float(array[index])))
        got = [float(gradient[i][index]) for gradient in point.gradients]
        how = point.by_complex_step if point.analytic else point.by_differences
        one = how(f"input {i} at {index}", unit(point.arrays, i, index, length), got, length)
        total = Comparison(total.compared + one.compared, total.zeros + one.zeros, max(total.error, one.error))
    return Checked(i, order, *total)


def compare_directions(point: Point, entries: int | None) -> None:
    """Compare the derivative along random directions, of length 1, that move all floating arguments at once.

    By differences in any case: a complex step sees the function as it is for complex numbers.
    """
    if not any(point.arrays[i].size for i in point.checked):
        return
    big = any(point.arrays[i].size > ALL_ENTRIES for i in point.checked)
    for _ in range(DIRECTIONS if big and entries is None else 1):
        direction = [
            point.rng.standard_normal(array.shape) if i in point.checked else np.zeros(())
            for i, array in enumerate(point.arrays)
        ]
        length = np.sqrt(sum(float((v * v).sum()) for v in direction))
        direction = [v / length for v in direction]
        got = sum(float((point.gradients[0][i] * direction[i]).sum()) for i in point.checked)
        where = f"inputs {point.checked} along a random direction"
        if point.analytic:
            point.by_complex_step(where, direction, [got], 1.0)
        point.by_differences(where, direction, [got], 1.0)


def chosen(shape: tuple[int, ...], entries: int | None, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """The indices to compare: all, or `entries` of them at random."""
    size = int(np.prod(shape))
    flat = range(size) if entries is None or entries >= size else rng.choice(size, entries, replace=False)
    for position in flat:
        yield tuple(int(i) for i in np.unravel_index(position, shape))


def derivative(
    f: Callable[..., Tensor], checked: list[int], cotangent: Array, directions: list[Array]
) -> Callable[..., Tensor]:
    """x -> sum over inputs of sum(v * d sum(u * f) / d x), itself on the tape."""

    def function(*inputs: Tensor) -> Tensor:
        with enable_grad():
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
