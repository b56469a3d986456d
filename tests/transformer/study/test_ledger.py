"""The ledger: contributions that add up to the gradient, each what its use alone would give, under names that tell."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import batch_of, choices, sentences
from tests.transformer.models import small_batch, small_model
from transformer.study.figures import Bars, Words
from transformer.study.ledger import ledger, ledgers
from transformer.study.trace import traced
from transformer.vocabulary import PAD


def adds_up(book, gradient):
    """The walk's own gradient, bit by bit, and the sum of the contributions within 1e-12 of the greatest number."""
    assert np.array_equal(book.total, gradient)
    parts = [contribution.value for contribution in book.contributions]
    assert all(part.shape == gradient.shape and part.dtype == np.float64 for part in parts)
    greatest = max(np.abs(part).max(initial=0) for part in (*parts, gradient))
    assert np.abs(sum(parts, np.zeros(gradient.shape)) - gradient).max(initial=0) <= 1e-12 * greatest
    assert book.difference <= 1e-12
    names = [contribution.name for contribution in book.contributions]
    assert len(set(names)) == len(names)
    assert all(names)


@given(
    choices(dropout=0.3), sentences(), st.sampled_from(["parts", "fused", "unfused"]), st.booleans(), st.integers(0, 99)
)
def test_contributions_to_every_activation_and_parameter_add_up_to_its_gradient(chosen, rows, mode, drops, seed):
    source, target_in, target = batch_of(rows)
    model = small_model(seed, **chosen)
    rng = np.random.default_rng(seed) if drops else None
    wanted = dict(model.named_parameters())
    if mode == "parts":
        with model.capture() as seen:
            logits = model(source, target_in, rng)
        wanted |= seen
    elif mode == "unfused":
        with mg.unfused():
            logits = model(source, target_in, rng)
    else:
        logits = model(source, target_in, rng)
    loss = mg.cross_entropy(logits, target, ignore_index=PAD, label_smoothing=0.1)
    gradients = mg.gradients(loss, list(wanted.values()))
    for book, gradient in zip(ledgers(loss, list(wanted.values())), gradients, strict=True):
        adds_up(book, gradient.data)


