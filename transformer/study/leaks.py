"""Whether a model sees what it must not: words to come, and padding. By derivative, whole, and by value, bit by bit.

What the logits at t owe to the input at u is the block d logits_t / d x_u of the Jacobian, (V, D), x the embeddings. In
a decoder it is 0 for every u > t, and for every u where padding stands: not small, but 0, since a masked weight is 0.
Shapes: T lengths, V classes, D d_model.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.activations import patch
from transformer.masks import Ids, Mask
from transformer.model import Transformer
from transformer.one_stack import DecoderOnly, EncoderOnly
from transformer.study.figures import Grid, Words
from transformer.study.trace import Model, in_float64
from transformer.vocabulary import PAD, as_ids

Array = npt.NDArray[np.float64]
AnyModel: TypeAlias = Transformer | EncoderOnly | DecoderOnly
Inputs = dict[str, Ids]
"""The ids (N, T) that go in, by the name of the embedding that reads them, in the order of the model's arguments."""

SIDES = {
    "source_embedding": Words("source", "源语言"),
    "target_embedding": Words("target", "目标语言"),
    "embedding": Words("input", "输入"),
}


class Place(NamedTuple):
    """The logits at position `logits` see position `at` of an input: "source", "target" or "input"."""

    side: str
    logits: int
    at: int


