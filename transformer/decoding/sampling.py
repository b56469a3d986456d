"""Sampling: each next word is drawn at random, from the model's distribution or from its likeliest part.

Shapes: B rows, L longest length written, V target vocabulary, T_s source length.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.decoding.writer import CanWrite, Floats, Written, written_by
from transformer.masks import Ids


def sample(
    model: CanWrite,
    source: Any,
    rng: int | np.random.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    max_length: int = 64,
) -> Written:
    """Draw one translation a row, word by word: (B, T_s) -> (B, L), (B, L).

        q(v) = softmax(logits / temperature) over what `top_k` and `top_p` keep

    A row ends with eos, if it came to one, and is padded after it; bos and padding are never written. temperature near
    0 is greedy decoding, and so is top_k 1. See `distribution` for what is kept.

    The log-probabilities are the model's own, log softmax(logits) of the word drawn, before temperature and truncation:
    they tell how likely the text is, not how likely this sampler was to draw it. A row's sum is log P(y | x).

    rng: a seed or generator. Row i draws from its i-th child (`Generator.spawn`), one number a word, so what a row
    writes does not depend on the other rows; a generator's next call has other children.

    Raises ValueError for a temperature that is not positive and finite, top_k below 1, top_p outside (0, 1], max_length
    below 1.
    """
    _check(temperature, top_k, top_p)
    children = np.random.default_rng(rng).spawn(len(source))

    def choose(log_p: Floats, rows: NDArray[np.intp]) -> Ids:
        uniform = np.array([children[row].random() for row in rows])
        return draw(distribution(log_p, temperature, top_k, top_p), uniform)

    return written_by(model, source, max_length, choose)


def distribution(
    log_p: Floats, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Floats:
    """What a word is drawn from: (B, V) log-probabilities -> (B, V) probabilities.

    First p = softmax(log_p / temperature). Then top_k: the k likeliest; more than V is all. Then top_p, of what is left
    and made to sum to 1 again: the smallest set of likeliest words whose probabilities sum to at least p, so never
    none ("nucleus"). Equally likely words rank by id, the smaller first. What is kept is made to sum to 1.
    Source: Fan et al. 2018 (top-k); Holtzman et al. 2020, section 3.1 (nucleus).
    """
    p = tempered(log_p, temperature)
    order = np.argsort(-p, axis=-1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=-1)
    if top_k is not None:
        ranked[:, top_k:] = 0.0
    if top_p is not None:
        ranked = _nucleus(ranked, top_p)
    kept = np.empty_like(p)
    np.put_along_axis(kept, order, ranked / ranked.sum(axis=-1, keepdims=True), axis=-1)
    return kept


def tempered(log_p: Floats, temperature: float) -> Floats:
    """softmax(log_p / temperature): (B, V) -> (B, V). However small the temperature, nothing becomes NaN."""
    with np.errstate(over="ignore"):  # far below the likeliest: -inf, so probability 0
        scaled = (log_p - log_p.max(axis=-1, keepdims=True)) / temperature
    unnormalised = np.exp(scaled)
    return np.asarray(unnormalised / unnormalised.sum(axis=-1, keepdims=True))


def draw(p: Floats, uniform: Floats) -> Ids:
    """One id a row by inverting the cumulative distribution: (B, V), (B,) in [0, 1) -> (B,). Never one with p = 0.

    The id is the first v with p(0) + ... + p(v) > uniform.
    """
    cumulative = p.cumsum(axis=-1)
    threshold = np.minimum(uniform * cumulative[:, -1], np.nextafter(cumulative[:, -1], 0.0))
    return np.asarray((cumulative > threshold[:, None]).argmax(axis=-1))


def _nucleus(ranked: Floats, top_p: float) -> Floats:
    """Of probabilities that fall along the last axis (B, V): 0 for each before which the sum reached top_p of all."""
    cumulative = ranked.cumsum(axis=-1)
    reached = cumulative[:, :-1] >= top_p * cumulative[:, -1:]
    return np.concatenate([ranked[:, :1], np.where(reached, 0.0, ranked[:, 1:])], axis=-1)


def _check(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be positive and finite, not {temperature}; top_k=1 is greedy decoding")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")
