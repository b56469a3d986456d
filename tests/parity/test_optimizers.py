"""SGD, Adam and AdamW: 50 steps from the same start by the same gradients end where torch.optim's do."""

import numpy as np
import pytest
import torch

import minigrad as mg

STEPS = 50
BETAS, EPS = (0.9, 0.98), 1e-9
SHAPES = ((3, 4), (4,), (), (2, 1, 5))

OPTIMIZERS = {
    "SGD": (lambda p: mg.optim.SGD(p, lr=0.05), lambda p: torch.optim.SGD(p, lr=0.05)),
    "SGD with momentum": (
        lambda p: mg.optim.SGD(p, lr=0.05, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    ),
    "Adam": (
        lambda p: mg.optim.Adam(p, lr=0.01, betas=BETAS, eps=EPS),
        lambda p: torch.optim.Adam(p, lr=0.01, betas=BETAS, eps=EPS),
    ),
    "Adam with a large eps": (
        lambda p: mg.optim.Adam(p, lr=0.01, betas=(0.8, 0.999), eps=0.1),
        lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.999), eps=0.1),
    ),
    "AdamW": (
        lambda p: mg.optim.AdamW(p, lr=0.01, betas=BETAS, eps=EPS, weight_decay=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.01, betas=BETAS, eps=EPS, weight_decay=0.1),
    ),
}


def starts(seed):
    rng = np.random.default_rng(seed)
    mine = [mg.Tensor(rng.normal(size=shape), requires_grad=True) for shape in SHAPES]
    return rng, mine, [torch.tensor(tensor.data.copy(), requires_grad=True) for tensor in mine]


def assert_close(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.data, other.numpy(force=True), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fifty_steps_by_random_gradients(name):
    rng, mine, theirs = starts(0)
    (make_mine, make_theirs) = OPTIMIZERS[name]
    ours, torchs = make_mine(mine), make_theirs(theirs)
    for _ in range(STEPS):
        for one, other in zip(mine, theirs, strict=True):
            g = rng.normal(size=one.shape) * 10.0 ** rng.integers(-4, 3)
            one.grad, other.grad = mg.Tensor(g), torch.tensor(g)
        ours.step()
        torchs.step()
        assert_close(mine, theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fifty_steps_down_a_loss(name):
    """Gradients come from each side's own backward pass, so that a difference would feed on itself."""
    rng, mine, theirs = starts(1)
    (make_mine, make_theirs) = OPTIMIZERS[name]
    ours, torchs = make_mine(mine), make_theirs(theirs)
    x, y = rng.normal(size=(7, 3)), rng.normal(size=(7, 4))
    for _ in range(STEPS):
        weight, bias, scale, extra = mine
        loss = ((mg.tanh(mg.Tensor(x) @ weight + bias) * scale - y) ** 2).mean() + (extra * extra).sum() * 0.1
        weight, bias, scale, extra = theirs
        expected = (torch.tanh(torch.tensor(x) @ weight + bias) * scale - torch.tensor(y)).square().mean()
        expected = expected + (extra * extra).sum() * 0.1
        np.testing.assert_allclose(loss.data, expected.numpy(force=True), rtol=1e-9)
        ours.zero_grad()
        torchs.zero_grad()
        loss.backward()
        expected.backward()
        ours.step()
        torchs.step()
    assert_close(mine, theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_parameter_without_a_gradient_stays(name):
    """It keeps its moments, and its count of steps, too."""
    rng, mine, theirs = starts(2)
    (make_mine, make_theirs) = OPTIMIZERS[name]
    ours, torchs = make_mine(mine), make_theirs(theirs)
    for step in range(STEPS):
        for i, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            g = None if (step + i) % 3 == 0 else rng.normal(size=one.shape)
            one.grad, other.grad = (None, None) if g is None else (mg.Tensor(g), torch.tensor(g))
        ours.step()
        torchs.step()
    assert_close(mine, theirs)


@pytest.mark.parametrize("max_norm", [0.5, 100.0])
def test_clipping(max_norm):
    """torch divides by the norm plus 1e-6: equal to that."""
    rng, mine, theirs = starts(3)
    for one, other in zip(mine, theirs, strict=True):
        g = rng.normal(size=one.shape)
        one.grad, other.grad = mg.Tensor(g), torch.tensor(g)
    norm = mg.optim.clip_grad_norm(mine, max_norm)
    np.testing.assert_allclose(norm, float(torch.nn.utils.clip_grad_norm_(theirs, max_norm)), rtol=1e-12)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.grad.data, other.grad.numpy(), rtol=1e-6, atol=1e-9)
