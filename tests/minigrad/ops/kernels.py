"""One run of a fused operation, by its kernel or by its definition, and what makes two runs the same."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.strategies import Layout, cotangent, leaf

PLAIN = Layout("plain")
CLOSE: dict[Any, dict[str, float]] = {
    np.float32: {"rtol": 2e-5, "atol": 1e-5},
    np.float64: {"rtol": 1e-12, "atol": 1e-13},
}
garbage = st.sampled_from((np.nan, np.inf, -np.inf, 1e30))


@dataclass
class Outcome:
    """The output and the gradients."""

    output: np.ndarray
    gradients: list[np.ndarray]


def outcome(
    call: Any, arrays: Any, layout: Any, seed: int, unfused: bool = False, create_graph: bool = False
) -> Outcome:
    """Run the kernel, or the definition, and go backward from a random cotangent."""
    leaves = [leaf(array) for array in arrays]
    if unfused:
        with mg.unfused():
            output = call(*leaves)
    else:
        output = call(*leaves)
    g = cotangent(output.shape, output.dtype, layout, seed)
    found = mg.gradients(output, leaves, g, create_graph)
    return Outcome(output.data, [gradient.data for gradient in found])


def assert_same(one: Outcome, other: Outcome, dtype: Any) -> None:
    assert (one.output.shape, one.output.dtype) == (other.output.shape, other.output.dtype)
    np.testing.assert_allclose(one.output, other.output, **CLOSE[dtype])
    for a, b in zip(one.gradients, other.gradients, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, **CLOSE[dtype])


def assert_all_paths_agree(call: Any, arrays: Any, layout: Any, seed: int, dtype: Any) -> Outcome:
    """Kernel, definition, and the definition re-run for a recorded derivative."""
    kernel = outcome(call, arrays, layout, seed)
    assert_same(kernel, outcome(call, arrays, layout, seed, unfused=True), dtype)
    assert_same(kernel, outcome(call, arrays, layout, seed, create_graph=True), dtype)
    return kernel
