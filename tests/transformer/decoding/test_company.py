"""What a row writes, and how likely that is, does not depend on the rows beside it: every decoder, kind and dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import choices, one_stack_choices
from tests.transformer.decoding.test_beam import without_stopping
from transformer import DecoderOnly, OneStackConfig, Transformer, TransformerConfig
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy
from transformer.decoding.sampling import sample
from transformer.vocabulary import BOS, EOS, PAD

LONGEST = 6
CLOSE = {"float64": 1e-11, "float32": 1e-4}
DECODERS = {
    "greedy": lambda model, source: greedy(model, source, LONGEST),
    "beam": lambda model, source: beam_search(model, source, 3, LONGEST),
    "sampling": lambda model, source: sample(model, source, 5, temperature=1.5, top_k=9, top_p=0.9, max_length=LONGEST),
}


def sharpened(model, seed):
    """Every parameter random, and logits that stand far enough apart for rounding not to choose the word."""
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.3 * rng.standard_normal(parameter.shape)
    return model


def same_in_company(model, row, others, left, decoder, close):
    """The first row of the batch writes what it writes alone; it is padded on the left, the others are not."""
    alone = DECODERS[decoder](model, row[None])
    together = DECODERS[decoder](model, np.concatenate([np.pad(row, (left, 0), constant_values=PAD)[None], others]))
    (one, first), (other, second) = ((found[0][0], found[1][0]) for found in (alone, together))
    length = min(one.shape[-1], other.shape[-1])
    assert not one[..., length:].any()
    assert not other[..., length:].any()
    assert np.array_equal(one[..., :length], other[..., :length])
    if first.shape[-1] != second.shape[-1]:  # a score for each word
        first, second = first[:length], second[:length]
    np.testing.assert_allclose(second, first, rtol=0, atol=close)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(choices(), st.integers(0, 1000), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=12, derandomize=True)
def test_a_source_is_answered_alike_alone_and_in_company(decoder, dtype, config, seed, others, left):
    rng = np.random.default_rng(seed)
    with mg.default_dtype(dtype):
        model = sharpened(Transformer(TransformerConfig(**config)), seed)
    row, beside = rng.integers(4, 11, 5), rng.integers(4, 11, (others, 5 + left))
    same_in_company(model, row, beside, left, decoder, CLOSE[dtype])


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(one_stack_choices(), st.integers(0, 1000), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=12, derandomize=True)
def test_a_prompt_goes_on_alike_alone_and_in_company(decoder, dtype, config, seed, others, left):
    rng = np.random.default_rng(seed)
    with mg.default_dtype(dtype):
        model = sharpened(DecoderOnly(OneStackConfig(**config)), seed)
    row, beside = rng.integers(4, 13, 4), rng.integers(4, 13, (others, 4 + left))
    same_in_company(model, row, beside, left, decoder, CLOSE[dtype])


class Asked:
    """A decoder-only model told as one of two stacks: what is written follows the prompt instead of bos."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, target_in):
        assert target_in[0, 0] == BOS
        return self.model(np.concatenate([prompt, target_in[:, 1:]], axis=1))


@given(one_stack_choices(), st.integers(0, 1000), st.integers(1, 4))
@settings(max_examples=12)
def test_a_decoder_only_models_beam_search_is_the_one_described(config, seed, beams):
    with mg.default_dtype("float64"):
        model = sharpened(DecoderOnly(OneStackConfig(**config)), seed)
    prompt = np.random.default_rng(seed).integers(4, 13, (2, 4))
    found = beam_search(model, prompt, beams, LONGEST, 0.6)
    for row in range(2):
        expected = without_stopping(Asked(model), prompt[row], beams, LONGEST, 0.6)
        texts = [tuple(ids[ids != PAD].tolist()) for ids in found.ids[row][np.isfinite(found.scores[row])]]
        assert texts == [y for _, y in expected]
        assert all(EOS not in y[:-1] for y in texts)
        np.testing.assert_allclose(found.scores[row, : len(texts)], [score for score, _ in expected], atol=1e-10)
