"""Bugs of embeddings, positions and the tied projection. The paper, sections 3.4 and 3.5."""

from typing import Any

import numpy as np

import minigrad as mg
import transformer.model
from transformer.activations import noted
from transformer.layers import TiedProjection, TokenEmbedding
from transformer.masks import Ids, Mask
from transformer.positions import PositionalEncoding
from transformer.study.bugs.bug import Bug, Place
from transformer.study.figures import Words
from transformer.vocabulary import PAD

right_embedding = TokenEmbedding.forward
right_positions = PositionalEncoding.forward


def unscaled(self: TokenEmbedding, ids: Ids) -> mg.Tensor:
    """Word vectors, not times sqrt(D)."""
    return noted(self, "out", mg.embedding(self.weight, self.checked(ids), 1.0, ids != PAD))


def last_place_alone(self: TokenEmbedding, ids: Ids) -> mg.Tensor:
    """table.grad[ids] += g in NumPy: of a word that stands at several places, the last alone counts."""
    vectors = right_embedding(self, ids)
    backward = ids.reshape(-1)[::-1]
    last = np.zeros(ids.size, bool)
    last[ids.size - 1 - np.unique(backward, return_index=True)[1]] = True
    return mg.where(last.reshape(*ids.shape, 1), vectors, vectors.detach())


def tied_once(self: TiedProjection, x: mg.Tensor) -> mg.Tensor:
    """The table gets its gradient as embedding, none as output projection."""
    return mg.linear(x, self.weight.detach().T, self.bias)


def no_positions(self: PositionalEncoding, x: mg.Tensor, places: Ids, rng: Any = None) -> mg.Tensor:
    """x, then dropout."""
    return noted(self, "out", mg.nn.dropout(noted(self, "sum", x), self.dropout, rng))


def positions_twice(self: PositionalEncoding, x: mg.Tensor, places: Ids, rng: Any = None) -> mg.Tensor:
    """x + 2 PE, then dropout."""
    return right_positions(self, right_positions(self, x, places), places, rng)


def one_place_on(places: Ids, count: int) -> Ids:
    """Target words are counted from 1, the source's from 0."""
    return places[..., places.shape[-1] - count :] + 1


def from_the_start(places: Ids, count: int) -> Ids:
    """With a cache each new word is called the first."""
    return places[..., :count]


def padding_counted(words: Mask) -> Ids:
    """A word's place is its column."""
    return np.arange(words.shape[1])


EMBEDDING = Place(TokenEmbedding, "forward")
POSITIONS = Place(PositionalEncoding, "forward")
PLACES = Place(transformer.model, "after")

BUGS = (
    Bug("sqrt(d_model) missing", "forward", EMBEDDING, unscaled, Words(
        "Word vectors are not multiplied by sqrt(d_model): beside the positions they are small.",
        "词向量没有乘 sqrt(d_model)：与位置编码相比太小。",
    )),
    Bug("repeated words overwritten", "gradient", EMBEDDING, last_place_alone, Words(
        "table.grad[ids] += g counts a repeated word once: NumPy's fancy assignment needs np.add.at.",
        "table.grad[ids] += g 对重复的词只算一次：NumPy 的花式赋值要用 np.add.at。",
    )),
    Bug("tied weight counted once", "gradient", Place(TiedProjection, "forward"), tied_once, Words(
        "A table that is embedding and output projection at once gets the gradient of only one of them.",
        "同一张表既作词嵌入又作输出投影，却只得到其中一处的梯度。",
    )),
    Bug("positions missing", "forward", POSITIONS, no_positions, Words(
        "Nothing tells places apart: the encoder reads a bag of words.",
        "没有任何东西区分位置：编码器读到的是一袋词。",
    )),
    Bug("positions added twice", "forward", POSITIONS, positions_twice, Words(
        "Positions are added in the embedding and once more in the stack.",
        "位置编码在嵌入处加了一次，在编码器里又加了一次。",
    )),
    Bug("target's positions one on", "forward", PLACES, one_place_on, Words(
        "The target's places count from 1 and the source's from 0, because bos was counted.",
        "目标句的位置从 1 数起，源句从 0 数起：因为把 bos 也算进去了。",
    )),
    Bug("cache forgets the place", "forward", PLACES, from_the_start, Words(
        "Decoding with a cache, each new word is given the first place: training never runs that line.",
        "带缓存解码时，每个新词都被当作第一个位置：训练时从不经过这一行。",
    )),
    Bug("padding counted as place", "forward", Place(transformer.model, "places_of"), padding_counted, Words(
        "Places are columns: with padding on the left a sentence stands elsewhere than alone.",
        "位置就是列号：左侧有填充时，同一句话的位置与单独时不同。",
    )),
)  # fmt: skip
