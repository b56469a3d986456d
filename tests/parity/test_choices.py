"""What came after the paper is right too: every choice of a config against a model written in torch's own operations.

Logits, gradients of all parameters, and the losses of 50 Adam steps, in float64 to 1e-9, padding on. torch's side is
written anew, by other means where there are any: rotary positions as complex numbers, ALiBi as a float mask, grouped
heads by torch's attention itself. It reads our weights, (in, out), under our names.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import minigrad as mg
from tests.parity.comparison import assert_close
from tests.parity.test_model import batch, fifty_adam_steps
from tests.transformer.models import small_model
from transformer.positions import sinusoids
from transformer.vocabulary import PAD

WIDTHS = dict(d_model=16, heads=4, max_length=12)
CASES = {
    "rms norm, post": dict(norm_kind="rms"),
    "rms norm, pre": dict(norm_kind="rms", norm="pre"),
    "learned": dict(positions="learned"),
    "rotary": dict(positions="rotary"),
    "alibi": dict(positions="alibi"),
    "randomised": dict(positions="randomised"),
    "none": dict(positions="none"),
    "cross rotary": dict(cross_positions="rotary"),
    "cross rotary from both ends": dict(cross_positions="rotary_both_ends", positions="rotary"),
    "grouped heads": dict(kv_heads=2),
    "one head of keys": dict(kv_heads=1, positions="alibi"),
    "grouped heads from both ends": dict(kv_heads=2, cross_positions="rotary_both_ends"),
    "swiglu": dict(feed_forward="swiglu"),
    "swiglu without biases": dict(feed_forward="swiglu", bias=False),
    "Llama's choices": dict(
        norm="pre", norm_kind="rms", positions="rotary", feed_forward="swiglu", bias=False, kv_heads=2
    ),
}
by_case = pytest.mark.parametrize("changes", CASES.values(), ids=CASES)


class Twin:
    """The same model from the same weights: our names -> torch tensors that require gradients."""

    def __init__(self, model):
        self.config = model.config
        self.p = {name: torch.tensor(array, requires_grad=True) for name, array in model.state_dict().items()}

    def __call__(self, source, target):
        c, target_words, source_words = self.config, target != PAD, source != PAD
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        sees, sees_source = target_words[:, None, None] & causal, source_words[:, None, None]
        x, y = self.embedded("source", source), self.embedded("target", target)
        within = [self.within(words) for words in (source_words, target_words)]
        across = {}
        if c.cross_positions != "none":
            ends = (places(source_words), places(source_words, from_end=c.cross_positions == "rotary_both_ends"))
            across = dict(query=(places(target_words),) * 2, key=ends)
        for n in range(c.layers):
            layer = f"encoder.layers.{n}"
            x = self.around(
                f"{layer}.self_attention_norm",
                x,
                self.attention(f"{layer}.self_attention", None, sees_source, **within[0]),
            )
            x = self.around(f"{layer}.feed_forward_norm", x, self.feed_forward(f"{layer}.feed_forward"))
        x = self.norm("encoder.norm", x) if c.norm == "pre" else x
        for n in range(c.layers):
            layer = f"decoder.layers.{n}"
            y = self.around(
                f"{layer}.self_attention_norm", y, self.attention(f"{layer}.self_attention", None, sees, **within[1])
            )
            y = self.around(
                f"{layer}.cross_attention_norm", y, self.attention(f"{layer}.cross_attention", x, sees_source, **across)
            )
            y = self.around(f"{layer}.feed_forward_norm", y, self.feed_forward(f"{layer}.feed_forward"))
        y = self.norm("decoder.norm", y) if c.norm == "pre" else y
        return self.linear("output", y)

    def embedded(self, side, ids):
        c, words = self.config, ids != PAD
        x = self.p[f"{side}_embedding.weight"][ids] * math.sqrt(c.d_model) * words[:, :, None]
        if c.positions == "learned":
            return x + self.p[f"{side}_positions.weight"][places(words)]
        if c.positions in ("sinusoidal", "randomised"):
            stride = 4 if c.positions == "randomised" else 1
            return x + torch.tensor(sinusoids(4 * ids.shape[1], c.d_model))[stride * places(words)]
        return x

    def within(self, words):
        """What places do to the self-attention of one side."""
        where = places(words)
        if self.config.positions == "rotary":
            return dict(query=(where,) * 2, key=(where,) * 2)
        if self.config.positions == "alibi":
            slopes = torch.tensor([2.0 ** (-8 * h / self.config.heads) for h in range(1, self.config.heads + 1)])
            distance = (where[:, :, None] - where[:, None, :]).abs()
            return dict(bias=-slopes.double()[:, None, None] * distance[:, None])
        return {}

    def attention(self, path, memory, sees, query=None, key=None, bias=None):
        c = self.config

        def heads(name, x, count):
            return self.linear(f"{path}.{name}", x).unflatten(2, (count, c.d_head)).transpose(1, 2)

        def run(h):
            m = h if memory is None else memory
            q, k, v = (
                heads("query", h, c.heads),
                heads("key", m, c.key_value_heads),
                heads("value", m, c.key_value_heads),
            )
            q, k = (x if ends is None else turned(x, *ends) for x, ends in ((q, query), (k, key)))
            mask = torch.zeros(()).double() if bias is None else bias
            mask = torch.where(sees, mask, -torch.inf)
            with sdpa_kernel(SDPBackend.MATH):
                z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
            return self.linear(f"{path}.output", z.transpose(1, 2).flatten(2))

        return run

    def feed_forward(self, path):
        def run(h):
            inner = self.linear(f"{path}.inner", h)
            hidden = (
                F.silu(self.linear(f"{path}.gate", h)) * inner
                if self.config.feed_forward == "swiglu"
                else F.relu(inner)
            )
            return self.linear(f"{path}.outer", hidden)

        return run

    def around(self, path, x, sublayer):
        return x + sublayer(self.norm(path, x)) if self.config.norm == "pre" else self.norm(path, x + sublayer(x))

    def norm(self, path, x):
        gain, bias = self.p[f"{path}.gain"], self.p.get(f"{path}.bias")
        if self.config.norm_kind == "rms":
            return F.rms_norm(x, gain.shape, gain, 1e-5)
        return F.layer_norm(x, gain.shape, gain, bias, 1e-5)

    def linear(self, path, x):
        y = x @ self.p[f"{path}.weight"]
        return y + self.p[f"{path}.bias"] if f"{path}.bias" in self.p else y


def places(words, from_end=False):
    """The place of each word among its row's, (B, T)."""
    words = words.flip(1) if from_end else words
    where = (words.cumsum(1) - 1).clamp(min=0)
    return where.flip(1) if from_end else where


