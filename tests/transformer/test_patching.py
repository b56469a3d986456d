"""Replacing activations: what is put in goes on, forward and backward, and what can't be put in is refused."""

import contextvars
import threading

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer import DecoderOnly, EncoderOnly, OneStackConfig, activations, capture, patch
from transformer.activations import UnknownActivation
from transformer.vocabulary import PAD

CROSS = "decoder.layers.1.cross_attention"


def loss_of(model, batch):
    source, target_in, target_out = batch
    return mg.cross_entropy(model(source, target_in), target_out, ignore_index=PAD)


@pytest.mark.parametrize("part", ["z", "pattern", "v"])
def test_a_head_put_to_zero_is_the_model_without_that_heads_rows_of_w_o(part):
    model, cut, batch = small_model(), small_model(), small_batch()
    head, width = 1, 4

    def without(activation):
        keep = np.ones((3, 1, 1))
        keep[head] = 0
        return activation * keep

    weight = cut.decoder.layers[1].cross_attention.output.weight
    rows = weight.data.copy()
    rows[head * width : (head + 1) * width] = 0
    weight.data = rows
    with model.patch({f"{CROSS}.{part}": without}):
        logits, loss = model(*batch[:2]), loss_of(model, batch)
    np.testing.assert_allclose(logits.data, cut(*batch[:2]).data, rtol=1e-12, atol=1e-13)
    assert np.abs(logits.data - model(*batch[:2]).data).max() > 1e-3
    ours, theirs = (mg.gradients(of, m.parameters()) for of, m in ((loss, model), (loss_of(cut, batch), cut)))
    for (name, _), one, other in zip(model.named_parameters(), ours, theirs, strict=True):
        if name == f"{CROSS}.output.weight":
            other = other.data.copy()
            other[head * width : (head + 1) * width] = 0  # nothing comes out of that head to learn from
        np.testing.assert_allclose(one.data, np.asarray(other), rtol=1e-9, atol=1e-13, err_msg=name)


def test_a_forced_pattern_is_what_numpy_makes_of_it():
    model, batch = small_model(), small_batch()
    with model.patch({f"{CROSS}.pattern": np.full(5, 1 / 5)}), model.capture() as seen:
        model(*batch[:2])
    layer = model.decoder.layers[1].cross_attention
    memory = seen["encoder.out"].data
    v = memory @ layer.value.weight.data + layer.value.bias.data
    v[batch[0] == PAD] = 0  # what no query may see takes no part
    out = np.broadcast_to(v.mean(1, keepdims=True), (3, 7, 12)) @ layer.output.weight.data + layer.output.bias.data
    np.testing.assert_allclose(seen[f"{CROSS}.out"].data, out, rtol=1e-12, atol=1e-13)
    assert (seen[f"{CROSS}.pattern"].data == 1 / 5).all()


def test_what_was_there_anyway_put_in_each_place_changes_no_bit():
    model, (source, target_in, _) = small_model(), small_batch()
    with model.capture() as seen:
        logits = model(source, target_in).data
    for name, activation in seen.items():
        with model.patch({name: activation.data}):
            np.testing.assert_array_equal(model(source, target_in).data, logits, err_msg=name)


def test_every_activation_goes_on_what_is_put_in_its_place_reaches_the_logits():
    model, (source, target_in, _) = small_model(norm="pre", feed_forward="swiglu"), small_batch()
    with model.capture() as seen:
        logits = model(source, target_in).data
    for name, activation in seen.items():
        other = np.random.default_rng(0).standard_normal(activation.shape)
        with model.patch({name: other}):
            assert np.abs(model(source, target_in).data - logits).max() > 1e-6, name


def test_the_encoders_output_from_another_source_gives_its_logits():
    model, (source, target_in, _) = small_model(), small_batch()
    other = np.where(source == PAD, PAD, 4 + (source - 3) % 7)
    with model.capture() as seen:
        expected = model(other, target_in).data
    with model.patch({"encoder.out": seen["encoder.out"].data}):
        np.testing.assert_array_equal(model(source, target_in).data, expected)
    assert np.abs(model(source, target_in).data - expected).max() > 1e-3


