"""Models of one stack against the papers' formulas in plain NumPy, written here anew: BERT, GPT-2 and Llama 2."""

import math
from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from transformer import DecoderOnly, EncoderOnly, TransformerConfig
from transformer.presets import bert, gpt, llama
from transformer.vocabulary import EOS, PAD

HEADS, KV_HEADS, LAYERS, WIDTH, D_HEAD = 6, 2, 2, 24, 4
SHAPE = dict(vocab=13, d_model=WIDTH, heads=HEADS, layers=LAYERS, d_ff=10, max_length=9)


def model_of(kind, config):
    """In float64, every parameter random, so that no gain is 1 and no bias is 0."""
    with mg.default_dtype("float64"):
        model = kind(config, rng=1)
    rng = np.random.default_rng(3)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.5 * rng.standard_normal(parameter.shape)
    return model


def affine(p, x, name):
    return x @ p[f"{name}.weight"] + p.get(f"{name}.bias", 0)


def layer_norm(p, x, name):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.gain"] + p[f"{name}.bias"]


def rms_norm(p, x, name):  # Zhang and Sennrich 2019, equation 4
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.gain"]


def gelu(x):  # Hendrycks and Gimpel 2016: x times the normal distribution's cumulative function
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def attention(p, x, name, causal, kv_heads=HEADS, place_of=lambda part: part):
    """One row (T, D) of words alone. place_of: what is done to each head's queries and keys (T, D_h)."""
    q, k, v = (affine(p, x, f"{name}.{part}") for part in ("query", "key", "value"))
    heads = []
    for h in range(HEADS):
        own, group = h * D_HEAD, h * kv_heads // HEADS * D_HEAD
        q_h, k_h = place_of(q[:, own : own + D_HEAD]), place_of(k[:, group : group + D_HEAD])
        weights = np.exp(q_h @ k_h.T / math.sqrt(D_HEAD))
        weights = np.tril(weights) if causal else weights
        heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, group : group + D_HEAD])
    return affine(p, np.concatenate(heads, -1), f"{name}.output")


def embedded(p, ids):  # "Attention Is All You Need", section 3.4
    return p["embedding.weight"][ids] * math.sqrt(WIDTH)


def bert_of(p, ids):
    """Devlin et al. 2019, section 3: the paper's encoder with learned positions and GELU."""
    x = embedded(p, ids) + p["positions.weight"][: len(ids)]
    for layer in (f"encoder.layers.{n}" for n in range(LAYERS)):
        x = layer_norm(p, x + attention(p, x, f"{layer}.self_attention", False), f"{layer}.self_attention_norm")
        inner = gelu(affine(p, x, f"{layer}.feed_forward.inner"))
        x = layer_norm(p, x + affine(p, inner, f"{layer}.feed_forward.outer"), f"{layer}.feed_forward_norm")
    return x @ p["embedding.weight"].T + p["output.bias"]


def gpt_of(p, ids):
    """Radford et al. 2019, section 2.3: norms before each sub-layer, and one at the end."""
    x = embedded(p, ids) + p["positions.weight"][: len(ids)]
    for layer in (f"decoder.layers.{n}" for n in range(LAYERS)):
        x = x + attention(p, layer_norm(p, x, f"{layer}.self_attention_norm"), f"{layer}.self_attention", True)
        inner = gelu(affine(p, layer_norm(p, x, f"{layer}.feed_forward_norm"), f"{layer}.feed_forward.inner"))
        x = x + affine(p, inner, f"{layer}.feed_forward.outer")
    return layer_norm(p, x, "decoder.norm") @ p["embedding.weight"].T


def rotated(x):
    """Su et al. 2021, equation 13: each pair of numbers as a complex one, turned by its place. (T, D_h) -> the same."""
    places, pairs = np.arange(len(x))[:, None], np.arange(D_HEAD // 2)
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * places / 10_000 ** (2 * pairs / D_HEAD))
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


def llama_of(p, ids):
    """Touvron et al. 2023a, section 2.2, and grouped heads as 2023b, section 2.2."""
    x = embedded(p, ids)
    for layer in (f"decoder.layers.{n}" for n in range(LAYERS)):
        h = rms_norm(p, x, f"{layer}.self_attention_norm")
        x = x + attention(p, h, f"{layer}.self_attention", True, KV_HEADS, rotated)
        h = rms_norm(p, x, f"{layer}.feed_forward_norm")
        gate, inner = (affine(p, h, f"{layer}.feed_forward.{part}") for part in ("gate", "inner"))
        x = x + affine(p, gate / (1 + np.exp(-gate)) * inner, f"{layer}.feed_forward.outer")
    return rms_norm(p, x, "decoder.norm") @ p["output.weight"]


