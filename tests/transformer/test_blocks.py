import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing import collect
from tests.transformer.models import small_batch, small_model
from transformer.blocks import Blocks, find_blocks, fold

POST = [
    "embedding", "position", "attention", "add_norm", "feed_forward", "add_norm",
    "embedding", "position", "masked", "add_norm", "attention", "add_norm", "feed_forward", "add_norm",
    "linear", "softmax",
]  # fmt: skip
PRE = [
    "embedding", "position", "norm", "attention", "add", "norm", "feed_forward", "add", "norm",
    "embedding", "position", "norm", "masked", "add", "norm", "attention", "add", "norm", "feed_forward", "add", "norm",
    "linear", "softmax",
]  # fmt: skip


def traced(**changes: object) -> Blocks:
    model = small_model(**changes)
    source, target_in, _ = small_batch()
    with model.capture():
        return find_blocks(collect(mg.softmax(model(source, target_in))))


def joined(blocks: Blocks) -> set[tuple[str, str, str]]:
    """(from, to, roles), by path."""
    return {(blocks.blocks[link.source].path, blocks.blocks[link.target].path, link.roles) for link in blocks.links}


@pytest.mark.parametrize(("norm", "kinds"), [("post", POST), ("pre", PRE)])
@pytest.mark.parametrize("layers", [1, 2, 5])
def test_equal_layers_are_one_repeat_and_its_blocks_are_the_paper_s(norm: str, kinds: list[str], layers: int) -> None:
    blocks = fold(traced(norm=norm, layers=layers))
    assert [block.kind for block in blocks.blocks.values()] == kinds
    assert [(repeat.stack, repeat.first, repeat.count) for repeat in blocks.repeats] == [
        ("encoder", 0, layers),
        ("decoder", 0, layers),
    ]


def test_links_are_those_of_the_trace() -> None:
    layer = "encoder.layers.0."
    assert {link for link in joined(fold(traced())) if link[1].startswith("encoder")} == {
        ("source_positions", f"{layer}self_attention", "QKV"),
        ("source_positions", f"{layer}self_attention_norm", ""),  # the residual
        (f"{layer}self_attention", f"{layer}self_attention_norm", ""),
        (f"{layer}self_attention_norm", f"{layer}feed_forward", ""),
        (f"{layer}self_attention_norm", f"{layer}feed_forward_norm", ""),  # the residual
        (f"{layer}feed_forward", f"{layer}feed_forward_norm", ""),
    }


def test_the_encoder_s_output_is_key_and_value_of_every_decoder_layer() -> None:
    whole = traced(layers=3)
    assert {link for link in joined(whole) if link[0].startswith("encoder") and link[1].startswith("decoder")} == {
        ("encoder.layers.2.feed_forward_norm", f"decoder.layers.{layer}.cross_attention", "KV") for layer in range(3)
    }
    folded = fold(whole)
    assert [link for link in joined(folded) if "KV" in link and "Q" not in link[2]] == [
        ("encoder.layers.0.feed_forward_norm", "decoder.layers.0.cross_attention", "KV")
    ]
    assert {link.shape for link in folded.links if link.roles == "KV"} == {(3, 5, 12)}


def test_a_layer_without_its_residual_shows_none_and_stands_alone() -> None:
    model = small_model(layers=3)
    norm = model.encoder.layers[1].self_attention_norm
    norm.forward = lambda x, sublayer, rng: mg.layer_norm(sublayer(x), norm.gain, norm.bias)
    source, target_in, _ = small_batch()
    with model.capture():
        blocks = fold(find_blocks(collect(mg.softmax(model(source, target_in)))))
    assert [(repeat.first, repeat.count) for repeat in blocks.repeats if repeat.stack == "encoder"] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    changed = next(b for b in blocks.blocks.values() if b.path == "encoder.layers.1.self_attention_norm")
    assert changed.kind == "norm"
    assert [link[0] for link in joined(blocks) if link[1] == changed.path] == ["encoder.layers.1.self_attention"]


def test_definitions_make_the_same_blocks_as_kernels() -> None:
    model = small_model(norm="pre")
    source, target_in, _ = small_batch()
    rng = np.random.default_rng(0)
    with model.capture():
        fused = find_blocks(collect(mg.softmax(model(source, target_in))))
    with mg.unfused():
        unfused = find_blocks(collect(mg.softmax(model(source, target_in, rng=rng))))
    assert [block.path for block in unfused.blocks.values()] == [block.path for block in fused.blocks.values()]
    assert joined(unfused) == joined(fused)
    assert [block.kind for block in unfused.blocks.values()] == [block.kind for block in fused.blocks.values()]


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_tied_tables_make_no_link(tied: str) -> None:
    vocabularies = {"source_vocab": 13} if tied == "all" else {}
    assert joined(traced(tied=tied, **vocabularies)) == joined(traced())