def test_gradients_through_functions_and_tensors_agree_with_finite_differences():
    model, (source, target_in, _) = small_model(layers=1), small_batch()
    rng = np.random.default_rng(3)

    def run(gain, pattern, weight):
        name = "encoder.layers.0.feed_forward.hidden"
        cross = "decoder.layers.0.cross_attention.pattern"
        object.__setattr__(model.encoder.layers[0].feed_forward.inner, "weight", weight)
        with model.patch({name: lambda hidden: mg.tanh(hidden) * gain, cross: pattern}):
            return model(source, target_in)

    weight = model.encoder.layers[0].feed_forward.inner.weight.data
    mg.check_grads(run, [rng.standard_normal(20), rng.random((3, 7, 5)), weight], entries=12)


def test_a_constant_that_is_put_in_keeps_its_gradient_and_its_activations_dtype():
    model, batch = small_model(dtype="float32"), small_batch()
    with model.patch({"encoder.out": 0.5, f"{CROSS}.z": lambda z: z.astype("float64")}), model.capture() as seen:
        loss = loss_of(model, batch)
    loss.backward()
    assert seen["encoder.out"].shape == (3, 5, 12)
    assert (seen["encoder.out"].dtype, seen[f"{CROSS}.z"].dtype, loss.dtype) == (np.float32,) * 3
    assert np.abs(seen["encoder.out"].grad.data).max() > 0
    assert model.encoder.layers[0].self_attention.query.weight.grad is None


def test_blocks_within_each_other_the_inner_patch_comes_last_and_all_see_what_went_on():
    model, (source, target_in, _) = small_model(), small_batch()
    outermost = model.patch({"encoder.out": 1.0, "logits": lambda x: x + 1})
    innermost = model.patch({"encoder.out": lambda x: 2 * x})
    with model.capture() as outer, outermost, innermost, model.capture() as inner:
        logits = model(source, target_in)
    assert (outer["encoder.out"].data == 2).all()
    assert outer == inner
    assert inner["logits"] is logits


def test_a_name_without_a_number_is_every_call_and_with_one_that_call_alone():
    model, source = small_model(), small_batch()[0]
    name, calls = "decoder.layers.0.self_attention.out", []
    with model.patch({name: lambda x: calls.append(x.shape) or x}), model.capture() as seen:
        written = model.generate(source, max_length=3)
    assert len(calls) == written.shape[1] == 3
    steps = [name, "decoder.layers.0.self_attention#2.out", "decoder.layers.0.self_attention#3.out"]
    assert set(steps) | {"logits#2", "logits#3", "logits#4"} <= set(seen)  # the first call of the model was `encode`
    with model.patch({"decoder.layers.0.self_attention#2.out": 7.0}), model.capture() as second:
        model.generate(source, max_length=3)
    assert [(second[step].data == 7).all() for step in steps] == [False, True, False]
    with model.patch({name: 5.0, "decoder.layers.0.self_attention#1.out": 7.0}), model.capture() as both:
        model.generate(source, max_length=3)
    assert [both[step].data.flat[0] for step in steps] == [7, 5, 5]


def test_generate_writes_what_patched_logits_say():
    model, source = small_model(), small_batch()[0]
    only = np.full(13, -9.0)
    only[6] = 9
    with model.patch({"logits": only}):
        assert (model.generate(source, max_length=4) == 6).all()
    with model.patch({"logits": only}):
        assert (model.decode([[1, 4]], model.encode(source[:1]), source[:1]).data == only).all()