PRESETS = {
    "bert": (EncoderOnly, bert(**SHAPE), bert_of),
    "gpt": (DecoderOnly, gpt(**SHAPE), gpt_of),
    "llama": (DecoderOnly, llama(**SHAPE, kv_heads=KV_HEADS), llama_of),
}
by_preset = pytest.mark.parametrize(("kind", "config", "reference"), PRESETS.values(), ids=PRESETS)
DECODERS = [PRESETS["gpt"], PRESETS["llama"]]


@by_preset
def test_logits_are_the_papers_formulas(kind, config, reference):
    """Of three rows with padding left, inside and right, dropout set and not asked for."""
    model = model_of(kind, config)
    p = model.state_dict()
    ids = np.array([[PAD, PAD, 4, 9, 5], [7, PAD, 12, 4, 4], [5, 6, 7, 8, PAD]])
    for found, row in zip(model(ids).data, ids, strict=True):
        np.testing.assert_allclose(found[row != PAD], reference(p, row[row != PAD]), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("kind", "config", "reference"), DECODERS, ids=["gpt", "llama"])
def test_what_is_generated_is_the_likeliest_by_the_papers_formulas(kind, config, reference):
    """To the last learned position, or to an end. Prompts of different lengths, padded on the left."""
    model = model_of(kind, config)
    p, prompts = model.state_dict(), [[4], [5, 9, 6], [8, 7]]
    padded = np.array([[PAD] * (3 - len(prompt)) + prompt for prompt in prompts])
    for found, text in zip(model.generate(padded, max_length=7), prompts, strict=True):
        written = []
        while len(written) < 7 and EOS not in written:
            logits = reference(p, np.array(text + written))[-1]
            written.append(EOS + int(logits[EOS:].argmax()))
        assert found.tolist() == written + [PAD] * (len(found) - len(written))


@by_preset
def test_weights_are_their_seeds_and_dropout_is_its_generators(kind, config, reference):
    ids, config = np.array([[4, 5, 6]]), replace(config, dropout=0.5)
    one, same, other = (kind(config, rng=seed) for seed in (3, np.random.default_rng(3), 4))
    for name, array in one.state_dict().items():
        assert np.array_equal(array, same.state_dict()[name])
    assert not np.array_equal(one.embedding.weight.data, other.embedding.weight.data)
    at_random = [one(ids, np.random.default_rng(seed)).data for seed in (5, 5, 6)]
    assert np.array_equal(at_random[0], at_random[1])
    assert not np.allclose(at_random[0], at_random[2])
    assert not np.allclose(at_random[0], one(ids).data)
    assert np.array_equal(one(ids).data, one(ids).data)


@by_preset
def test_dropout_acts_below_the_stack_and_in_each_of_its_sub_layers(kind, config, reference):
    """One at a time, the others' rates set to 0."""
    model, ids = kind(config), np.array([[4, 5, 6]])
    dropping = [module for _, module in model.named_modules() if hasattr(module, "dropout")]
    assert len(dropping) == 1 + 2 * LAYERS
    for one in dropping:
        for module in dropping:
            module.dropout = 0.5 if module is one else 0.0
        assert not np.allclose(model(ids, np.random.default_rng(0)).data, model(ids).data)


@pytest.mark.parametrize("tied", ["none", "output"])
@pytest.mark.parametrize("kind", [EncoderOnly, DecoderOnly])
def test_a_tied_output_is_the_embedding_itself_and_only_an_encoders_has_a_bias(kind, tied):
    names = [name for name, _ in kind(gpt(**SHAPE, tied=tied)).named_parameters() if name.startswith("output")]
    weight = ["output.weight"] if tied == "none" else []
    assert sorted(names) == (["output.bias"] if kind is EncoderOnly else []) + weight


def test_another_models_config_is_refused():
    with pytest.raises(TypeError, match="DecoderOnly takes a OneStackConfig, not a TransformerConfig"):
        DecoderOnly(TransformerConfig(source_vocab=9, target_vocab=9))
