"""A Tensor is a Python object as a NumPy user expects: printing, copying, comparing, iterating, converting."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from tests.minigrad.strategies import numbers


@pytest.fixture
def x():
    return mg.Tensor([1.0, 2.0, 3.0], requires_grad=True, name="x")


# Identity and equality


def test_hash_is_identity_and_equality_is_elementwise(x):
    """Row 43."""
    twin = mg.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert hash(x) != hash(twin)
    assert {x: 1, twin: 2}[x] == 1
    assert len({x, twin, x}) == 2
    assert (x == twin).all()
    assert x in [x, twin]
    with pytest.raises(ValueError, match="ambiguous"):
        twin in [x]  # noqa: B015 - a list asks == of what is not the same object, as it does of arrays
    assert mg.Tensor(1.0) in [mg.Tensor(2.0), mg.Tensor(1.0)]


def test_the_engine_asks_identity_and_never_equality(x, monkeypatch):
    y = mg.softmax(x * x) + x

    def refuse(*_):
        raise AssertionError("== was asked")

    monkeypatch.setattr(mg.Tensor, "__eq__", refuse)
    monkeypatch.setattr(mg.Tensor, "__hash__", lambda self: 0)
    optimizer = mg.optim.SGD([x, x], 0.1)
    mg.gradients(y, [x, y, x], np.ones(3))
    y.backward(np.ones(3), retain_graph=True)
    mg.optim.clip_grad_norm([x, x], 1.0)
    optimizer.step()
    assert len(optimizer.parameters) == 1


def test_contains_asks_the_elements(x):
    assert 2.0 in x
    assert x[1] in x
    assert 5 not in x


# Conversions


def test_one_element_converts_to_a_python_number():
    for t in (mg.Tensor(2.5), mg.Tensor([2.5]), mg.Tensor([[2.5]], requires_grad=True)):
        assert float(t) == 2.5
        assert int(t) == 2
        assert t.item() == 2.5
        assert type(t.item()) is float
        assert bool(t)
    assert not mg.Tensor(0.0)
    assert type(mg.Tensor(3).item()) is int


def test_more_elements_do_not(x):
    for call in (float, int, lambda t: t.item()):
        with pytest.raises(ValueError, match=r"item\(\) is for one element; this tensor has shape \(3,\)"):
            call(x)
    with pytest.raises(ValueError, match="is ambiguous"):
        bool(x)
    with pytest.raises(ValueError, match="is ambiguous"):
        bool(mg.Tensor(np.ones(0)))


def test_an_integer_tensor_of_no_axes_is_an_index():
    assert [10, 20, 30][mg.Tensor(1)] == 20
    assert list(range(mg.Tensor(2))) == [0, 1]
    assert np.arange(5)[mg.Tensor(3)] == 3
    for wrong in (mg.Tensor(1.0), mg.Tensor([1])):
        with pytest.raises(TypeError, match="only an integer tensor of no axes is an index"):
            [10, 20][wrong]


def test_len_and_iteration_go_over_the_first_axis():
    t = mg.Tensor(numbers((3, 2), 0), requires_grad=True)
    assert len(t) == 3
    rows = list(t)
    assert [row.shape for row in rows] == [(2,)] * 3
    (gradient,) = mg.gradients(rows[1].sum(), [t])
    np.testing.assert_array_equal(gradient.data, [[0, 0], [1, 1], [0, 0]])
    _, *rest = t
    assert len(rest) == 2
    assert list(mg.Tensor(np.ones((0, 2)))) == []
    for call in (len, iter):
        with pytest.raises(TypeError, match=r"unsized|no axes"):
            call(mg.Tensor(1.0))


def test_format_is_that_of_the_number():
    """Row 54."""
    assert f"{mg.Tensor(1.23456):.2f}" == "1.23"
    assert f"{mg.Tensor([3]):04d}" == "0003"
    assert f"{mg.Tensor([1.0, 2.0])}" == "Tensor([1., 2.])"
    with pytest.raises(TypeError, match=r"format '.2f' is for one number; this tensor has shape \(2,\)"):
        f"{mg.Tensor([1.0, 2.0]):.2f}"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: mg.Tensor(1.5), "Tensor(1.5)"),
        (lambda: mg.Tensor([1, 2]), "Tensor([1, 2])"),
        (lambda: mg.Tensor([True]), "Tensor([ True])"),
        (lambda: mg.Tensor(np.ones(2)), "Tensor([1., 1.], dtype=float64)"),
        (lambda: mg.Tensor(2.0, requires_grad=True, name="a"), "Tensor(2., name='a', requires_grad=True)"),
        (lambda: mg.exp(mg.Tensor(0.0, requires_grad=True)), "Tensor(1., made_by='exp')"),
        (lambda: mg.Tensor(np.ones((0, 2), np.float32)), "Tensor([])"),
        (lambda: mg.nn.Parameter([1.0, 2.0], name="w"), "Parameter(w (2,) float32)"),
    ],
)
def test_repr_says_what_it_is(make, text):
    assert repr(make()) == text


def test_repr_of_much_is_short():
    assert len(repr(mg.Tensor(np.ones((1000, 1000))))) < 400


# Copies


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["copy", "deepcopy", "pickle"]
)
def test_a_copy_has_values_dtype_and_name_and_no_history(duplicate, x):
    """Row 54."""
    y = x * 2.0
    y.name = "doubled"
    for original in (x, y, mg.Tensor([1, 2]), mg.Tensor(1.5, dtype=np.float64), mg.nn.Parameter([1.0], name="w")):
        new = duplicate(original)
        assert type(new) is type(original)
        assert (new.dtype, new.name, new.requires_grad) == (original.dtype, original.name, original.requires_grad)
        np.testing.assert_array_equal(new.data, original.data)
        assert not np.shares_memory(new.data, original.data)
        assert not new.data.flags.writeable
    leaf = duplicate(y)
    (leaf * 3.0).sum().backward()
    np.testing.assert_array_equal(leaf.grad.data, 3)
    assert x.grad is None


def test_a_deepcopied_module_is_its_own():
    layer = mg.nn.Linear(2, 3, np.random.default_rng(0))
    twin = copy.deepcopy(layer)
    assert [name for name, _ in twin.named_parameters()] == ["weight", "bias"]
    twin.weight.data = np.zeros((2, 3))
    assert layer.weight.data.any()
    assert twin.weight.name == "weight"


# Attributes


def test_requires_grad_can_be_switched_on_a_leaf_and_only_on_one(x):
    x.requires_grad = False
    assert (x.grad, x.name, x.requires_grad) == (None, "x", False)
    assert not (x * 2.0).requires_grad
    x.requires_grad = True
    y = x * 2.0
    assert y.requires_grad
    y.requires_grad = True
    with pytest.raises(mg.GraphError, match=r"only a leaf can stop requiring a gradient; use t.detach\(\)"):
        y.requires_grad = False


def test_grad_takes_a_tensor_of_its_shape_or_none(x):
    x.grad = mg.Tensor([1.0, 2.0, 3.0])
    assert x.grad.shape == (3,)
    x.grad = None
    with pytest.raises(mg.ShapeError, match=r"can't have a gradient of shape \(2,\)"):
        x.grad = mg.Tensor([1.0, 2.0])
    with pytest.raises(mg.DtypeError, match=r"a gradient is a Tensor, not ndarray; write t.grad = mg.Tensor"):
        x.grad = np.ones(3)
    with pytest.raises(mg.GraphError, match="does not require a gradient"):
        mg.Tensor(1.0).grad = mg.Tensor(1.0)


def test_a_tensor_has_the_attributes_of_its_array():
    t = mg.Tensor(numbers((2, 3), 0), name="t")
    assert (t.shape, t.ndim, t.size, t.dtype, t.name) == ((2, 3), 2, 6, np.float64, "t")
    np.testing.assert_array_equal(t.T.data, t.data.T)
    t.name = "other"
    assert t.name == "other"
    y = mg.exp(mg.Tensor(1.0, requires_grad=True))
    y.name = "y"
    assert y._node.name == "y"
    with pytest.raises(AttributeError):
        t.foo = 1


def test_detach_has_the_values_and_no_history(x):
    d = (x * 2.0).detach()
    assert not d.requires_grad
    np.testing.assert_array_equal(d.data, [2, 4, 6])


def test_minigrad_names_what_it_exports():
    for name in mg.__all__:
        assert getattr(mg, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        mg.nonsense