@given(
    st.permutations([(4, 3), (1, 3), (4, 1), (3,), (1, 1), ()]),
    st.lists(st.sampled_from(["times", "twice", "exp", "product", "norm"]), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_each_contribution_is_the_gradient_of_a_copy_that_this_use_alone_would_see(shapes, kinds, seed):
    rng = np.random.default_rng(seed)
    weight, others = rng.standard_normal((3, 5)), [rng.standard_normal(shape) for shape in shapes]
    factors = rng.standard_normal(len(kinds))

    def loss_of(copies):
        """Each use takes the next copy of the tensor."""
        total = mg.Tensor(0.0, dtype="float64")
        for number, kind in enumerate(kinds):
            other = others[number]
            if kind == "times":
                made = next(copies) * other
            elif kind == "twice":
                made = (next(copies) + other) * next(copies)
            elif kind == "exp":
                made = mg.exp(next(copies)) - other
            elif kind == "product":
                made = mg.broadcast_to(next(copies), (4, 3)) @ weight
            else:
                made = mg.layer_norm(next(copies) + other * np.arange(3.0))
            total = total + mg.sum(made) * factors[number]
        return total

    value = rng.standard_normal(shapes[-1])
    x = mg.Tensor(value, requires_grad=True)
    copies = [mg.Tensor(value, requires_grad=True) for _ in range(2 * len(kinds))]
    used = len(kinds) + kinds.count("twice")
    alone = [gradient.data for gradient in mg.gradients(loss_of(iter(copies)), copies[:used])]
    loss = loss_of(iter([x] * used))
    book = ledger(loss, x)
    adds_up(book, mg.gradients(loss, [x])[0].data)
    for contribution, expected in zip(book.contributions, alone, strict=True):
        assert np.array_equal(contribution.value, expected)


def test_a_contribution_that_is_dropped_is_seen():
    x = mg.Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    book = ledger(mg.sum(x * x + mg.exp(x)), x)
    adds_up(book, book.total)
    for place in range(3):
        short = replace(book, contributions=book.contributions[:place] + book.contributions[place + 1 :])
        assert short.difference > 0.01
        with pytest.raises(AssertionError):
            adds_up(short, book.total)


def test_uses_outside_of_modules_are_called_as_operations():
    x = mg.Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    book = ledger(mg.sum(x * x + mg.exp(x) + mg.tanh(x) * mg.tanh(x)), x)
    assert names(book) == ["multiply · x", "multiply · y", "exp", "tanh · 1", "tanh · 2"]
    assert [c.operation for c in book.contributions][:3] == ["multiply x", "multiply y", "exp x"]
    assert np.array_equal(book["multiply · x"].value, [1.0, 2.0])
    assert np.array_equal(book["exp"].value, np.exp([1.0, 2.0]))
    with pytest.raises(KeyError, match="no contribution 'query'; there are: multiply · x, multiply · y, exp"):
        book["query"]


def names(book):
    return [contribution.name for contribution in book.contributions]


def test_modules_that_are_no_transformers_are_told_apart_by_their_paths():
    class Net(mg.nn.Module):
        def __init__(self):
            rng = np.random.default_rng(1)
            self.layers = {"first": mg.nn.Linear(2, 3, rng), "second": mg.nn.Linear(2, 3, rng)}

        def forward(self, x):
            return self.layers["first"](x) * mg.tanh(self.layers["second"](x))

    x = mg.Tensor([[1.0, 2.0]], requires_grad=True, dtype="float64")
    book = ledger(mg.sum(Net()(x)), x)
    assert names(book) == ["layers.first · linear", "layers.second · linear"]


def test_operands_of_an_operation_of_any_number_are_counted():
    x = mg.Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    book = ledger(mg.sum(mg.concatenate([x, x, x]) * np.arange(6.0)), x)
    assert names(book) == ["concatenate · 1", "concatenate · 2", "concatenate · 3"]
    assert np.array_equal(book["concatenate · 2"].value, [2.0, 3.0])


def test_what_is_broadcast_gets_the_sum_over_what_it_was_broadcast_along():
    x = mg.Tensor([[1.0], [2.0]], requires_grad=True, dtype="float64")
    book = ledger(mg.sum(x * np.array([[1.0, 10.0, 100.0]])), x)
    assert np.array_equal(book["multiply"].value, [[111.0], [111.0]])


def test_the_loss_itself_begins_with_1():
    x = mg.Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    loss = mg.sum(x * x)
    book = ledger(loss, loss)
    assert names(book) == ["start"]
    adds_up(book, np.ones(()))


def test_a_tensor_that_the_loss_does_not_depend_on_has_no_contributions_and_gradient_0():
    x = mg.Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    other = mg.Tensor(np.ones((2, 3)), requires_grad=True)
    behind = mg.exp(x)
    for book, shape in zip(ledgers(mg.sum(x * x), [other, behind]), ((2, 3), (2,)), strict=True):
        assert book.contributions == []
        assert np.array_equal(book.total, np.zeros(shape))
        assert book.difference == 0


def test_a_tensor_without_history_is_refused_with_its_place_and_shape():
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    loss = mg.sum(x * x)
    with pytest.raises(mg.GraphError, match=r"tensor 1 of shape \(3,\) has no history"):
        ledgers(loss, [x, mg.Tensor(np.ones(3))])
    with pytest.raises(mg.GraphError, match="needs a cotangent"):
        ledger(x * x, x)


def test_a_graph_that_was_released_is_refused():
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    loss = mg.sum(x * x)
    loss.backward()
    with pytest.raises(mg.GraphError, match="released"):
        ledger(loss, x)


def test_nothing_is_written_or_released():
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    loss = mg.sum(x * x)
    first, second = ledger(loss, x), ledger(loss, x)
    assert x.grad is None
    assert names(first) == names(second)
    loss.backward()
    assert np.array_equal(x.grad.data, first.total)


def test_float32_is_told_in_float64():
    model = small_model(dtype="float32")
    source, target_in, target = small_batch()
    table = model.target_embedding.weight
    book = ledger(mg.cross_entropy(model(source, target_in), target, ignore_index=PAD), table)
    assert book.total.dtype == book.contributions[0].value.dtype == np.float64
    assert book.difference < 1e-6


def test_the_order_is_that_of_the_forward_pass_however_the_tensors_are_asked_for():
    model, (source, target_in, target) = small_model(tied="all", source_vocab=13), small_batch(source_vocab=13)
    trace = traced(model, source, target_in, target)
    every = list(trace.seen.values())
    first = ledgers(trace.loss, every)
    for book, again in zip(first, reversed(ledgers(trace.loss, every[::-1])), strict=True):
        assert names(book) == names(again)
        assert all(
            np.array_equal(a.value, b.value) for a, b in zip(book.contributions, again.contributions, strict=True)
        )
    assert ledgers(trace.loss, []) == []


def test_the_figure_has_a_bar_for_each_contribution_and_one_for_their_sum():
    trace = traced(small_model(), *small_batch())
    book = ledger(trace.loss, trace.seen["source_positions.out"])
    figure = book.figure("source_positions.out")
    assert isinstance(figure, Bars)
    assert figure.labels[:2] == [Words("query", "查询"), Words("key", "键")]
    assert figure.labels[-1].en == "sum"
    (norms,) = figure.groups.values()
    assert norms == [*(np.linalg.norm(c.value) for c in book.contributions), np.linalg.norm(book.total)]
    assert "source_positions.out" in figure.title.en
    w = mg.Tensor([1.0], requires_grad=True, name="w")
    assert ledger(mg.sum(w * 2), w).figure().title == Words(
        "What the gradient of w is made of", "w 的梯度由哪些部分相加而成"
    )
