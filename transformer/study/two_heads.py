"""The paper's picture of two heads on one sentence (figures 3 to 5, "Attention Visualizations"), from our own model."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

import minigrad as mg
from transformer.study.figures import WordLinks, Words
from transformer.study.heads import words_for
from transformer.study.trace import Array, Trace


def two_heads(
    trace: Trace, source_words: Sequence[str], target_words: Sequence[str], attention: str | None = None
) -> WordLinks:
    """The two heads of one attention that look at the most different words, side by side.

    trace: of one sentence. source_words, target_words: of its source and its target_in, so that the latter begin with
    what stands for bos. attention: whose heads, such as "encoder.layers.1.self_attention"; None: of that in which two
    differ most. How much two differ: the mean over the queries of half the sum of |P - P'|, from 0 to 1.
    Raises ShapeError where the words are not as many as the ids, ValueError for more sentences than one and for an
    attention of one head, UnknownActivation for an attention that the model does not have.
    """
    if len(trace.source) != 1:
        raise ValueError(f"two_heads: the trace is of {len(trace.source)} sentences; give one of a single sentence")
    for name, words, ids in (("source", source_words, trace.source), ("target_in", target_words, trace.target_in)):
        if len(words) != ids.shape[1]:
            raise mg.ShapeError(f"two_heads: {len(words)} words for {name} of shape {ids.shape}")
    paths = (
        [attention]
        if attention
        else [name.removesuffix(".pattern") for name in trace.seen if name.endswith(".pattern")]
    )
    if trace.seen[f"{paths[0]}.pattern"].shape[1] < 2:
        raise ValueError(f"two_heads: {paths[0]} has one head")
    found = {path: most_different(trace.seen[f"{path}.pattern"].data[0]) for path in paths}
    path = max(found, key=lambda path: found[path][2])
    one, other, distance = found[path]
    pattern = trace.seen[f"{path}.pattern"].data[0]
    where = words_for(path)
    title = Words(
        f"Two heads of {where.en} on one sentence: {distance:.0%} of their weight lies on other words",
        f"{where.zh}的两个头看同一句话：{distance:.0%} 的权重落在不同的词上",
    )
    return WordLinks(
        title,
        source_words if path.startswith("encoder") else target_words,
        target_words if path.startswith("decoder") and path.endswith("self_attention") else source_words,
        {Words(f"head {n + 1}", f"头 {n + 1}"): pattern[n] for n in (one, other)},
    )


def most_different(pattern: Array) -> tuple[int, int, float]:
    """The two heads of (H, T_q, T_k), H >= 2, whose patterns differ most, and how much."""
    pairs = list(combinations(range(len(pattern)), 2))
    distances = [float(np.abs(pattern[a] - pattern[b]).sum(axis=-1).mean()) / 2 for a, b in pairs]
    best = int(np.argmax(distances))
    return *pairs[best], distances[best]
