"""Configs and batches that hypothesis draws: every named choice with every other, and no two lengths equal."""

import numpy as np
from hypothesis import strategies as st

from transformer.config import CHOICES
from transformer.vocabulary import BOS, PAD

SHAPE = dict(source_vocab=11, target_vocab=13, d_model=16, heads=4, layers=2, d_ff=10, dropout=0.0, max_length=16)
FREE = sorted(set(CHOICES) - {"cross_positions", "tied"})


@st.composite
def choices(draw, **fixed):
    """What a config can be told to do: fields of TransformerConfig, `fixed` among them, that go together."""
    chosen = {name: draw(st.sampled_from(CHOICES[name])) for name in FREE}
    chosen |= {"kv_heads": draw(st.sampled_from([0, 1, 2])), "bias": draw(st.booleans())} | fixed
    halved = chosen["kv_heads"] != 1  # one head of keys has no halves
    chosen["cross_positions"] = draw(st.sampled_from(CHOICES["cross_positions"][: 3 if halved else 2]))
    chosen["tied"] = draw(st.sampled_from(CHOICES["tied"]))
    return SHAPE | chosen | ({"source_vocab": 13} if chosen["tied"] == "all" else {}) | fixed


@st.composite
def one_stack_choices(draw, **fixed):
    """The same for OneStackConfig."""
    chosen = {name: draw(st.sampled_from(CHOICES[name])) for name in FREE}
    chosen |= {"kv_heads": draw(st.sampled_from([0, 1, 2])), "bias": draw(st.booleans())}
    chosen["tied"] = draw(st.sampled_from(["none", "output"]))
    return {name: SHAPE[name] for name in SHAPE if "vocab" not in name} | {"vocab": 13} | chosen | fixed


@st.composite
def sentences(draw, rows=3):
    """Rows of (source words, target words that begin with bos, what follows each), lengths drawn, none padded."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for _ in range(rows):
        source, target = rng.integers(4, 11, draw(st.integers(1, 6))), rng.integers(4, 13, draw(st.integers(1, 5)))
        found.append((source, np.append(BOS, target[:-1]), target))
    return found


def arranged(rows, columns):
    """Rows of ids in an array of padding: the words of row i stand in the columns `columns[i]`."""
    array = np.full((len(rows), 1 + max(int(c[-1]) for c in columns)), PAD)
    for place, (ids, where) in enumerate(zip(rows, columns, strict=True)):
        array[place, where] = ids
    return array


def columns(rng, length, width, where):
    """Where `length` words stand among `width`: padding is left of them, right, or anywhere between them."""
    if where == "inside":
        return np.sort(rng.choice(width, length, replace=False))
    return np.arange(length) + (width - length if where == "left" else 0)


def batch_of(rows):
    """(source, target_in, target_out) of `sentences`, padded on the right to the longest."""
    return tuple(arranged(ids, [np.arange(len(each)) for each in ids]) for ids in zip(*rows, strict=True))
