"""Small models and batches that the tests share: every dimension distinct, padding on, gains and biases random."""

import numpy as np

import minigrad as mg
from transformer import Transformer, TransformerConfig
from transformer.vocabulary import BOS, PAD

SHAPE = dict(source_vocab=11, target_vocab=13, d_model=12, heads=3, layers=2, d_ff=20, dropout=0.0)


def small_model(seed=1, dtype="float64", **changes):
    """A model of 2+2 layers whose every parameter is random, so that no gain is 1 and no bias is 0."""
    with mg.default_dtype(dtype):
        model = Transformer(TransformerConfig(**(SHAPE | changes)), rng=seed)
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape)
    return model


def small_batch(seed=2, batch=3, source_length=5, target_length=7, source_vocab=11, target_vocab=13):
    """(source, target_in, target_out) with padding at the end of one row and in the middle of another."""
    rng = np.random.default_rng(seed)
    source = rng.integers(4, source_vocab, (batch, source_length))
    target = rng.integers(4, target_vocab, (batch, target_length + 1))
    source[0, -2:] = PAD
    source[1, 1] = PAD
    target[1, -3:] = PAD
    target[:, 0] = BOS
    return source, target[:, :-1], target[:, 1:]
