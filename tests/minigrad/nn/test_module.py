"""Contract 13: a module's path is fixed when it is attached; every node knows the path that it was made in."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import LayerNorm, Linear, Module, Parameter
from minigrad.tape import topological_order


def rng():
    return np.random.default_rng(0)


class Scale(Module):
    """x * weight, in one node."""

    def __init__(self, value=2.0):
        self.weight = Parameter([value])

    def forward(self, x):
        return x * self.weight


class Stack(Module):
    """Layers in a list, a dictionary, a tuple and one alone."""

    def __init__(self):
        self.layers = [Scale(), Scale()]
        self.named = {"a": Scale(), "b": Scale()}
        self.pair = (Scale(),)
        self.last = Scale()

    def forward(self, x):
        for layer in (*self.layers, *self.named.values(), *self.pair, self.last):
            x = layer(x)
        return x


def paths(output):
    """The paths of the operations behind an output, in the order of creation."""
    return [node.path for node in topological_order([output._node]) if node.primitive is not None]


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


def test_a_shared_parameter_keeps_its_first_name_and_is_listed_once():
    class Tied(Module):
        def __init__(self):
            self.embedding = mg.nn.Embedding(3, 2, rng())
            self.output = Linear(2, 3, rng(), bias=False)
            self.output.weight = self.embedding.weight

    model = Tied()
    assert list(model.state_dict()) == ["embedding.weight"]
    assert model.output.weight.name == "embedding.weight"


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


def test_parameters_in_lists_tuples_and_dictionaries_are_found(x):
    class Model(Module):
        def __init__(self):
            self.weights = [Parameter([2.0]), Parameter([3.0])]
            self.more = {"a": (Parameter([4.0]),)}

        def forward(self, x):
            for weight in (*self.weights, *self.more["a"]):
                x = x * weight
            return x

    class Outer(Module):
        def __init__(self):
            self.inner = Model()
            self.inner.weights.append(Parameter([5.0]))

        def forward(self, x):
            return self.inner(x)

    model = Outer()
    names = ["inner.weights.0", "inner.weights.1", "inner.weights.2", "inner.more.a.0"]
    assert [name for name, _ in model.named_parameters()] == names
    model(x).sum().backward()
    assert [parameter.name for parameter in model.parameters()] == names
    assert all(parameter.grad is not None for parameter in model.parameters())


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


# State


def model_of(seed):
    class Model(Module):
        def __init__(self):
            generator = np.random.default_rng(seed)
            self.first = Linear(3, 4, generator)
            self.norms = [LayerNorm(4), LayerNorm(4)]
            self.last = Linear(4, 2, generator, bias=False)

        def forward(self, x):
            for norm in self.norms:
                x = norm(self.first(x) if norm is self.norms[0] else x)
            return self.last(x)

    return Model()


NAMES = ["first.weight", "first.bias", "norms.0.gain", "norms.0.bias", "norms.1.gain", "norms.1.bias", "last.weight"]


def test_state_dict_round_trip():
    one, other = model_of(0), model_of(1)
    state = one.state_dict()
    assert list(state) == NAMES
    assert not any(array.flags.writeable for array in state.values())
    other.load_state_dict(state)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(one(x).data, other(x).data)
    one.first.weight.data = np.zeros((3, 4))
    assert state["first.weight"].any()
    assert other.first.weight.data.any()


def test_a_state_may_hold_tensors_and_other_floating_dtypes_and_parameters_keep_theirs():
    model = model_of(0)
    model.load_state_dict({name: mg.Tensor(array.astype(np.float64) + 1) for name, array in model.state_dict().items()})
    assert model.first.bias.dtype == np.float32
    np.testing.assert_array_equal(model.first.bias.data, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state: state.pop("first.bias"), "first.bias is missing"),
        (lambda state: state.update(extra=np.ones(1)), "extra is not known"),
        (lambda state: state.update({"last.weight": np.ones((2, 4))}), r"last.weight has shape \(2, 4\), not \(4, 2\)"),
        (lambda state: state.update({"first.bias": np.ones(4, int)}), "first.bias has dtype int64, not a floating one"),
        (lambda state: [state.pop(name) for name in NAMES[:5]], "is missing; .* and 2 more"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing_and_says_why(change, words):
    model = model_of(0)
    before = {name: array.copy() for name, array in model.state_dict().items()}
    state = {name: array + 1 for name, array in before.items()}
    change(state)
    with pytest.raises(mg.CheckpointError, match=words):
        model.load_state_dict(state)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_zero_grad_forgets_all_gradients():
    model = model_of(0)
    model(np.ones((2, 3), np.float32)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    model.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_replaced_parameter_has_the_name_and_the_old_one_is_not_listed():
    layer = Linear(2, 3, rng())
    layer.weight = Parameter(np.zeros((2, 3)))
    assert layer.weight.name == "weight"
    assert len(layer.parameters()) == 2
    layer.bias = None
    assert len(layer.parameters()) == 1


def test_a_name_that_the_user_gave_is_kept():
    class Model(Module):
        def __init__(self):
            self.weight = Parameter([1.0], name="mine")

    model = Model()
    assert model.weight.name == "mine"
    assert list(model.state_dict()) == ["weight"]


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


def test_a_parameter_is_floating():
    with pytest.raises(mg.DtypeError, match="can't have a gradient"):
        Parameter([1, 2])
    assert Parameter([1.0]).requires_grad
    assert Parameter([1], dtype=np.float64).dtype == np.float64


def test_a_replaced_parameter_is_let_go():
    import gc
    import weakref

    class Layer(mg.nn.Module):
        def __init__(self):
            self.weight = mg.nn.Parameter([1.0])

    gc.disable()
    try:
        layer = Layer()
        old = weakref.ref(layer.weight)
        layer.weight = mg.nn.Parameter([2.0])
        assert old() is None
        assert layer.weight.name == "weight"
    finally:
        gc.enable()


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
