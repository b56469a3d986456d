"""Contract 13: a module's path is fixed when it is attached; every node knows the path that it was made in."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import minigrad as mg
from minigrad.nn import LayerNorm, Module
from tests.minigrad.nn.modules import Scale, Stack, paths


@pytest.fixture
def x():
    return mg.Tensor([1.0])


def test_modules_in_lists_dictionaries_and_tuples_have_dotted_paths(x):
    model = Stack()
    expected = ["layers.0", "layers.1", "named.a", "named.b", "pair.0", "last"]
    assert paths(model(x)) == expected
    assert [name for name, _ in model.named_modules()] == ["", *expected]
    assert [name for name, _ in model.named_parameters()] == [f"{path}.weight" for path in expected]
    assert [parameter.name for parameter in model.parameters()] == [f"{path}.weight" for path in expected]


@pytest.mark.parametrize("order", ["top down", "bottom up"])
def test_the_path_is_the_same_whichever_end_the_tree_is_built_from(order, x):
    class Node(Module):
        def __init__(self, child=None):
            if child is not None:
                self.child = child

        def forward(self, x):
            return self.child(x)

    if order == "bottom up":
        root = Node(Node(Node(Scale())))
    else:
        root = Node()
        root.child = Node()
        root.child.child = Node()
        root.child.child.child = Scale()
    assert paths(root(x)) == ["child.child.child"]
    (parameter,) = root.parameters()
    assert parameter.name == "child.child.child.weight"


def test_a_module_called_twice_in_one_outermost_call_has_a_call_number(x):
    class Twice(Module):
        def __init__(self):
            self.inner = Stack()

        def forward(self, x):
            return self.inner(self.inner(x))

    model = Twice()
    once = [f"inner.{name}" for name in ("layers.0", "layers.1", "named.a", "named.b", "pair.0", "last")]
    assert paths(model(x)) == once + [f"{path}#2" for path in once]
    assert paths(model(x)) == once + [f"{path}#2" for path in once]  # numbers start again with each outermost call


def test_a_shared_module_keeps_its_first_path(x):
    class Shared(Module):
        def __init__(self):
            self.first = Scale()
            self.second = self.first
            self.layers = [self.first]

        def forward(self, x):
            return self.layers[0](self.second(self.first(x)))

    model = Shared()
    assert paths(model(x)) == ["first", "first#2", "first#3"]
    assert [name for name, _ in model.named_parameters()] == ["first.weight"]
    assert len(model.parameters()) == 1


def test_operations_outside_modules_have_no_path_and_the_callers_path_comes_back(x):
    class Around(Module):
        def __init__(self):
            self.inner = Scale()

        def forward(self, x):
            return self.inner(x * 1.0) * 1.0

    class Model(Module):
        def __init__(self):
            self.around = Around()

        def forward(self, x):
            return self.around(x + 1.0)

    y = mg.Tensor([1.0], requires_grad=True)
    model = Model()
    assert paths(model(y * 2.0) * 3.0) == ["", "", "around", "around.inner", "around", ""]


def test_a_module_that_is_attached_to_none_is_named_by_its_class_inside_another(x):
    class Model(Module):
        def __init__(self):
            self.factory = Scale

        def forward(self, x):
            return self.factory()(x)

    assert paths(Model()(x)) == ["Scale"]


def test_modules_put_into_a_list_after_it_was_assigned_are_found(x):
    class Model(Module):
        def __init__(self):
            self.layers = []
            for _ in range(3):
                self.layers.append(Scale())

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Model()
    assert len(model.parameters()) == 3
    assert paths(model(x)) == ["layers.0", "layers.1", "layers.2"]
    assert [parameter.name for parameter in model.parameters()] == [f"layers.{i}.weight" for i in range(3)]


def test_methods_other_than_forward_open_the_scope_themselves(x):
    class Model(Module):
        def __init__(self):
            self.encoder = Scale()

        def encode(self, x):
            with self.scope():
                return self.encoder(x) * 1.0

        def forward(self, x):
            return self.encode(x)

    model = Model()
    assert paths(model.encode(x)) == ["encoder", ""]
    assert paths(model(x))[0] == "encoder"


def test_fused_operations_under_unfused_add_their_name_to_the_path():
    class Model(Module):
        def __init__(self):
            self.norm = LayerNorm(3)

        def forward(self, x):
            return mg.softmax(self.norm(x))

    with mg.unfused():
        found = set(paths(Model()(mg.Tensor([[1.0, 2.0, 4.0]]))))
    assert found == {"norm.layer_norm", "softmax"}


def test_nodes_of_a_recorded_backward_pass_have_the_path_of_what_they_differentiate():
    model = Stack()
    x = mg.Tensor([1.0], requires_grad=True)
    (gradient,) = mg.gradients(model(x).sum(), [x], create_graph=True)
    found = set(paths(gradient))
    assert {"layers.0", "last", "named.a"} <= found


def test_threads_that_call_one_model_do_not_count_each_others_calls():
    model = Stack()
    model(mg.Tensor([1.0]))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: paths(model(mg.Tensor([1.0]))), range(50)))
    assert all(one == found[0] for one in found)
    assert not any("#" in path for path in found[0])


def test_deep_nesting_of_the_same_container_names_is_told_apart(x):
    class Pair(Module):
        def __init__(self, one, other):
            self.layers = [[one], {"k": other}]

        def forward(self, x):
            return self.layers[1]["k"](self.layers[0][0](x))

    model = Pair(Pair(Scale(), Scale()), Scale())
    assert paths(model(x)) == ["layers.0.0.layers.0.0", "layers.0.0.layers.1.k", "layers.1.k"]
