"""The whole model: its shapes, where its gradients go, what it writes, what it refuses."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer import Transformer, TransformerConfig, capture
from transformer.layers import View
from transformer.masks import decoder_mask, padding_mask
from transformer.vocabulary import BOS, EOS, PAD


def gradients_and_logits(model, source, target_in, target_out):
    logits = model(source, target_in)
    loss = mg.cross_entropy(logits, target_out, ignore_index=PAD, reduction="sum")
    return logits.data, [gradient.data for gradient in mg.gradients(loss, model.parameters())]


def test_logits_have_the_shape_of_the_target_and_its_vocabulary():
    source, target_in, _ = small_batch()
    assert small_model()(source, target_in).shape == (3, 7, 13)


def test_no_gradient_flows_from_a_position_to_later_words():
    model, (source, target_in, _) = small_model(), small_batch()
    memory = model.encode(source)
    embedded = mg.Tensor(np.random.default_rng(3).standard_normal((3, 7, 12)), requires_grad=True)
    view = View(decoder_mask(target_in != PAD, 7))
    states = model.decoder(embedded, memory, view, View(padding_mask(source != PAD)), None)
    for t in range(7):
        (gradient,) = mg.gradients(states[:, t].sum() + (states[:, t] * states[:, t]).sum(), [embedded])
        assert not gradient.data[:, t + 1 :].any()
        assert gradient.data[:, t].any()


def test_a_source_of_padding_alone_is_finite_and_leaves_the_others_untouched():
    model, (source, target_in, target_out) = small_model(), small_batch()
    empty = source.copy()
    empty[0] = PAD
    logits, gradients = gradients_and_logits(model, empty, target_in, target_out)
    assert np.isfinite(logits).all()
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    np.testing.assert_allclose(logits[1:], model(source, target_in).data[1:], rtol=1e-12)
    with model.capture() as seen:
        model(empty, target_in)
    assert not seen["encoder.layers.0.self_attention.pattern"].data[0].any()
    assert not seen["encoder.layers.0.self_attention.z"].data[0].any()


def test_a_cache_of_nothing_keeps_nothing_and_begins_as_a_new_one():
    model, (source, target_in, _) = small_model(), small_batch()
    memory, cache = model.encode(source)[:2], model.new_cache()
    cache.keep(np.array([1, 0]))
    begun = model.decode(target_in[:2], memory, source[:2], cache).data
    assert np.array_equal(begun, model.decode(target_in[:2], memory, source[:2], model.new_cache()).data)


def test_every_pattern_is_there_sums_to_one_and_made_the_output():
    model, (source, target_in, _) = small_model(dropout=0.5), small_batch()
    plain = model(source, target_in).data
    with model.capture() as seen:
        looked_at = model(source, target_in).data
    np.testing.assert_allclose(looked_at, plain, rtol=1e-12)
    patterns = {name: t.data for name, t in seen.items() if name.endswith(".pattern")}
    assert len(patterns) == 6
    for name, pattern in patterns.items():
        keys = 7 if "decoder" in name and "self" in name else 5
        assert pattern.shape == (3, 3, 7 if "decoder" in name else 5, keys)
        np.testing.assert_allclose(pattern.sum(-1), 1, rtol=1e-12)
        v, z = (seen[name.removesuffix("pattern") + part].data for part in "vz")
        np.testing.assert_allclose(pattern @ v, z, rtol=1e-12)
    assert not patterns["encoder.layers.0.self_attention.pattern"][1, :, :, 1].any()  # padding inside the row
    with model.capture() as dropped:
        model(source, target_in, rng=np.random.default_rng(0))
    np.testing.assert_allclose(dropped["decoder.layers.1.self_attention.pattern"].data.sum(-1), 1, rtol=1e-12)


def test_dropout_only_with_a_generator_and_the_same_for_the_same_one():
    model, (source, target_in, _) = small_model(dropout=0.5), small_batch()
    assert np.array_equal(model(source, target_in).data, model(source, target_in).data)
    seeded = [model(source, target_in, rng=np.random.default_rng(seed)).data for seed in (1, 1, 2)]
    assert np.array_equal(seeded[0], seeded[1])
    assert not np.array_equal(seeded[0], seeded[2])
    assert not np.array_equal(seeded[0], model(source, target_in).data)


def test_layers_start_different_and_share_nothing():
    model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, d_model=8, heads=2, layers=3, d_ff=16))
    for stack in (model.encoder, model.decoder):
        weights = [layer.self_attention.query.weight for layer in stack.layers]
        assert len({id(w) for w in weights}) == 3
        assert not np.array_equal(weights[0].data, weights[1].data)
    again = Transformer(model.config, rng=0)
    assert all(np.array_equal(a.data, b.data) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_post_norm_has_no_last_norm_and_pre_norm_has_one():
    assert small_model().encoder.norm is None
    assert small_model(norm="pre").decoder.norm is not None


def test_generate_never_needs_a_target_ends_rows_with_eos_and_does_not_depend_on_the_batch():
    model, (source, _, _) = small_model(seed=8), small_batch()
    together = model.generate(source, max_length=9)
    assert together.shape[1] <= 9
    assert not np.isin(together, [BOS]).any()
    for row, ids in zip(source, together, strict=True):
        alone = model.generate(row[None], max_length=9)[0]
        end = list(ids).index(EOS) + 1 if EOS in ids else len(ids)
        assert list(alone[:end]) == list(ids[:end])
        assert not ids[end:].any()


def test_generate_takes_the_likeliest_word_of_every_step():
    model, (source, _, _) = small_model(seed=8), small_batch()
    written = model.generate(source[:1], max_length=5)
    begun = np.array([[BOS]])
    for word in written[0]:
        logits = model(source[:1], begun).data[0, -1].copy()
        logits[[PAD, BOS]] = -np.inf
        assert logits.argmax() == word
        begun = np.append(begun, [[word]], axis=1)


def test_generate_records_nothing(monkeypatch):
    model, (source, _, _) = small_model(), small_batch()
    logits, decode = [], Transformer.decode
    monkeypatch.setattr(Transformer, "decode", lambda self, *args: logits.append(decode(self, *args)) or logits[-1])
    model.generate(source, max_length=2)
    assert logits
    assert not any(each.requires_grad for each in logits)


def test_capture_sees_its_own_model_only_and_each_step_of_generate():
    model, other, (source, target_in, _) = small_model(), small_model(seed=9), small_batch()
    with model.capture() as seen:
        other(source, target_in)
        assert not seen
        model.generate(source, max_length=3)
    assert seen["decoder.layers.0.self_attention.pattern"].shape[2:] == (1, 1)
    assert seen["decoder.layers.0.self_attention#2.pattern"].shape[2:] == (1, 2)


def test_capture_changes_nothing_also_where_a_mask_hides_what_is_not_finite():
    attention = small_model().decoder.layers[0].cross_attention
    x, memory = np.random.default_rng(0).standard_normal((2, 3, 4, 12))
    memory[:, 1] = np.inf
    mask = np.array([True, False, True, True])
    with np.errstate(invalid="ignore"):  # the projections of what is hidden
        plain = attention(mg.Tensor(x), mg.Tensor(memory), mask).data
    with capture(attention), np.errstate(invalid="ignore"):
        watched = attention(mg.Tensor(x), mg.Tensor(memory), mask).data
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(watched, plain, rtol=1e-12)


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [([[4.0, 5.0]], TypeError, "integers"), ([4, 5], ValueError, "(B, T)"),
     (np.zeros((2, 0), int), ValueError, "T at least 1"),
     ([[4, 99]], IndexError, "source_embedding: id 99 at (0, 1) is not one of the 11")],
)  # fmt: skip
def test_a_bad_source_is_refused_with_what_and_where(source, kind, text):
    with pytest.raises(kind) as error:
        small_model()(source, [[BOS]])
    assert text in str(error.value)


def test_a_fresh_model_knows_nothing_so_its_loss_is_near_ln_v():
    with mg.default_dtype("float64"):
        config = TransformerConfig(
            source_vocab=20, target_vocab=50, d_model=32, heads=4, layers=2, d_ff=64, tied="output"
        )
        model = Transformer(config, rng=0)
    rng = np.random.default_rng(0)
    source, target = rng.integers(4, 20, (16, 9)), rng.integers(4, 50, (16, 9))
    loss = mg.cross_entropy(model(source, target), rng.integers(4, 50, (16, 9))).item()
    assert abs(loss - np.log(50)) < 1.0


def test_random_targets_cannot_be_learnt_below_ln_v_so_no_answer_leaks_through_the_shift():
    config = TransformerConfig(source_vocab=8, target_vocab=12, d_model=16, heads=2, layers=1, d_ff=32, dropout=0.0)
    model = Transformer(config, rng=0)
    optimizer = mg.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for step in range(150):
        rng = np.random.default_rng(step)
        target = rng.integers(4, 12, (32, 6))
        target_in = np.concatenate([np.full((32, 1), BOS), target[:, :-1]], axis=1)
        loss = mg.cross_entropy(model(np.full((32, 2), 4), target_in), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.log(8) - 0.03 < np.mean(losses[-30:]) < np.log(8) + 0.1  # eight words are drawn from


def test_module_paths_name_the_papers_parts():
    model, (source, target_in, target_out) = small_model(), small_batch()
    with model.capture():
        loss = mg.cross_entropy(model(source, target_in), target_out, ignore_index=PAD)
    paths = {step.node.path for step in mg.walk(loss) if step.node.primitive is not None}
    for part in ("source_embedding", "target_positions", "encoder.layers.1.self_attention",
                 "decoder.layers.0.cross_attention.key",
                 "decoder.layers.1.feed_forward.outer", "encoder.layers.0.feed_forward_norm", "output"):  # fmt: skip
        assert part in paths
    assert dict(model.named_parameters())["decoder.layers.1.cross_attention.query.weight"].name == (
        "decoder.layers.1.cross_attention.query.weight"
    )


def test_an_error_names_the_module_it_happened_in():
    model, (source, target_in, _) = small_model(), small_batch()
    with pytest.raises(ValueError, match=r"in decoder\.layers\.0\.cross_attention: .* memory of 10"):
        model.decode(target_in, model.encode(source)[:, :, :10], source)
    in_key = r"linear in decoder.layers.0.cross_attention.key: x \(3, 5, 10\)"
    with model.capture(), pytest.raises(ValueError, match=in_key):
        model.decode(target_in, model.encode(source)[:, :, :10], source)
