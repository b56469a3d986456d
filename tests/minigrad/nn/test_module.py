"""A module as a Python object: copied, called, attached."""

import copy

import pytest

import minigrad as mg
from minigrad.nn import Module
from tests.minigrad.nn.modules import Stack, paths


@pytest.fixture
def x():
    return mg.Tensor([1.0])


def test_a_deepcopied_model_has_paths_names_and_parameters_of_its_own(x):
    model = Stack()
    twin = copy.deepcopy(model)
    assert paths(twin(x)) == paths(model(x))
    assert [name for name, _ in twin.named_parameters()] == [name for name, _ in model.named_parameters()]
    twin(x).sum().backward()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Empty has no forward"):
        type("Empty", (Module,), {})()(1)


def test_a_module_that_holds_its_parent_is_an_error_and_changes_nothing():
    class Part(Module):
        def __init__(self, parent=None):
            self.weight = mg.nn.Parameter([1.0])
            self.parent = parent

    class Whole(Module):
        def __init__(self):
            self.part = Part()

    whole = Whole()
    with pytest.raises(mg.ModuleError, match=r"Part\.parent holds the Part itself.* weakref\.ref"):
        whole.part.parent = whole
    with pytest.raises(ValueError, match=r"Whole\.layers\.0 holds the Whole itself"):
        whole.layers = [whole]
    assert whole.part.parent is None
    assert not hasattr(whole, "layers")
    assert list(whole.state_dict()) == ["part.weight"]

    class Holder(Module):
        def __init__(self):
            self.part = Part(parent=self)  # before it is attached: then the attachment is what is refused

    with pytest.raises(mg.ModuleError, match=r"Holder\.part holds the Holder itself"):
        Holder()
