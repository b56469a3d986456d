"""What contributions are called: by where in a Transformer the use of a tensor stands, whatever way the model ran."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer import DecoderOnly
from transformer.config import OneStackConfig
from transformer.study.ledger import ledger, ledgers
from transformer.study.trace import traced
from transformer.vocabulary import PAD


def names(book):
    return [contribution.name for contribution in book.contributions]


def seen_and_ledgers(model=None, batch=None):
    """The activations of a small model, and a ledger for each, by name."""
    model, (source, target_in, target) = model or small_model(), batch or small_batch()
    trace = traced(model, source, target_in, target)
    return trace.seen, dict(zip(trace.seen, ledgers(trace.loss, list(trace.seen.values())), strict=True))


def test_the_memory_of_a_post_norm_model_gets_a_key_and_a_value_from_each_decoder_layer():
    _, books = seen_and_ledgers(small_model(layers=3))
    assert names(books["encoder.out"]) == [
        f"decoder layer {n} · cross-attention · {what}" for n in (1, 2, 3) for what in ("key", "value")
    ]
    paths = [contribution.path for contribution in books["encoder.out"].contributions]
    assert paths == [f"decoder.layers.{n}.cross_attention.{what}" for n in (0, 1, 2) for what in ("key", "value")]


def test_a_residual_connection_hands_its_cotangent_on_to_both_sides():
    seen, books = seen_and_ledgers()
    for stack, sublayer, before in [
        ("encoder.layers.0", "self_attention", "source_positions.out"),
        ("encoder.layers.0", "feed_forward", "encoder.layers.0.self_attention_norm.out"),
        ("decoder.layers.1", "cross_attention", "decoder.layers.1.self_attention_norm.out"),
    ]:
        norm = f"{stack}.{sublayer}_norm"
        residual, refined = books[before]["residual"], books[f"{norm}.refined"]["refined"]
        assert residual.path == refined.path == norm
        assert np.array_equal(residual.value, seen[f"{norm}.sum"].grad.data)
        assert np.array_equal(refined.value, seen[f"{norm}.sum"].grad.data)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_enters_self_attention_gets_query_key_value_and_residual(norm):
    model = small_model(norm=norm)
    seen, books = seen_and_ledgers(model)
    before, own = ("source_positions.out", books["source_positions.out"])
    if norm == "pre":
        assert names(own) == ["norm", "residual"]
        before = "encoder.layers.0.self_attention_norm.normal"
        assert names(books[before]) == ["query", "key", "value"]
    else:
        assert names(own) == ["query", "key", "value", "residual"]
    for name in ("query", "key", "value"):
        weight = getattr(model.encoder.layers[0].self_attention, name).weight.data
        expected = seen[f"encoder.layers.0.self_attention.{name}"].grad.data @ weight.T
        assert np.abs(books[before][name].value - expected).max() < 1e-14


def test_inside_attention_uses_are_called_scores_softmax_pattern_times_v_and_attention_output():
    expected = {
        "query": ["scores"], "q": ["scores"], "key": ["scores"], "k": ["scores"], "value": ["pattern · V"],
        "v": ["pattern · V"], "scores": ["softmax"], "pattern": ["pattern · V"], "z": ["attention output"],
    }  # fmt: skip
    for changes in ({}, {"positions": "alibi", "kv_heads": 1}, {"positions": "rotary"}):
        _, books = seen_and_ledgers(small_model(**changes))
        for path in ("encoder.layers.0.self_attention", "decoder.layers.1.cross_attention"):
            assert {name: names(books[f"{path}.{name}"]) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "hidden", "x"),
    [
        ("relu", {"inner": ["relu"]}, ["feed-forward", "residual"]),
        ("gelu", {"inner": ["gelu"]}, ["feed-forward", "residual"]),
        ("swiglu", {"gate": ["silu"], "inner": ["multiply"]}, ["gate", "feed-forward", "residual"]),
    ],
)
def test_the_feed_forward_network(kind, hidden, x):
    _, books = seen_and_ledgers(small_model(feed_forward=kind))
    path = "decoder.layers.0.feed_forward"
    assert {name: names(books[f"{path}.{name}"]) for name in hidden} == hidden
    assert names(books["decoder.layers.0.cross_attention_norm.out"]) == x
    assert names(books[f"{path}.hidden"]) == ["feed-forward outer"]
    assert names(books[f"{path}.out"]) == ["refined"]


def test_ends_of_the_model():
    _, books = seen_and_ledgers(small_model(norm="pre"))
    assert names(books["source_embedding.out"]) == ["source positions"]
    assert names(books["decoder.layers.1.feed_forward_norm.out"]) == ["last norm"]
    assert names(books["decoder.out"]) == ["output projection"]
    assert names(books["logits"]) == ["cross-entropy"]


@pytest.mark.parametrize("mode", ["parts", "fused", "unfused"])
def test_a_table_tied_three_ways_gets_three_contributions(mode):
    model = small_model(tied="all", source_vocab=13)
    source, target_in, target = small_batch(source_vocab=13)
    with mg.unfused() if mode == "unfused" else model.capture() if mode == "parts" else mg.enable_grad():
        loss = mg.cross_entropy(model(source, target_in), target, ignore_index=PAD)
    book = ledger(loss, model.source_embedding.weight)
    assert names(book) == ["source embedding", "target embedding", "output projection"]
    assert [c.path.partition(".")[0] for c in book.contributions] == ["source_embedding", "target_embedding", "output"]
    absent = sorted(set(range(13)) - set(source.flat) - {PAD})
    assert not book["source embedding"].value[absent].any()


def test_fused_operations_tell_what_each_operand_is_for():
    model = small_model()
    source, target_in, target = small_batch()
    memory = model.encode(source)
    loss = mg.cross_entropy(model.decode(target_in, memory, source), target, ignore_index=PAD)
    layer = model.decoder.layers[0]
    parameters = [
        layer.self_attention.key.bias, layer.cross_attention.output.weight, layer.feed_forward_norm.gain,
        layer.feed_forward.inner.weight,
    ]  # fmt: skip
    books = ledgers(loss, [memory, *parameters])
    assert names(books[0]) == [f"decoder layer {n} · cross-attention · key and value" for n in (1, 2)]
    assert [names(book) for book in books[1:]] == [["key"], ["attention output"], ["norm"], ["feed-forward"]]


def test_a_module_that_is_called_twice_tells_its_calls_apart():
    model = small_model()
    source, target_in, target = small_batch()

    class Twice(mg.nn.Module):
        def __init__(self):
            self.model = model

        def forward(self):
            return model(source, target_in) + model(source, target_in[::-1])

    loss = mg.cross_entropy(Twice()(), target, ignore_index=PAD)
    book = ledger(loss, model.decoder.layers[1].feed_forward_norm.gain)
    assert book.difference <= 1e-12
    assert [c.path for c in book.contributions] == [
        "model.decoder.layers.1.feed_forward_norm", "model.decoder.layers.1.feed_forward_norm#2",
    ]  # fmt: skip
    assert names(book) == ["norm", "norm · call 2"]


def test_models_of_one_stack_have_the_same_names():
    with mg.default_dtype("float64"):
        model = DecoderOnly(OneStackConfig(vocab=13, d_model=12, heads=3, layers=2, d_ff=20, tied="output"))
    ids = np.array([[1, 5, 6, 7], [1, 9, 5, 0]])
    with model.capture() as seen:
        loss = mg.cross_entropy(model(ids[:, :-1]), ids[:, 1:], ignore_index=PAD)
    table, x = ledgers(loss, [model.embedding.weight, seen["positions.out"]])
    assert names(table) == ["embedding", "output projection"]
    assert names(x) == ["query", "key", "value", "residual"]
