"""Contract 12: an error names the operation, the module path and the operand shapes, and says what to do."""

import inspect

import numpy as np
import pytest

import minigrad as mg
from minigrad import errors
from tests.minigrad.strategies import numbers


def test_every_error_is_a_minigrad_error_and_the_built_in_one_that_numpy_would_raise():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, mg.MinigradError)]
    assert len(kinds) >= 8
    for kind in kinds:
        assert kind is mg.MinigradError or kind.__bases__[1] in (
            ValueError, TypeError, IndexError, RuntimeError, AssertionError, FloatingPointError,
        )  # fmt: skip


def ones(*shape):
    return mg.Tensor(np.ones(shape), requires_grad=True)


FAILURES = {
    "matmul": (
        lambda: ones(8, 12, 64) @ ones(32, 64), mg.ShapeError,
        r"\(8, 12, 64\) @ \(32, 64\): the last axis of the left",
    ),
    "matmul of a number": (lambda: ones(2, 3) @ 2.0, mg.ShapeError, r"\(2, 3\) @ \(\): .* use \* for a number"),
    "add": (lambda: ones(2, 3) + ones(4), mg.ShapeError, r"\(2, 3\), \(4,\): .*aligned from the right"),
    "where": (
        lambda: mg.where(np.ones(3, bool), ones(2), 0.0), mg.ShapeError,
        r"\(3,\), \(2,\), 0.0: .*aligned from the right",
    ),
    "reshape": (lambda: ones(2, 3).reshape(4, 2), mg.ShapeError, r"\(2, 3\): .*same product; one of them may be -1"),
    "reshape of -1": (lambda: ones(2, 3).reshape(4, -1), mg.ShapeError, r"\(2, 3\): "),
    "transpose": (
        lambda: mg.transpose(ones(2, 3), (0,)), mg.ShapeError,
        r"axes=\(0,\) must name each axis of \(2, 3\) once",
    ),
    "transpose twice": (
        lambda: mg.transpose(ones(2, 3), (0, 0)), mg.ShapeError,
        r"\(2, 3\) with axis=\(0, 0\): repeated axis",
    ),
    "swapaxes": (
        lambda: ones(2, 3).swapaxes(0, 2), mg.OutOfRangeError,
        r"axis=2 of shape \(2, 3\): it has axes 0..1 \(or -2..-1\)",
    ),
    "broadcast_to": (lambda: mg.broadcast_to(ones(2, 3), (2, 4)), mg.ShapeError, r"\(2, 3\): "),
    "concatenate": (
        lambda: mg.concatenate([ones(2, 3), ones(2, 4)]), mg.ShapeError,
        r"\(2, 3\), \(2, 4\): .*agree but on the axis",
    ),
    "concatenate nothing": (lambda: mg.concatenate([]), mg.ShapeError, "there is nothing to join"),
    "concatenate numbers": (lambda: mg.concatenate([ones(), ones()]), mg.OutOfRangeError, "it has no axes"),
    "squeeze": (
        lambda: mg.squeeze(ones(2, 3), 0), mg.ShapeError,
        r"axis 0 of \(2, 3\) has size 2; only an axis of size 1",
    ),
    "expand_dims": (lambda: mg.expand_dims(ones(2), 3), mg.OutOfRangeError, "axis=3"),
    "sum": (lambda: ones(2, 3).sum(axis=2), mg.OutOfRangeError, r"axis=2 of shape \(2, 3\)"),
    "sum twice": (lambda: ones(2, 3).sum(axis=(0, -2)), mg.ShapeError, r"axis=\(0, -2\): repeated axis"),
    "sum of a float axis": (lambda: ones(2, 3).sum(axis=1.5), mg.DtypeError, "axis=1.5 .* axes are integers, or None"),
    "max": (lambda: ones(2, 0).max(axis=1), mg.ShapeError, r"\(2, 0\): zero-size array"),
    "softmax": (lambda: mg.softmax(ones(2, 3), axis=2), mg.OutOfRangeError, r"axis=2 of shape \(2, 3\)"),
    "softmax of a tuple": (
        lambda: mg.softmax(ones(2, 3), axis=(0, 1)), mg.DtypeError,
        r"axis=\(0, 1\) .* an axis is an integer",
    ),
    "softmax of a number": (lambda: mg.softmax(ones()), mg.OutOfRangeError, "it has no axes"),
    "getitem": (
        lambda: ones(2, 3)[5], mg.OutOfRangeError,
        r"\(2, 3\): index 5 is out of bounds for axis 0 with size 2",
    ),
    "getitem of a float": (lambda: ones(2, 3)[1.5], mg.OutOfRangeError, r"\(2, 3\): only integers, slices"),
    "getitem of too many": (lambda: ones(2)[0, 0], mg.OutOfRangeError, "too many indices"),
    "getitem of a mask": (
        lambda: ones(3)[np.ones(2, bool)], mg.OutOfRangeError,
        r"\(3,\): boolean index did not match",
    ),
    "scatter_add": (
        lambda: mg.scatter_add(ones(2), np.array([0, 5]), (3,)), mg.OutOfRangeError,
        r"\(2,\): index 5 is out of bounds",
    ),
    "scatter_add below": (
        lambda: mg.scatter_add(ones(2), np.array([0, -4]), (3,)), mg.OutOfRangeError,
        "index -4 is out of bounds",
    ),
    "scatter_add shape": (lambda: mg.scatter_add(ones(6), np.array([0, 1]), (4, 3)), mg.ShapeError, r"\(6,\): "),
    "attention": (
        lambda: mg.attention(ones(3, 4), ones(5, 3), ones(5, 2)), mg.ShapeError,
        r"\(3, 4\), \(5, 3\), \(5, 2\): .*must end in the same size",
    ),
    "layer_norm": (lambda: mg.layer_norm(ones(2, 3), ones(2)), mg.ShapeError, "must have the size of x's last axis"),
    "linear": (lambda: mg.linear(ones(2, 3), ones(2, 3)), mg.ShapeError, "x must end in the weight's first size"),
    "cross_entropy": (lambda: mg.cross_entropy(ones(2, 3), [0, 3]), mg.OutOfRangeError, "target 3 at"),
    "dropout": (lambda: mg.dropout(ones(3), np.ones(3), 0.5), mg.DtypeError, "write mask != 0"),
    "power": (lambda: mg.Tensor([2]) ** mg.Tensor([-1]), mg.ShapeError, "negative integer powers"),
    "astype": (lambda: ones(2).astype(int), mg.DtypeError, "no gradient goes through int64"),
    "multiply": (lambda: ones(2) * "a", mg.DtypeError, "an operand can't be a str"),
    "add overflow": (
        lambda: mg.Tensor(np.int8([1])) + 300, mg.ShapeError,
        r"\(1,\), 300: Python integer 300 out of bounds for int8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_names_operation_shapes_cause_and_remedy(name):
    call, error, words = FAILURES[name]
    with pytest.raises(error, match=words) as raised:
        call()
    assert str(raised.value).startswith(name.split()[0])


PATHS = {name for name in FAILURES if name.split()[0] not in ("astype",)}


@pytest.mark.parametrize("name", sorted(PATHS))
def test_an_error_inside_a_module_names_its_path(name):
    class Inner(mg.nn.Module):
        def forward(self):
            return FAILURES[name][0]()

    class Outer(mg.nn.Module):
        def __init__(self):
            self.layers = [Inner()]

        def forward(self):
            return self.layers[0]()

    with pytest.raises(FAILURES[name][1], match=rf"^{name.split()[0]} in layers.0: "):
        Outer()()


def test_an_error_in_a_backward_pass_has_a_note_of_where():
    class Inner(mg.nn.Module):
        def forward(self, x):
            return bad(x)

    class Outer(mg.nn.Module):
        def __init__(self):
            self.layers = [Inner()]

        def forward(self, x):
            return self.layers[0](x)

    def rule(g, out, x):
        raise ZeroDivisionError("in the rule")

    bad = mg.Primitive("bad", np.square, "", mg.Rule(rule))
    from minigrad.operation import TABLE

    del TABLE["bad"]
    loss = Outer()(ones(2, 3)).sum()
    with pytest.raises(ZeroDivisionError) as raised:
        loss.backward()
    assert raised.value.__notes__ == ["in the derivative of bad in layers.0: (2, 3)"]


def test_a_released_graph_and_a_changed_parameter_name_operation_and_path():
    layer = mg.nn.Linear(3, 2, np.random.default_rng(0))

    class Model(mg.nn.Module):
        def __init__(self):
            self.head = layer

        def forward(self, x):
            return self.head(x)

    model = Model()
    x = mg.Tensor(numbers((4, 3), 0).astype(np.float32), requires_grad=True)
    out = model(x)
    layer.weight.data = np.zeros((3, 2))
    with pytest.raises(mg.GraphError, match=r"^linear in head: head.weight was changed"):
        mg.gradients(out, [x], np.ones((4, 2)))


def test_numpys_own_error_is_the_cause():
    with pytest.raises(mg.ShapeError) as raised:
        ones(2) + ones(3)
    assert isinstance(raised.value.__cause__, ValueError)