@pytest.mark.parametrize(
    ("replacements", "kind", "text"),
    [
        ({f"{CROSS}.pattern": np.ones((3, 3, 7, 4))}, ValueError, r"\(3, 3, 7, 4\) for decoder.*\(3, 3, 7, 5\)"),
        ({f"{CROSS}.pattern": np.ones((1, 3, 3, 7, 5))}, ValueError, r"shape \(1, 3, 3, 7, 5\)"),
        ({f"{CROSS}.z": lambda z: z.sum()}, ValueError, r"for decoder.*the shape \(\) for \(3, 3, 7, 4\)"),
        ({f"{CROSS}.z": lambda z: z.data}, TypeError, "gave ndarray, not a Tensor"),
        ({f"{CROSS}.z": "nothing"}, TypeError, "an array, a Tensor or a function, not str"),
        ({"decoder.layer.1.cross_attention.z": 0}, KeyError, r"the nearest: decoder\.layers\.1\.cross_attention\.z"),
        ({f"{CROSS}.patern": 0}, KeyError, r"\.patern; the nearest: decoder\.layers\.1\.cross_att.*\.pattern"),
        ({f"{CROSS}#2.z": 0}, KeyError, r"cross_attention#2\.z; the nearest: decoder\.layers\.1\.cross_attention\.z"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_in_is_refused_and_nothing_is_left_behind(replacements, kind, text):
    model, (source, target_in, _) = small_model(), small_batch()
    plain = model(source, target_in).data
    with pytest.raises(kind, match=text), model.patch(replacements):
        model(source, target_in)
    assert not activations._WATCHES.get()
    np.testing.assert_array_equal(model(source, target_in).data, plain)


def test_a_module_that_is_not_there_is_told_before_anything_runs():
    ran = []
    with pytest.raises(UnknownActivation), small_model().patch({"decodr.out": 0}):
        ran.append(True)
    assert not ran


def test_a_model_that_was_not_called_is_told_and_another_error_is_not_hidden():
    with pytest.raises(UnknownActivation, match="the model was not called"), small_model().patch({"encoder.out": 0}):
        pass
    with pytest.raises(ZeroDivisionError), small_model().patch({"encoder.out": 0}):
        raise ZeroDivisionError


def test_another_thread_is_not_touched_but_a_copied_context_is():
    model, (source, target_in, _) = small_model(), small_batch()
    plain, found = model(source, target_in).data, {}

    def run(name):
        found[name] = model(source, target_in).data

    with model.patch({"logits": 3.0}):
        context = contextvars.copy_context()
        threads = [threading.Thread(target=run, args=["own"]), threading.Thread(target=context.run, args=[run, "copy"])]
        for thread in threads:
            thread.start()
            thread.join()
        run("here")
    np.testing.assert_array_equal(found["own"], plain)
    assert (found["copy"] == 3).all()
    assert (found["here"] == 3).all()


@pytest.mark.parametrize("kind", [EncoderOnly, DecoderOnly])
def test_models_of_one_stack_are_seen_and_patched_alike(kind):
    with mg.default_dtype("float64"):
        model = kind(OneStackConfig(vocab=11, d_model=12, heads=3, layers=2, d_ff=20, dropout=0.0), rng=0)
    ids = small_batch()[0]
    ids[ids == PAD] = 4
    stack = "encoder" if kind is EncoderOnly else "decoder"
    with model.capture() as seen:
        logits = model(ids).data
    assert seen[f"{stack}.layers.1.self_attention.pattern"].shape == (3, 3, 5, 5)
    with patch(model, {f"{stack}.out": seen[f"{stack}.out"]}):
        np.testing.assert_array_equal(model(ids).data, logits)
    with model.patch({f"{stack}.layers.0.self_attention.z": 0}), capture(model) as cut:
        model(ids)
    bias = dict(model.named_parameters())[f"{stack}.layers.0.self_attention.output.bias"].data
    np.testing.assert_array_equal(cut[f"{stack}.layers.0.self_attention.out"].data, np.broadcast_to(bias, (3, 5, 12)))