def turned(x, first, second):
    """Pairs of numbers as complex numbers, times e^(i angle): half of the heads by one place, half by the other."""
    half = x.shape[1] // 2
    width = x.shape[-1]
    rates = 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    where = torch.stack([first] * (x.shape[1] - half) + [second] * half, dim=1)
    numbers = torch.view_as_complex(x.unflatten(-1, (width // 2, 2)).contiguous())
    return torch.view_as_real(numbers * torch.exp(1j * where[..., None] * rates)).flatten(-2)


def losses(mine, twin, source, target_in, target_out):
    ours = mg.cross_entropy(mine(source, target_in), target_out, ignore_index=PAD)
    logits = twin(torch.from_numpy(source), torch.from_numpy(target_in))
    classes = torch.from_numpy(np.ascontiguousarray(target_out)).flatten()
    return logits, ours, F.cross_entropy(logits.flatten(0, 1), classes, ignore_index=PAD)


@by_case
@pytest.mark.parametrize("seed", [0, 1])
def test_logits_and_all_gradients(changes, seed):
    mine = small_model(**WIDTHS, **changes)
    twin, parts = Twin(mine), batch(mine.config, seed)
    logits, ours, theirs = losses(mine, twin, *parts)
    assert_close("logits", mine(*parts[:2]), logits)
    ours.backward()
    theirs.backward()
    for parameter in mine.parameters():
        assert_close(parameter.name, parameter.grad, twin.p[parameter.name].grad)


@by_case
def test_the_losses_of_fifty_adam_steps(changes):
    mine = small_model(**WIDTHS, **changes)
    twin = Twin(mine)

    def pair_at(step):
        return losses(mine, twin, *batch(mine.config, step % 6))[1:]

    found, expected = fifty_adam_steps(mine.parameters(), twin.p.values(), pair_at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert found[-6:].mean() < 0.95 * found[:6].mean()  # it did learn


class DrawnTwin(Twin):
    """Randomised positions as in training: the same sorted subsets of the range, the source's drawn first."""

    rng = np.random.default_rng(0)

    def embedded(self, side, ids):
        where, reach = places(ids != PAD), 4 * self.config.max_length
        subset = torch.tensor(np.sort(self.rng.choice(reach, int(where.max()) + 1, replace=False)))
        x = self.p[f"{side}_embedding.weight"][ids] * math.sqrt(self.config.d_model) * (ids != PAD)[:, :, None]
        return x + torch.tensor(sinusoids(reach, self.config.d_model))[subset[where]]


@pytest.mark.parametrize("seed", [0, 1])
def test_logits_and_all_gradients_at_drawn_positions(seed):
    mine = small_model(**WIDTHS, positions="randomised")
    twin, (source, target_in, _) = DrawnTwin(mine), batch(mine.config, seed)
    twin.rng = np.random.default_rng(seed)
    logits = mine(source, target_in, np.random.default_rng(seed))
    expected = twin(torch.from_numpy(source), torch.from_numpy(target_in))
    assert_close("logits", logits, expected)
    assert np.abs(logits.data - mine(source, target_in).data).max() > 1e-3  # they were drawn
    cotangent = np.random.default_rng(seed).standard_normal(logits.shape)
    (logits * cotangent).sum().backward()
    (expected * torch.tensor(cotangent)).sum().backward()
    for parameter in mine.parameters():
        assert_close(parameter.name, parameter.grad, twin.p[parameter.name].grad)
