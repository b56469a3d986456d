"""What grad, vjp, jvp, jacobian, hessian and hvp refuse: by name, place and remedy."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DtypeError, OutOfRangeError, ShapeError


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mg.grad(lambda x: x)(np.ones(3)), ShapeError, r"^grad: .* of shape \(3,\), not one number; sum it"),
        (lambda: mg.value_and_grad(lambda x: (x, x))(1.0), ShapeError, "^value_and_grad: .* gave a tuple of 2, not"),
        (lambda: mg.grad(lambda x: x.item())(1.0), DtypeError, "^grad: the output must be a Tensor, not a float; was"),
        (lambda: mg.grad(lambda x: x * x)(3), DtypeError, "^grad: argument 0 is int64, .*write 3.0 for 3"),
        (lambda: mg.grad(lambda x, y: x * y, 1)(3.0, True), DtypeError, "^grad: argument 1 is bool"),
        (lambda: mg.grad(lambda x: x["a"])({"a": 1.0, "n": [1.0, 2]}), DtypeError, r"argument 0\['n'\]\[1\] is int64"),
        (lambda: mg.grad(lambda x: x)("text"), DtypeError, "^grad: argument 0 is a str; leaves are"),
        (lambda: mg.grad(lambda x: x)(1j), DtypeError, "^grad: argument 0 is complex128"),
        (lambda: mg.grad(lambda x: x, 1)(1.0), OutOfRangeError, "^grad: argnums=1, but the call has 1 positional"),
        (lambda: mg.vjp(lambda x: np.arange(3), 1.0), DtypeError, "^vjp: the output is int64"),
        (lambda: mg.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}), ShapeError, r"too much; \['a'\] is missing"),
        (lambda: mg.vjp(lambda x: {"a": x}, 1.0)[1]({"a": [1.0]}), ShapeError, r"^vjp: the cotangent\['a'\] is a list"),
        (lambda: mg.vjp(lambda x: x, 1.0)[1](np.ones(2)), ShapeError, r"has shape \(2,\), but must have \(\)"),
        (lambda: mg.vjp(lambda x: x, 1.0)[1](1j), DtypeError, "^vjp: the cotangent is complex128; it must be real"),
        (
            lambda: mg.jvp(lambda x: x[0]["w"], ([{"w": 1.0}],), ([{"w": np.ones(3)}],)),
            ShapeError, r"^jvp: tangents\[0\]\[0\]\['w'\] has shape \(3,\), but must have \(\)",
        ),
        (lambda: mg.jvp(lambda x: x, (1.0,), (1.0, 2.0)), ShapeError, r"^jvp: tangents .* \[1\] is too much"),
        (lambda: mg.jvp(lambda x: x, 1.0, (1.0,)), DtypeError, "^jvp: args must be a tuple, one entry an argument"),
        (lambda: mg.hvp(lambda x: x, (1.0,), 1.0), DtypeError, "^hvp: vectors must be a tuple"),
        (lambda: mg.hvp(lambda x: x, (1.0,), ({"a": 1.0},)), ShapeError, r"^hvp: vectors\[0\] is a dict of 1"),
        (lambda: mg.hessian(lambda x: x)(np.ones(2)), ShapeError, "^grad: .* not one number"),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(call, error, message):
    with pytest.raises(error, match=message):
        call()
