"""The whole forward pass against the paper's formulas in plain NumPy, written here anew."""

import numpy as np
import pytest

from tests.transformer.models import small_batch, small_model
from transformer.vocabulary import PAD

HEADS, LAYERS, WIDTH = 3, 2, 12


def softmax(scores, allowed):
    weights = np.where(allowed, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    return weights / weights.sum(-1, keepdims=True)


def reference(p, source, target_in, norm):
    """Logits (B, T_t, V) from the parameters `p` by name. Sections of the paper stand beside each part."""

    def affine(x, name):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def layer_norm(x, name):  # 3.1
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.gain"] + p[f"{name}.bias"]

    def attention(x, memory, allowed, name):  # 3.2
        heads = []
        for h in range(HEADS):
            part = slice(h * WIDTH // HEADS, (h + 1) * WIDTH // HEADS)
            q, k, v = affine(x, f"{name}.query"), affine(memory, f"{name}.key"), affine(memory, f"{name}.value")
            scores = q[..., part] @ k[..., part].swapaxes(1, 2) / np.sqrt(WIDTH / HEADS)
            heads.append(softmax(scores, allowed) @ v[..., part])
        return affine(np.concatenate(heads, -1), f"{name}.output")

    def feed_forward(x, name):  # 3.3
        return affine(np.maximum(affine(x, f"{name}.inner"), 0), f"{name}.outer")

    def add_and_norm(x, sublayer, name):  # 3.1
        if norm == "pre":
            return x + sublayer(layer_norm(x, name))
        return layer_norm(x + sublayer(x), name)

    def embed(ids, side):  # 3.4 and 3.5
        table = p.get(f"{side}_embedding.weight", p["source_embedding.weight"])
        places = np.cumsum(ids != PAD, 1) - 1
        i = np.arange(WIDTH // 2)
        angles = places[..., None] / 10000 ** (2 * i / WIDTH)
        encoding = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(*ids.shape, WIDTH)
        return np.where((ids != PAD)[..., None], table[ids] * np.sqrt(WIDTH), 0) + encoding

    def encoder_layer(x, name):
        x = add_and_norm(x, lambda h: attention(h, h, seen, f"{name}.self_attention"), f"{name}.self_attention_norm")
        return add_and_norm(x, lambda h: feed_forward(h, f"{name}.feed_forward"), f"{name}.feed_forward_norm")

    def decoder_layer(y, name):
        y = add_and_norm(y, lambda h: attention(h, h, past, f"{name}.self_attention"), f"{name}.self_attention_norm")
        y = add_and_norm(
            y, lambda h: attention(h, memory, seen, f"{name}.cross_attention"), f"{name}.cross_attention_norm"
        )
        return add_and_norm(y, lambda h: feed_forward(h, f"{name}.feed_forward"), f"{name}.feed_forward_norm")

    seen = (source != PAD)[:, None, :]
    x = embed(source, "source")
    for n in range(LAYERS):
        x = encoder_layer(x, f"encoder.layers.{n}")
    memory = layer_norm(x, "encoder.norm") if norm == "pre" else x
    positions = np.arange(target_in.shape[1])
    past = (target_in != PAD)[:, None, :] & (positions[None, :] <= positions[:, None])
    y = embed(target_in, "target")
    for n in range(LAYERS):
        y = decoder_layer(y, f"decoder.layers.{n}")
    y = layer_norm(y, "decoder.norm") if norm == "pre" else y
    if "output.weight" in p:
        return affine(y, "output")
    table = p.get("target_embedding.weight", p["source_embedding.weight"])
    return y @ table.T + p["output.bias"]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_logits_are_the_papers_formulas(norm, tied):
    model = small_model(norm=norm, tied=tied, source_vocab=13, dropout=0.4)
    source, target_in, _ = small_batch(source_vocab=13)
    expected = reference(model.state_dict(), source, target_in, norm)
    np.testing.assert_allclose(model(source, target_in).data, expected, rtol=1e-11, atol=1e-12)
