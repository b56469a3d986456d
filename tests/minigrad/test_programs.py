"""Random programs: value, gradient and second derivative against NumPy and its finite differences."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.differences import STEPS, complex_step, moved, richardson
from tests.minigrad.programs import OPERATIONS, SHAPE, Program, Step, programs

seeds = st.integers(0, 2**32 - 1)


class Names:
    """minigrad under the names that programs use."""

    sin, cos, tanh, exp, log, sqrt = mg.sin, mg.cos, mg.tanh, mg.exp, mg.log, mg.sqrt
    reshape, transpose, concatenate, where = mg.reshape, mg.transpose, mg.concatenate, mg.where
    cumsum, flip, prod, einsum, stack = mg.cumsum, mg.flip, mg.prod, mg.einsum, mg.stack
    abs, amax, maximum, minimum = mg.abs, mg.max, mg.maximum, mg.minimum
    asarray = np.asarray


class Branches:
    """numpy, and which way each kink went."""

    def __init__(self):
        self.taken = []

    def __getattr__(self, name):
        return getattr(np, name)

    def abs(self, x):
        self.taken.append(np.sign(x))
        return np.abs(x)

    def amax(self, x, axis):
        self.taken.append(x == x.max(axis))
        return np.max(x, axis)

    def maximum(self, x, y):
        self.taken.append(np.sign(x - y))
        return np.maximum(x, y)

    def minimum(self, x, y):
        self.taken.append(np.sign(x - y))
        return np.minimum(x, y)


def branches(program, arrays):
    """The ways taken, as bytes."""
    names = Branches()
    program.run(names, arrays)
    return [taken.tobytes() for taken in names.taken]


def in_numpy(program):
    return lambda arrays: np.asarray(program.run(np, arrays))


def agree(found, function, arrays, direction):
    """With a difference of one step or another: the derivatives of 30 operations can be steep."""
    for step in STEPS[:-1]:
        try:
            return close(found, richardson(function, arrays, direction, step), 1e-7)
        except AssertionError:
            continue
    return close(found, richardson(function, arrays, direction, STEPS[-1]), 1e-6)


def close(found, expected, relative):
    size = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=relative, atol=relative * size)


@given(programs(), seeds)
def test_value_gradient_and_second_derivative(program, seed):
    arrays = program.arrays(seed)
    rng = np.random.default_rng(seed)
    v = [rng.standard_normal(SHAPE) for _ in arrays]

    def f(*inputs):
        return program.run(Names, inputs)

    value, gradient = mg.value_and_grad(f, tuple(range(len(arrays))))(*arrays)
    expected = program.run(np, arrays)
    close(value.data, expected, 1e-12)
    size = max(1.0, abs(expected))

    slope = sum((g.data * d).sum() for g, d in zip(gradient, v, strict=True))
    close(slope / size, complex_step(in_numpy(program), arrays, v) / size, 1e-10)

    def slopes(at):
        return np.stack([g.data for g in mg.grad(f, tuple(range(len(arrays))))(*map(mg.Tensor, at))])

    second = np.stack([h.data for h in mg.hvp(f, arrays, v)])
    agree(second, slopes, arrays, v)


@given(programs(max_steps=12, kinks=True), seeds)
def test_value_and_derivatives_beside_a_kink(program, seed):
    arrays = program.arrays(seed)
    rng = np.random.default_rng(seed)
    v = [rng.standard_normal(SHAPE) for _ in arrays]
    here = branches(program, arrays)
    for h in (STEPS[0], STEPS[0] / 2):
        assume(all(branches(program, moved(arrays, v, way)) == here for way in (h, -h)))

    def f(*inputs):
        return program.run(Names, inputs)

    def slopes(at):
        return np.stack([g.data for g in mg.grad(f, tuple(range(len(arrays))))(*map(mg.Tensor, at))])

    close(f(*map(mg.Tensor, arrays)).data, program.run(np, arrays), 1e-12)
    agree((slopes(arrays) * np.stack(v)).sum(), in_numpy(program), arrays, v)
    agree(np.stack([h.data for h in mg.hvp(f, arrays, v)]), slopes, arrays, v)


@given(programs(max_steps=6), seeds)
@settings(max_examples=10)
def test_every_partial_derivative_of_a_short_program(program, seed):
    mg.check_grads(lambda *inputs: program.run(Names, inputs), program.arrays(seed), order=2, entries=3, seed=seed)


@given(programs(), seeds)
def test_backward_accumulates_what_grad_returns(program, seed):
    arrays = program.arrays(seed)
    leaves = [mg.Tensor(array, requires_grad=True) for array in arrays]
    program.run(Names, leaves).backward()
    gradient = mg.grad(lambda *x: program.run(Names, x), tuple(range(len(arrays))))(*arrays)
    for leaf, g in zip(leaves, gradient, strict=True):
        np.testing.assert_array_equal(np.zeros(SHAPE) if leaf.grad is None else leaf.grad.data, g.data)


def test_each_operation_alone():
    for operation in OPERATIONS:
        program = Program(2, (Step(operation, (0, 1)[: 2 if "{1}" in operation else 1], 1.0),))
        arrays = program.arrays(1)
        np.testing.assert_allclose(program.run(Names, list(map(mg.Tensor, arrays))).data, program.run(np, arrays))
        mg.check_grads(lambda *x, p=program: p.run(Names, x), arrays, order=2, entries=3)


def test_a_program_reads_as_python():
    program = Program(2, (Step("{0} * {1}", (0, 1), 1.0), Step("sin({0})", (2,), 0.5)))
    assert repr(program).splitlines() == [
        "def program(v0, v1):", "    v2 = (v0 * v1) * 1.0", "    v3 = (sin(v2)) * 0.5", "    return (v3 * v3).sum()",
    ]  # fmt: skip


def test_values_are_shared():
    """Some programs must use a value twice, or the accumulation in the walk is never asked for."""
    found = []

    @given(programs())
    @settings(max_examples=30)
    def look(program):
        reads = [i for step in program.steps for i in step.reads]
        found.append((len(program.steps), len(reads) > len(set(reads))))

    look()
    assert any(shared for _, shared in found)
    assert max(length for length, _ in found) > 10
