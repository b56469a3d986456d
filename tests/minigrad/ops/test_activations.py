"""Smooth functions at the far ends of the numbers."""

import math

import numpy as np

import minigrad as mg
from minigrad.ops.error_function import erf_of, normal_cdf
from tests.minigrad.strategies import leaf


def test_erf_and_the_normal_distribution_to_the_last_places():
    x = np.concatenate([np.linspace(-7, 7, 20_001), np.logspace(-300, 1.4, 2000), [0.0, -0.0, np.inf, -np.inf, 1.25]])
    exact = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf_of(x), exact, rtol=5e-16)
    np.testing.assert_allclose(
        normal_cdf(x), [0.5 * math.erfc(-value * math.sqrt(0.5)) for value in x], rtol=2e-15, atol=0
    )
    assert np.isnan(erf_of(np.array([np.nan]))).all()
    assert np.isnan(normal_cdf(np.array([np.nan]))).all()
    assert erf_of(np.array([1], np.int64)).dtype == np.float64
    assert mg.erf(leaf(np.float32([0.5]))).dtype == np.float32


def test_sigmoid_softplus_and_gelu_neither_overflow_nor_lose_their_tails():
    x = np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
    np.testing.assert_allclose(
        mg.sigmoid(x).data, [math.exp(v - max(v, 0)) / (1 + math.exp(-abs(v))) for v in x], rtol=1e-15
    )
    np.testing.assert_allclose(mg.softplus(x).data, np.logaddexp(x, 0), rtol=1e-15)
    np.testing.assert_allclose(mg.silu(x).data, x * mg.sigmoid(x).data, rtol=1e-15)
    tail = np.array([-10.0, -30.0])
    np.testing.assert_allclose(mg.gelu(tail).data, [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in tail], rtol=1e-12)