@dataclass(frozen=True, eq=False)
class Blocks:
    """What the logits at each position owe to each position of one input; all (T of the logits, T of the input).

    norms, largest: the root of the sum of squares of d logits_t / d x_u, and its largest number. moved: whether a bit
    of logits_t is another where another word stands at u, or, for padding, where x_u is another vector. zero: what
    must be 0, and may not move. words: (T,), which positions of the logits are words and not padding.
    """

    side: Words
    norms: Array
    largest: Array
    moved: Mask
    zero: Mask
    words: Mask

    @property
    def leaking(self) -> Mask:
        """What is not 0, or moves, and must not."""
        found: Mask = self.zero & ((self.largest != 0) | self.moved)
        return found

    def figure(self, rows: Sequence[str], columns: Sequence[str]) -> Grid:
        """The norms; hatched what must be 0 and is, so that a leak stands in numbers among them.

        Logits at padding, which nobody reads, are left out, unless something leaks there.
        """
        shown = self.words | self.leaking.any(axis=1)
        return Grid(
            Words(
                f"How much each position's logits owe to the {self.side.en} words: |d logits / d embedding|",
                f"每个位置的 logits 取决于{self.side.zh}各词的程度：|d logits / d 词嵌入|",
            ),
            [row for row, is_shown in zip(rows, shown, strict=True) if is_shown],
            columns,
            self.norms[shown],
            hidden=(self.zero & ~self.leaking)[shown],
            row_axis=Words("logits at", "logits 的位置"),
            column_axis=Words(f"{self.side.en} word", f"{self.side.zh}词"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Leaks:
    """What `leaks` found: the blocks of the Jacobian by the input's name, "source" and "target", or "input"."""

    blocks: dict[str, Blocks]

    @property
    def places(self) -> list[Place]:
        """Where something is seen that must not be."""
        return [
            Place(name, int(t), int(u)) for name, blocks in self.blocks.items() for t, u in np.argwhere(blocks.leaking)
        ]

    @property
    def clean(self) -> bool:
        """Whether all that must be 0 is, and nothing moves that must not."""
        return not self.places

    @property
    def largest(self) -> float:
        """The largest number in what must be 0."""
        return max(float(blocks.largest.max(initial=0, where=blocks.zero)) for blocks in self.blocks.values())

    def figure(
        self, source_words: Sequence[str] | None = None, target_words: Sequence[str] | None = None
    ) -> tuple[Grid, ...]:
        """A heat map for each input, the target's first. Words: of the sentence; positions where they are not given."""
        words = {"source": source_words, "target": target_words, "input": source_words}
        named = {
            name: list(words[name] or map(str, range(blocks.norms.shape[1]))) for name, blocks in self.blocks.items()
        }
        rows = next(reversed(named.values()))
        return tuple(blocks.figure(rows, named[name]) for name, blocks in reversed(self.blocks.items()))

    def __repr__(self) -> str:
        blocks = sum(int(blocks.zero.sum()) for blocks in self.blocks.values())
        if self.clean:
            return f"Leaks(none: all {blocks} blocks that must be 0 are, and nothing that must not move does)"
        told = "; ".join(f"logits {t} see {name} {u}" for name, t, u in self.places[:5])
        more = f"; and {len(self.places) - 5} more" if len(self.places) > 5 else ""
        return f"Leaks({len(self.places)} of {blocks} blocks, the largest number {self.largest:.3g}: {told}{more})"


def leaks(model: Model, source: Any = None, target_in: Any = None) -> Leaks:
    """What a model sees and must not see, on one sentence: ids (1, T_s), (1, T_t), best with padding in both.

    0 must be: d logits_t / d target_u for u > t; d logits_t / d padding, source and target, for words t. The Jacobian
    is whole: one backward pass for each t, in which each of the V logits has a copy of the sentence of its own.
    And by value: each word is replaced by another, the vector of each padding by that of a word; no bit may change of
    what does not see it.
    A model of one stack takes its ids as `source`: every word sees every word in EncoderOnly, and in DecoderOnly as in
    a decoder. Without ids: a sentence of 7 and 8 positions, padding at the end and between.
    A model in float64 is looked at as it is, `model.patch` too; of any other a copy in float64.
    Raises ValueError for several sentences, and where an input is missing.
    """
    if any(parameter.dtype != np.float64 for parameter in model.parameters()):
        model = in_float64(model)
    inputs = _inputs(model, source, target_in)
    sizes = _derivatives(model, inputs)
    words = list(inputs.values())[-1][0] != PAD  # the last input is where the logits stand
    found: dict[str, Blocks] = {}
    for name, ids in inputs.items():
        zero = words[:, None] & (ids[0] == PAD)
        if name == "target_embedding" or isinstance(model, DecoderOnly):
            zero |= ~np.tri(ids.shape[1], dtype=np.bool_)
        found[SIDES[name].en] = Blocks(SIDES[name], *sizes[name], _moved(model, inputs, name), zero, words)
    return Leaks(found)


def _inputs(model: AnyModel, source: Any, target_in: Any) -> Inputs:
    if isinstance(model, Transformer):
        if (source is None) != (target_in is None):
            raise ValueError("leaks: a Transformer reads a source and a target; give both, or neither")
        if source is None:
            source = _example(model.config.source_vocab, 7, model.config.max_length)
            target_in = _example(model.config.target_vocab, 8, model.config.max_length)
        given = {"source_embedding": as_ids("source", source), "target_embedding": as_ids("target_in", target_in)}
    else:
        if target_in is not None:
            raise ValueError(f"leaks: {type(model).__name__} has one input; give it as `source`, without `target_in`")
        ids = _example(model.config.vocab, 7, model.config.max_length) if source is None else source
        given = {"embedding": as_ids("source", ids)}
    for name, ids in given.items():
        if len(ids) != 1:
            raise ValueError(f"leaks: {len(ids)} sentences in {SIDES[name].en}; give one, as ids of shape (1, T)")
    return given


def _example(vocab: int, length: int, longest: int) -> Ids:
    """A sentence of words other than each other, as far as the vocabulary goes, with padding between and at its end."""
    ids = np.arange(min(length, longest)) % (vocab - 1) + 1
    ids[2::5] = ids[-1] = PAD
    return ids[None]


def _derivatives(model: AnyModel, inputs: Inputs) -> dict[str, tuple[Array, Array]]:
    """For each input (norms, largest numbers) of the blocks of the Jacobian, (T of the logits, T of the input) each."""
    *_, asking = inputs.values()
    length, classes = asking.shape[1], _classes(model)
    copies = {name: np.repeat(ids, classes, axis=0) for name, ids in inputs.items()}
    vectors = {name: mg.Tensor(vector, requires_grad=True) for name, vector in _vectors(model, copies).items()}
    with mg.enable_grad():
        logits = _run(model, copies, vectors)
    sizes = {name: np.zeros((2, length, ids.shape[1])) for name, ids in inputs.items()}
    every = np.arange(classes)
    for t in range(length):
        cotangent = np.zeros(logits.shape)
        cotangent[every, t, every] = 1
        for name, found in zip(inputs, mg.gradients(logits, list(vectors.values()), cotangent), strict=True):
            block = found.data  # (V, T, D): d logits_t / d x_u for all u
            sizes[name][:, t] = np.sqrt(np.square(block).sum(axis=(0, 2))), np.abs(block).max(axis=(0, 2))
    return {name: (norms, largest) for name, (norms, largest) in sizes.items()}


def _moved(model: AnyModel, inputs: Inputs, name: str) -> Mask:
    """Whether a bit of the logits at t changes where position u of one input does: (T of the logits, T of the input).

    Copy u of the sentence has position u changed, and stands in the batch where it stood unchanged: sums in the same
    order.
    """
    count = inputs[name].shape[1]
    every = np.arange(count)
    before = {side: np.repeat(ids, count, axis=0) for side, ids in inputs.items()}
    after = before | {name: before[name].copy()}
    words = inputs[name][0] != PAD
    after[name][every, every] = np.where(words, inputs[name][0] % (_count(model, name) - 1) + 1, PAD)
    vectors = _vectors(model, after)
    a_word = _vectors(model, {name: np.full((1, 1), 1)})[name][0, 0]
    vectors[name][every[~words], every[~words]] = a_word
    with mg.no_grad():
        was = _run(model, before, _vectors(model, before)).data
        now = _run(model, after, vectors).data
    found: Mask = (was != now).any(axis=-1).T
    return found


def _run(model: AnyModel, ids: Inputs, vectors: Mapping[str, Any]) -> mg.Tensor:
    """The logits, with these vectors in place of what the embeddings make of the ids."""
    with ExitStack() as stack:
        for name, vector in vectors.items():
            embedding = getattr(model, name)
            stack.enter_context(patch(embedding, {f"{embedding.path}.out": vector}))
        logits: mg.Tensor = model(*ids.values())
    return logits


def _vectors(model: AnyModel, ids: Inputs) -> dict[str, Array]:
    with mg.no_grad():
        return {name: np.array(getattr(model, name)(rows).data) for name, rows in ids.items()}


def _count(model: AnyModel, name: str) -> int:
    """How many ids an embedding knows."""
    return len(getattr(model, name).weight)


def _classes(model: AnyModel) -> int:
    return model.config.target_vocab if isinstance(model, Transformer) else model.config.vocab
