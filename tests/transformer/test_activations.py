"""Names of activations, and looking at them."""

import re

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer import activations
from transformer.activations import UnknownActivation
from transformer.config import CHOICES
from transformer.vocabulary import PAD

SIZES = {"B": 3, "D": 16, "H": 4, "D_h": 4, "F": 10, "V": 13}
HEADS = {"heads": 4}
EVERY = [{name: choice} for name, all_of in CHOICES.items() for choice in all_of] + [
    {"kv_heads": 2, "positions": "rotary", "norm": "pre"}, {"bias": False}
]  # fmt: skip


def loss_of(model, batch):
    source, target_in, target_out = batch
    return mg.cross_entropy(model(source, target_in), target_out, ignore_index=PAD)


def table():
    """{module kind: {name: sizes}}, as the docstring of `transformer.activations` says it."""
    rows = re.findall(r"^    ([A-Z]\w+) +(.+(?:\n {9,}.+)*)$", activations.__doc__, re.M)
    parts = {kind: re.findall(r"((?:\w+, )*\w+) \((.+?)\)", row) for kind, row in rows}
    return {
        kind: {name: sizes.split(", ") for names, sizes in of_kind for name in names.split(", ")}
        for kind, of_kind in parts.items()
    }


@pytest.mark.parametrize("choice", EVERY, ids=str)
def test_the_table_of_names_and_shapes_is_what_a_pass_makes(choice):
    sizes = dict(d_model=16, heads=4, d_ff=10, max_length=16)
    model = small_model(**sizes, **({"source_vocab": 13} if choice.get("tied") == "all" else {}), **choice)
    h_k = choice.get("kv_heads", 4)
    known = SIZES | {"H_k": h_k, "E": h_k * 4}
    with model.capture() as seen:
        model(*small_batch()[:2])
    expected, stated = {}, table()
    for path, module in model.named_modules():
        names = dict(stated.get(type(module).__name__, {}))
        if type(module).__name__ == "AddNorm":
            del names["sum" if choice.get("norm") == "pre" else "normal"]
        side = 7 if path.startswith(("decoder", "target")) or not path else 5
        lengths = {"T": side, "T_q": side, "T_k": 5 if "cross" in path else side}
        for name, shape in names.items():
            expected[f"{path}.{name}" if path else name] = tuple((known | lengths)[size] for size in shape)
    assert {name: activation.shape for name, activation in seen.items()} == expected


@pytest.mark.parametrize("choice", EVERY, ids=str)
def test_nothing_is_without_a_name_but_other_arrangements_and_halves_of_products_within_attention(choice):
    model = small_model(d_model=24, dropout=0.2, **({"source_vocab": 13} if "tied" in choice else {}), **choice | HEADS)
    with model.capture() as seen:
        loss = mg.sum(model(*small_batch()[:2], rng=np.random.default_rng(0)))
    named = {id(activation._node) for activation in seen.values()}
    made = [step.node for step in mg.walk(loss) if step.node.primitive is not None][1:]
    unnamed = {(node.primitive.name, node.path.rpartition("_")[2]) for node in made if id(node) not in named}
    arrangements = {(name, "attention") for name in ("reshape", "transpose", "where", "broadcast_to")}
    rows_of_weights = {("transpose", "output"), ("embedding", "positions")}
    unscaled_scores_and_halves_of_a_turn = {("matmul", "attention"), ("multiply", "attention")}
    assert unnamed <= arrangements | rows_of_weights | unscaled_scores_and_halves_of_a_turn


def test_names_come_in_the_order_of_making():
    model = small_model(layers=1)
    with model.capture() as seen:
        for _ in range(2):  # the second call makes them all anew
            model(*small_batch()[:2])
        model.encode(small_batch()[0])
    names = list(seen)
    assert names[0] == "target_embedding.out"  # made longest ago
    start = names.index("source_embedding.out")
    assert names[start : start + 7] == ["source_embedding.out", "source_positions.sum", "source_positions.out"] + [
        f"encoder.layers.0.self_attention.{name}" for name in ("query", "q", "key", "value")
    ]
    assert names[-3:] == [f"encoder.layers.0.feed_forward_norm.{name}" for name in ("sum", "out")] + ["encoder.out"]


@pytest.mark.parametrize("choice", [{}, {"norm": "pre", "feed_forward": "swiglu", "kv_heads": 1}], ids=str)
@pytest.mark.parametrize("inside", [True, False])
def test_every_activation_has_its_gradient_after_backward_as_mg_gradients_gives_it(choice, inside):
    model, batch = small_model(**choice), small_batch()
    with model.capture() as seen:
        loss = loss_of(model, batch)
        if inside:
            loss.backward(retain_graph=True)
    if not inside:
        loss.backward(retain_graph=True)
    for activation, gradient in zip(seen.values(), mg.gradients(loss, list(seen.values())), strict=True):
        np.testing.assert_array_equal(activation.grad.data, gradient.data)
    assert np.abs(seen["source_embedding.out"].grad.data).max() > 0


def test_looking_changes_no_gradient_of_the_parameters_and_leaves_nothing_behind():
    model, batch = small_model(), small_batch()
    with mg.unfused():
        plain = mg.gradients(loss_of(model, batch), model.parameters())
    with model.capture() as seen:
        loss = loss_of(model, batch)
    loss.backward()
    for parameter, gradient in zip(model.parameters(), plain, strict=True):
        np.testing.assert_allclose(parameter.grad.data, gradient.data, rtol=1e-9, atol=1e-13)
    count = len(seen)
    loss_of(model, batch)
    assert len(seen) == count
    assert not activations._WATCHES.get()


def test_a_name_that_was_not_seen_is_an_error_with_the_nearest():
    model = small_model()
    with model.capture() as seen:
        with pytest.raises(KeyError, match=r"^no activation encoder.out: the model was not called inside the block$"):
            seen["encoder.out"]
        model(*small_batch()[:2])
    with pytest.raises(UnknownActivation, match=r"patern; the nearest: encoder\.layers\.0\.self_attention\.pattern"):
        seen["encoder.layers.0.self_attention.patern"]
    with pytest.raises(UnknownActivation, match=r"no activation zzz; as source_embedding\.out is"):
        seen["zzz"]
    assert seen.get("zzz") is None
    assert "zzz" not in seen
