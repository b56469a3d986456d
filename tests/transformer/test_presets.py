"""BERT, GPT-2 and Llama: their published sizes, right gradients, and what each was made for, at a toy's size."""

import numpy as np
import pytest

import minigrad as mg
from transformer import DecoderOnly, EncoderOnly
from transformer.presets import bert, gpt, llama
from transformer.vocabulary import BOS, EOS, PAD

SMALL = dict(layers=2, d_model=32, heads=4, d_ff=64, dropout=0.0)
PRESETS = {"bert": (EncoderOnly, bert), "gpt": (DecoderOnly, gpt), "llama": (DecoderOnly, llama)}
by_preset = pytest.mark.parametrize(("kind", "preset"), PRESETS.values(), ids=PRESETS)


def counted(config, output_bias):
    """How many numbers a model of this config learns, without making it."""
    c, d, gated = config, config.d_model, config.feed_forward == "swiglu"
    keys = c.d_head * c.key_value_heads
    norm = d * (1 + (c.bias and c.norm_kind == "layer"))
    attention = 2 * d * d + 2 * d * keys + c.bias * (2 * d + 2 * keys)
    feed_forward = (2 + gated) * d * c.d_ff + c.bias * ((1 + gated) * c.d_ff + d)
    stack = c.layers * (attention + feed_forward + 2 * norm) + (c.norm == "pre") * norm
    tables = c.vocab * d * (2 if c.tied == "none" else 1) + (c.max_length * d if c.positions == "learned" else 0)
    return stack + tables + output_bias * c.vocab


@by_preset
def test_the_count_is_that_of_a_real_model(kind, preset):
    config = preset(vocab=13, **SMALL, max_length=17)
    assert kind(config).parameter_count == counted(config, output_bias=kind is EncoderOnly)


def test_the_published_sizes():
    assert counted(gpt(), False) == 124_439_808
    assert counted(llama(), False) == 6_738_415_616
    left_out = 2 * 768 + 2 * 768  # segment embeddings, and the norm right after the embeddings
    assert counted(bert(), False) + left_out == 108_891_648  # without its pooler
    assert counted(llama(layers=80, d_model=8192, heads=64, kv_heads=8, d_ff=28_672), False) == 68_976_648_192


def test_a_change_that_no_config_has_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match="a config has no 'layrs': is it 'layers'"):
        gpt(layrs=2)
    with pytest.raises(TypeError, match="a config has no 'zzz': it has"):
        bert(zzz=1)
    with pytest.raises(ValueError, match="heads=12"):
        gpt(d_model=10)


@by_preset
def test_gradients_are_finite_differences_in_a_random_direction(kind, preset):
    with mg.default_dtype("float64"):
        model = kind(preset(vocab=9, layers=1, d_model=8, heads=2, d_ff=10, dropout=0.0, max_length=8), rng=1)
    rng = np.random.default_rng(2)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.3 * rng.standard_normal(parameter.shape)
    ids = np.array([[4, 5, 6, 7], [PAD, 8, 4, 5]])
    cotangent = rng.standard_normal((2, 4, 9))
    slopes = [gradient.data for gradient in mg.gradients((model(ids) * cotangent).sum(), model.parameters())]
    start = [parameter.data for parameter in model.parameters()]
    for _ in range(3):
        direction = [rng.standard_normal(array.shape) for array in start]

        def along(step, direction=direction):
            for parameter, array, part in zip(model.parameters(), start, direction, strict=True):
                parameter.data = array + step * part
            return float((model(ids).data * cotangent).sum())

        step = 1e-3  # Richardson: the error is of the fourth order
        coarse, fine = ((along(h) - along(-h)) / (2 * h) for h in (step, step / 2))
        expected = sum(float((slope * part).sum()) for slope, part in zip(slopes, direction, strict=True))
        assert (4 * fine - coarse) / 3 == pytest.approx(expected, rel=1e-7)


def trained(model, batches, rate=5e-3):
    """The model after Adam steps on (ids, targets); a target of PAD does not count."""
    optimizer = mg.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    for ids, targets in batches:
        optimizer.zero_grad()
        mg.cross_entropy(model(ids), targets, ignore_index=PAD).backward()
        mg.optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
    return model


def test_bert_fills_in_words_that_only_both_sides_together_tell():
    """Each word is the sum of its neighbours modulo 7, so neither side alone says anything about it."""
    mask, first, modulus = 3, 4, 7

    def masked(rng, rows):
        left, right = rng.integers(0, modulus, (2, rows, 2))
        words = np.stack([left, (left + right) % modulus, right], axis=-1).reshape(rows, 6) + first
        hidden = np.zeros(words.shape, bool)
        hidden[:, [1, 4]] = True
        return np.where(hidden, mask, words), np.where(hidden, words, PAD)

    rng = np.random.default_rng(0)
    model = EncoderOnly(bert(vocab=first + modulus, **SMALL, max_length=8), rng=0)
    model = trained(model, (masked(rng, 64) for _ in range(400)), rate=3e-3)
    ids, targets = masked(np.random.default_rng(1), 500)
    right = (model(ids).data.argmax(-1) == targets)[targets != PAD]
    assert right.mean() >= 0.99
    ids[:, 2::3] = mask  # without the right side there is nothing to go by
    blind = (model(ids).data.argmax(-1) == targets)[targets != PAD]
    assert blind.mean() < 0.4


def test_gpt_writes_words_it_never_saw_backward_character_by_character():
    """Every text is four letters, a bar, the letters backward: "dabc|cbad"."""
    letters = np.array(np.meshgrid(*[range(5)] * 4)).reshape(4, -1).T + 5
    bar, unseen = 4, np.random.default_rng(3).permutation(len(letters)) < len(letters) // 5

    def texts(words):
        ends = [np.full((len(words), 1), one) for one in (BOS, bar, EOS)]
        return np.concatenate([ends[0], words, ends[1], words[:, ::-1], ends[2]], axis=1)

    rng, seen = np.random.default_rng(0), texts(letters[~unseen])
    batches = (seen[rng.integers(0, len(seen), 64)] for _ in range(300))
    model = DecoderOnly(gpt(vocab=10, **SMALL, max_length=12), rng=0)
    model = trained(model, ((ids[:, :-1], ids[:, 1:]) for ids in batches))
    whole = texts(letters[unseen])
    assert (model.generate(whole[:, :6], 6) == whole[:, 6:]).all(axis=1).mean() >= 0.99


def test_llama_goes_on_with_what_it_read_before():
    """Five numbers, and the same five again: what comes next stood behind the last number's first appearance."""
    rng = np.random.default_rng(0)

    def sequences(rng, rows):
        numbers = rng.permuted(np.tile(np.arange(4, 24), (rows, 1)), axis=1)[:, :5]
        ends = [np.full((rows, 1), one) for one in (BOS, EOS)]
        return np.concatenate([ends[0], numbers, numbers, ends[1]], axis=1)

    def batches():
        for _ in range(400):
            ids = sequences(rng, 64)
            targets = ids[:, 1:].copy()
            targets[:, :5] = PAD  # the first five are anybody's guess
            yield ids[:, :-1], targets

    model = DecoderOnly(llama(vocab=24, **SMALL, kv_heads=2, max_length=16), rng=0)
    model = trained(model, batches())
    whole = sequences(np.random.default_rng(1), 500)  # of 1,860,480 there are, some 25,000 were shown
    assert (model.generate(whole[:, :6], 6) == whole[:, 6:]).all(axis=1).mean() >= 0.99
