"""torch's names and shapes, without torch; `tests/parity/test_model.py` compares with torch itself."""

import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad import CheckpointError
from tests.transformer.models import small_model
from transformer import EncoderOnly, OneStackConfig
from transformer.interop.torch_weights import from_torch, to_torch

CASES = [
    dict(norm=norm, **tied)
    for norm in ("post", "pre")
    for tied in (dict(tied="none"), dict(tied="output"), dict(tied="all", source_vocab=13))
]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def refused(model, state):
    """The message; the model is what it was."""
    before = model.state_dict()
    with pytest.raises(CheckpointError) as error:
        from_torch(model, state)
    assert_same(model.state_dict(), before)
    return str(error.value)


def with_last_norms(model):
    """A post-norm model's state with last norms that change nothing, and before each a norm that they do not change."""
    width = model.config.d_model
    norms = ["encoder.layers.1.norm2", "decoder.layers.1.norm3", "encoder.norm", "decoder.norm"]
    plain = {f"{norm}.weight": np.ones(width) for norm in norms} | {f"{norm}.bias": np.zeros(width) for norm in norms}
    return to_torch(model) | plain


@pytest.mark.parametrize("changes", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_there_and_back_is_exact(changes, dtype):
    model, other = small_model(dtype=dtype, **changes), small_model(seed=4, dtype=dtype, **changes)
    from_torch(other, to_torch(model))
    assert_same(other.state_dict(), model.state_dict())
    assert_same(to_torch(other), to_torch(model))


def test_query_key_and_value_are_packed_and_turned():
    model = small_model()
    state, layer = to_torch(model), model.decoder.layers[1]
    packed = state["decoder.layers.1.multihead_attn.in_proj_weight"]
    parts = (layer.cross_attention.query, layer.cross_attention.key, layer.cross_attention.value)
    assert packed.shape == (36, 12)
    for part, rows in zip(parts, np.split(packed, 3), strict=True):
        np.testing.assert_array_equal(rows, part.weight.data.T)
    np.testing.assert_array_equal(state["decoder.layers.1.norm2.weight"], layer.cross_attention_norm.gain.data)
    np.testing.assert_array_equal(state["decoder.layers.1.norm3.bias"], layer.feed_forward_norm.bias.data)
    assert state["decoder.layers.1.linear1.weight"].shape == (20, 12)
    assert state["output.weight"].shape == (13, 12)


def test_only_a_pre_norm_model_has_last_norms():
    assert not [name for name in to_torch(small_model(norm="post")) if ".norm." in name]
    model = small_model(norm="pre")
    np.testing.assert_array_equal(to_torch(model)["decoder.norm.weight"], model.decoder.norm.gain.data)
    assert len([name for name in to_torch(model) if ".norm." in name]) == 4


def test_the_arrays_are_new_and_in_c_order():
    model = small_model()
    before = model.state_dict()
    for array in to_torch(model).values():
        assert array.flags.c_contiguous
        array[:] = 0
    assert_same(model.state_dict(), before)


def test_the_state_may_be_changed_afterwards():
    model = small_model()
    state = to_torch(model)
    from_torch(model, state)
    before = model.state_dict()
    for array in state.values():
        array[:] = 0
    assert_same(model.state_dict(), before)


def test_the_dtype_stays_the_models():
    model = small_model(dtype="float32")
    from_torch(model, to_torch(small_model(seed=4, dtype="float64")))
    assert {array.dtype.name for array in model.state_dict().values()} == {"float32"}


def test_it_goes_through_a_file(tmp_path):
    model, other = small_model(norm="pre"), small_model(seed=4, norm="pre")
    mg.save(tmp_path / "weights.safetensors", to_torch(model))
    from_torch(other, mg.load(tmp_path / "weights.safetensors"))
    assert_same(other.state_dict(), model.state_dict())


def test_the_first_three_that_do_not_fit_are_named():
    model = small_model()
    state = to_torch(model)
    del state["decoder.layers.0.norm3.bias"]
    state |= {
        "positions": np.zeros(3),
        "output.bias": np.zeros((13, 1)),
        "output.weight": np.zeros((13, 12), np.int64),
    }
    assert refused(model, state) == (
        "these weights and this model do not fit: decoder.layers.0.norm3.bias is missing; positions is not known; "
        "output.weight has dtype int64, not a floating one and 1 more"
    )
    del state["positions"], state["output.weight"]
    assert "output.weight is missing" in refused(model, state)
    assert "output.bias has shape (13, 1), not (13,)" in refused(model, state)


def test_a_pre_norm_models_last_norms_are_asked_for():
    assert "encoder.norm.weight is missing" in refused(small_model(norm="pre"), to_torch(small_model(norm="post")))


def test_last_norms_that_change_nothing_are_left_out():
    model, other = small_model(), small_model(seed=4)
    state = with_last_norms(model)
    from_torch(other, state)
    found = to_torch(other)
    assert_same(found, {name: state[name] for name in found})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encoder.norm.weight", np.full(12, 1.5)),
        ("encoder.norm.bias", np.full(12, 1e-3)),
        ("decoder.norm.weight", np.ones(13)),
        ("decoder.layers.1.norm3.weight", np.full(12, 2.0)),
        ("encoder.layers.1.norm2.bias", np.full(12, 0.1)),
    ],
)
def test_last_norms_that_count_are_refused(name, value):
    model = small_model()
    message = refused(model, with_last_norms(model) | {name: value})
    assert message.startswith(f"{name[:7]}.norm is a last norm, which a post-norm model does not have.")
    assert "nn.TransformerEncoder(layer, N, norm=None)" in message


