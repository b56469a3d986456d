"""SGD, Adam, AdamW: one flat pass equals the textbook, parameter by parameter; state, errors, clipping."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.optim import SGD, Adam, AdamW, clip_grad_norm
from minigrad.optim.optimizers import BLOCK
from tests.minigrad.operations import seeds
from tests.minigrad.strategies import numbers

SHAPES = ((), (3,), (0, 2), (2, 4), (1,))


def parameters(seed=0, shapes=SHAPES, dtype=np.float64):
    return [mg.nn.Parameter(numbers(shape, seed + i), dtype=dtype) for i, shape in enumerate(shapes)]


class Reference:
    """The update of one parameter, in float64, as the papers write it."""

    def __init__(self, kind, p, **options):
        self.kind, self.p, self.options = kind, np.array(p, np.float64), options
        self.m = self.v = np.zeros(self.p.shape)
        self.count = 0

    def step(self, g, rate):
        self.count += 1
        t = self.count
        if self.kind is SGD:
            self.v = self.options.get("momentum", 0.0) * self.v + g
            self.p = self.p - rate * self.v
            return
        (b1, b2), eps = self.options.get("betas", (0.9, 0.98)), self.options.get("eps", 1e-9)
        self.m = b1 * self.m + (1 - b1) * g
        self.v = b2 * self.v + (1 - b2) * g * g
        decay = self.options.get("weight_decay", 0.01) if self.kind is AdamW else 0.0
        corrected = (self.m / (1 - b1**t)) / (np.sqrt(self.v / (1 - b2**t)) + eps)
        self.p = self.p - rate * corrected - rate * decay * self.p


CHOICES = st.sampled_from(
    (
        (SGD, {}), (SGD, {"momentum": 0.9}), (Adam, {}), (Adam, {"betas": (0.8, 0.9), "eps": 1e-3}), (AdamW, {}),
        (AdamW, {"weight_decay": 0.3}),
    )
)  # fmt: skip


@given(CHOICES, st.lists(st.sets(st.integers(0, len(SHAPES) - 1)), min_size=1, max_size=6), seeds)
def test_every_optimiser_equals_the_textbook_parameter_by_parameter(choice, with_gradient, seed):
    """Also where some parameters have no gradient at some steps: these, and their moments, stay as they are.

    The moments are corrected by the number of steps that a parameter took part in, as in torch.
    """
    kind, options = choice
    ps = parameters(seed)
    references = [Reference(kind, p.data, **options) for p in ps]
    optimizer = kind(ps, lambda t: 0.1 / t, **options)
    for t, graded in enumerate(with_gradient, start=1):
        for i, p in enumerate(ps):
            g = numbers(p.shape, seed + 100 * t + i)
            p.grad = mg.Tensor(g) if i in graded else None
            if i in graded:
                references[i].step(g, 0.1 / t)
        before = [p.data for p in ps]
        optimizer.step()
        assert optimizer.rate == 0.1 / t
        for i, (p, reference) in enumerate(zip(ps, references, strict=True)):
            np.testing.assert_allclose(p.data, reference.p, rtol=1e-12, atol=1e-14)
            assert (p.data is before[i]) or i in graded or not p.size
    assert optimizer.step_count == len(with_gradient)


def test_arrays_larger_than_a_block_are_updated_as_one():
    ps = parameters(shapes=((BLOCK - 1,), (3,), (2 * BLOCK + 5,)))
    references = [Reference(Adam, p.data) for p in ps]
    optimizer = Adam(ps, 0.01)
    for t in range(1, 4):
        for i, (p, reference) in enumerate(zip(ps, references, strict=True)):
            g = numbers(p.shape, 10 * t + i)
            p.grad = mg.Tensor(g)
            reference.step(g, 0.01)
        optimizer.step()
    for p, reference in zip(ps, references, strict=True):
        np.testing.assert_allclose(p.data, reference.p, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_float32_parameters_stay_float32_and_close_to_the_reference(kind):
    ps = parameters(dtype=np.float32)
    references = [Reference(kind, p.data) for p in ps]
    optimizer = kind(ps, 0.01)
    for t in range(1, 20):
        for i, (p, reference) in enumerate(zip(ps, references, strict=True)):
            g = numbers(p.shape, 10 * t + i).astype(np.float32)
            p.grad = mg.Tensor(g)
            reference.step(g.astype(np.float64), 0.01)
        optimizer.step()
    for p, reference in zip(ps, references, strict=True):
        assert p.dtype == np.float32
        np.testing.assert_allclose(p.data, reference.p, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_going_on_from_a_state_dict_is_bit_identical(kind, dtype):
    def train(optimizer, ps, steps):
        for t in steps:
            for i, p in enumerate(ps):
                p.grad = mg.Tensor(numbers(p.shape, 10 * t + i).astype(dtype))
            optimizer.step()

    options = {"momentum": 0.9} if kind is SGD else {}
    rate = mg.optim.warmup(64, 5)
    straight = parameters(dtype=dtype)
    train(kind(straight, rate, **options), straight, range(12))

    first = parameters(dtype=dtype)
    before = kind(first, rate, **options)
    train(before, first, range(7))
    state = {name: array.copy() for name, array in before.state_dict().items()}
    resumed = [mg.nn.Parameter(p.data) for p in first]
    after = kind(resumed, rate, **options)
    after.load_state_dict(state)
    train(after, resumed, range(7, 12))
    for one, other in zip(straight, resumed, strict=True):
        np.testing.assert_array_equal(one.data, other.data)
    train(before, first, range(7, 9))
    np.testing.assert_array_equal(state["step"], 7)  # the copy has a life of its own


def test_a_state_dict_is_a_copy_and_a_foreign_one_is_refused():
    optimizer = Adam(parameters(), 0.1)
    state = optimizer.state_dict()
    state["sum"][:] = 99
    assert not optimizer.state_dict()["sum"].any()
    for foreign in (SGD(parameters(), 0.1).state_dict(), Adam(parameters(shapes=((7,),)), 0.1).state_dict(), {}):
        with pytest.raises(mg.CheckpointError, match=r"another's, or an older release's: it holds .*, not "):
            optimizer.load_state_dict(foreign)


def test_zero_grad_forgets_and_a_step_without_gradients_changes_nothing():
    ps = parameters()
    optimizer = Adam(ps, 0.1)
    for p in ps:
        p.grad = mg.Tensor(np.ones(p.shape))
    optimizer.zero_grad()
    assert all(p.grad is None for p in ps)
    before = [p.data for p in ps]
    optimizer.step()
    assert all(p.data is array for p, array in zip(ps, before, strict=True))


def test_a_parameter_listed_twice_is_updated_once():
    (p,) = parameters(shapes=((3,),))
    start = p.data
    p.grad = mg.Tensor(np.ones(3))
    SGD([p, p], 0.5).step()
    np.testing.assert_allclose(p.data, start - 0.5)


def test_what_a_parameter_was_before_a_step_is_still_what_it_was():
    (p,) = parameters(shapes=((3,),))
    held, copy = p.data, p.data.copy()
    p.grad = mg.Tensor(np.ones(3))
    SGD([p], 0.5).step()
    np.testing.assert_array_equal(held, copy)
    assert not p.data.flags.writeable


def test_parameters_may_be_a_generator_of_a_module():
    layer = mg.nn.Linear(2, 3, np.random.default_rng(0))
    optimizer = SGD((p for p in layer.parameters()), 0.1)
    layer(np.ones((1, 2), np.float32)).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(layer.bias.data, -0.1)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SGD([], 0.1), ValueError, "at least one parameter"),
        (
            lambda: SGD([mg.Tensor(1.0)], 0.1),
            mg.GraphError,
            r"parameter 0 \(unnamed\) is no leaf that requires a gradient",
        ),
        (lambda: SGD([mg.Tensor(1.0, requires_grad=True) * 2.0], 0.1), mg.GraphError, "parameter 0"),
        (
            lambda: Adam([*parameters(shapes=((1,),)), *parameters(shapes=((1,),), dtype=np.float32)], 0.1),
            ValueError,
            r"must have one dtype, not \['float32', 'float64'\]",
        ),
    ],
)
def test_what_cannot_be_optimised_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_the_rate_is_a_number_or_a_function_of_the_step_from_one():
    (p,) = parameters(shapes=((1,),))
    seen = []
    optimizer = SGD([p], lambda t: seen.append(t) or 0.0)
    for _ in range(3):
        optimizer.step()
    assert seen == [1, 2, 3]
    constant = SGD([p], 0.25)
    constant.step()
    assert constant.rate == 0.25
    constant.lr = 0.125
    constant.step()
    assert (constant.rate, constant.step_count) == (0.125, 2)


@given(seeds, st.sampled_from((0.1, 1.0, 1e6)))
def test_clipping_scales_all_gradients_to_a_joint_norm(seed, limit):
    ps = parameters(seed)
    grads = [numbers(p.shape, seed + i) for i, p in enumerate(ps)]
    for p, g in zip(ps, grads, strict=True):
        p.grad = mg.Tensor(g)
    ps[1].grad = None
    norm = math.sqrt(sum(float((g * g).sum()) for i, g in enumerate(grads) if i != 1))
    assert clip_grad_norm([*ps, ps[3]], limit) == pytest.approx(norm)
    for i, (p, g) in enumerate(zip(ps, grads, strict=True)):
        if i != 1:
            np.testing.assert_allclose(p.grad.data, g * min(1.0, limit / norm), rtol=1e-12)
    assert ps[1].grad is None


def test_clipping_keeps_the_dtype_and_leaves_small_gradients_as_they_are():
    p = mg.nn.Parameter([3.0, 4.0])
    p.grad = before = mg.Tensor([3.0, 4.0])
    assert clip_grad_norm([p], 10.0) == pytest.approx(5)
    assert p.grad is before
    assert clip_grad_norm([p], 1.0) == pytest.approx(5)
    np.testing.assert_allclose(p.grad.data, [0.6, 0.8], rtol=1e-6)
    assert p.grad.dtype == np.float32
    assert clip_grad_norm([mg.nn.Parameter([1.0])], 1.0) == 0


def test_the_norm_of_big_gradients_does_not_overflow():
    p = mg.nn.Parameter(np.ones(4, np.float32))
    p.grad = mg.Tensor(np.full(4, 1e30, np.float32))
    assert clip_grad_norm([p], 1.0) == pytest.approx(2e30)
    np.testing.assert_allclose(p.grad.data, 0.5, rtol=1e-6)


@pytest.mark.parametrize("rate", [-1.0, np.inf, np.nan])
def test_a_rate_that_would_go_uphill_or_nowhere_is_refused_and_changes_nothing(rate):
    p = mg.nn.Parameter([1.0, 2.0])
    p.grad = mg.Tensor([1.0, 1.0])
    optimizer = mg.optim.Adam([p], lr=lambda step: rate)
    with pytest.raises(ValueError, match="the learning rate of step 1 must be finite and not negative"):
        optimizer.step()
    assert p.data.tolist() == [1.0, 2.0]
    assert optimizer.step_count == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda p: mg.optim.Adam(p, lr=1.0, betas=(1.0, 0.9)), r"betas\[0\] must be in \[0, 1\)"),
        (lambda p: mg.optim.Adam(p, lr=1.0, betas=(0.9, -0.1)), r"betas\[1\] must be in \[0, 1\)"),
        (lambda p: mg.optim.SGD(p, lr=1.0, momentum=5.0), r"momentum must be in \[0, 1\), not 5.0"),
        (lambda p: mg.optim.clip_grad_norm(p, -1.0), "max_norm must be positive, not -1.0"),
        (lambda p: mg.optim.clip_grad_norm(p, float("nan")), "max_norm must be positive, not nan"),
    ],
)
def test_settings_without_a_meaning_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make([mg.nn.Parameter([1.0])])


@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_float16_parameters_go_on_learning_from_large_gradients(kind):
    """The state is float32: 200 squares of 60 would not fit float16, nor would eps."""
    (p,) = parameters(shapes=((1,),), dtype=np.float16)
    q = mg.nn.Parameter(p.data, dtype=np.float64)
    narrow, wide = kind([p], 0.01), kind([q], 0.01)
    for step in range(200):
        for one, optimizer in ((p, narrow), (q, wide)):
            one.grad = mg.Tensor(np.full(1, 60.0 if step else 0.0, one.dtype))
            optimizer.step()
    assert p.dtype == np.float16
    np.testing.assert_allclose(p.data, q.data, atol=0.05)


def test_a_parameter_without_a_gradient_does_not_cost_the_flat_array():
    ps = parameters()
    optimizer = Adam(ps, 0.1)
    for p in ps[1:]:
        p.grad = mg.Tensor(np.ones(p.shape))
    optimizer.step()
    kept = ps[0].data
    before = [p.data for p in ps]
    assert optimizer._values() is optimizer._flat
    np.testing.assert_array_equal(optimizer._flat, np.concatenate([array.reshape(-1) for array in before]))
    optimizer.step()
    assert ps[0].data is kept
    assert not any(p.data.flags.writeable for p in ps)
