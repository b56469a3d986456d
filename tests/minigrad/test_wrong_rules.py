"""`check_grads` rejects each classic mistake of the gallery, and accepts the right rule next to it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad as mg
import tests.minigrad.gallery_of_layers  # noqa: F401 - puts its entries into the gallery
from minigrad.errors import GradientCheckError, MinigradError
from minigrad.fused import Fused
from minigrad.operation import TABLE
from minigrad.primitive import Primitive, Rule
from tests.minigrad.gallery import GALLERY, numbers


@pytest.fixture(autouse=True)
def table_as_it_was() -> Iterator[None]:
    """What a test puts into the table of rules is taken out again."""
    before = dict(TABLE)
    yield
    TABLE.clear()
    TABLE.update(before)


@pytest.mark.parametrize("name", GALLERY)
def test_a_wrong_rule_is_rejected(name):
    wrong, _, args = GALLERY[name]()
    with pytest.raises(GradientCheckError, match=r": input \d at .*: expected .*, got "):
        mg.check_grads(wrong, args)


@pytest.mark.parametrize("name", GALLERY)
def test_the_right_rule_next_to_it_is_accepted(name):
    _, right, args = GALLERY[name]()
    mg.check_grads(right, args)


@pytest.mark.parametrize("name", GALLERY)
def test_wrong_and_right_compute_the_same(name):
    wrong, right, args = GALLERY[name]()
    np.testing.assert_allclose(wrong(*map(mg.Tensor, args)).data, right(*map(mg.Tensor, args)).data, rtol=1e-14)


def test_the_gallery_has_room_for_the_classics():
    assert len(GALLERY) >= 50


def test_a_rule_whose_first_derivative_is_right_and_second_wrong_is_rejected_at_order_two():
    """The rule reads a constant copy of x: its values are right, but what is recorded of it is not."""
    detached = Primitive("wrong", lambda x: x * x * x, "", Rule(lambda g, out, x: g * (3 * np.square(plain(x))), "x"))
    mg.check_grads(detached, [numbers(3)])
    with pytest.raises(GradientCheckError):
        mg.check_grads(detached, [numbers(3)], order=2)


def plain(x: Any) -> np.ndarray:
    return np.asarray(x.data) if isinstance(x, mg.Tensor) else np.asarray(x)


@pytest.mark.parametrize(
    ("rule", "shape"),
    [(lambda g, out, x: (g * x)[:1], (3, 2)), (lambda g, out, x: (g * x).sum(), (3,)), (lambda g, out, x: g.T, (3, 2))],
    ids=["one row", "a scalar", "transposed"],
)
def test_a_rule_of_another_shape_is_an_error_that_names_it(rule, shape):
    operation = Primitive("misshapen", lambda x: x * x, "", Rule(rule, "x"))
    with pytest.raises(MinigradError, match="the rule of misshapen gave a cotangent of shape"):
        mg.check_grads(operation, [numbers(*shape)])


def test_a_rule_that_reads_what_it_does_not_declare_fails():
    operation = Primitive("greedy", np.square, "", Rule(lambda g, out, x: 2 * g * x))
    x = mg.Tensor(np.ones(20), requires_grad=True)
    with pytest.raises(TypeError) as raised:
        operation(x).sum().backward()
    assert raised.value.__notes__ == ["in the derivative of greedy: (20,)"]


def test_a_rule_that_branches_on_values_fails_when_it_is_recorded():
    operation = Primitive("branching", np.square, "", Rule(lambda g, out, x: 2 * g * x if x.sum() else 0 * g, "x"))
    x = mg.Tensor(numbers(3), requires_grad=True)
    mg.gradients(operation(x), [x], np.ones(3))
    with pytest.raises(mg.GraphError, match="must not branch on values"):
        mg.gradients(operation(x), [x], np.ones(3), create_graph=True)


def test_an_operation_of_a_taken_name_is_refused():
    with pytest.raises(ValueError, match="'exp' is in the table already"):
        Primitive("exp", np.exp, "", Rule(lambda g, out, x: g * out, "out"))


def test_a_row_that_declares_what_it_does_not_have_is_refused():
    with pytest.raises(ValueError, match=r"reads \{'z'\}"):
        Primitive("unclear", np.exp, "", Rule(lambda g, out, x: g * out, "out z"))
    with pytest.raises(ValueError, match=r"reads \{'z'\}"):
        Fused("unclear too", mg.exp, lambda x: (x, None), lambda g, out, r, x: (g,), "", "z")