def test_half_a_last_norm_is_refused():
    model = small_model()
    state = with_last_norms(model)
    del state["decoder.norm.bias"]
    assert refused(model, state).startswith("decoder.norm is a last norm")


@pytest.mark.parametrize(
    ("changes", "name", "first"),
    [
        (dict(tied="output"), "output.weight", "target_embedding.weight"),
        (dict(tied="all", source_vocab=13), "target_embedding.weight", "source_embedding.weight"),
    ],
)
def test_one_table_with_two_values_is_refused(changes, name, first):
    model = small_model(**changes)
    state = to_torch(model)
    state[name] = state[name] + 1
    assert f"{name} is tied to {first} and differs from it" in refused(model, state)


def test_what_is_no_array_is_named():
    model = small_model()
    assert "output.bias can't be read as an array" in refused(model, to_torch(model) | {"output.bias": [[1.0], 2.0]})


def test_a_model_with_more_than_torch_has_is_refused():
    model = small_model()
    model.encoder.extra = mg.nn.zeros(3)
    with pytest.raises(CheckpointError, match=r"encoder\.extra has no place in torch\.nn\.Transformer"):
        to_torch(model)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(norm_kind="rms", feed_forward="swiglu"), "norm_kind='rms', feed_forward='swiglu'"),
        (dict(positions="learned"), "positions='learned'"),
        (dict(positions="rotary", d_model=12, heads=3), "positions='rotary'"),
        (dict(cross_positions="rotary"), "cross_positions='rotary'"),
        (dict(heads=4, kv_heads=2), "kv_heads=2 of 4 heads"),
    ],
)
def test_a_choice_that_torch_does_not_have_is_refused_by_name(changes, words):
    model = small_model(**changes)
    for call in (to_torch, lambda model: from_torch(model, {})):
        with pytest.raises(CheckpointError, match=f"^torch.nn.Transformer does not have {words}$"):
            call(model)


def test_a_model_of_one_stack_is_refused():
    model = EncoderOnly(OneStackConfig(vocab=9, d_model=8, heads=2, layers=1, d_ff=8))
    with pytest.raises(CheckpointError, match="is an encoder and a decoder, not EncoderOnly"):
        to_torch(model)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_without_biases_only_the_output_has_one(norm):
    state = to_torch(small_model(norm=norm, bias=False))
    assert [name for name in state if "bias" in name] == ["output.bias"]
    again = small_model(seed=5, norm=norm, bias=False)
    from_torch(again, state)
    for name, array in to_torch(again).items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)


def test_torch_is_not_imported():
    program = "import sys, transformer.interop.torch_weights; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
