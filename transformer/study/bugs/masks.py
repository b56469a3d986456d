"""Bugs of masks: who may see whom. The paper, section 3.2.3. Boolean, True = may attend."""

from typing import Any

import numpy as np

import minigrad as mg
import transformer.model
from transformer.layers import EncoderLayer, View
from transformer.masks import Mask, padding_mask
from transformer.study.bugs.bug import Bug, Place
from transformer.study.figures import Words

right_forward = EncoderLayer.forward


def causal_missing(words: Mask, length: int) -> Mask:
    """Every position sees every word."""
    return padding_mask(words)


def sees_the_next(words: Mask, length: int) -> Mask:
    """The diagonal one too high (triu with the wrong k): position t sees t + 1."""
    return moved(words, length, 1)


def does_not_see_itself(words: Mask, length: int) -> Mask:
    """The diagonal one too low: position t sees up to t - 1, the first nothing."""
    return moved(words, length, -1)


def moved(words: Mask, length: int, by: int) -> Mask:
    """The decoder's mask, its diagonal moved: (B, 1, length, T)."""
    total = words.shape[1]
    return np.asarray(padding_mask(words) & np.tri(length, total, total - length + by, dtype=np.bool_))


def sees_what_follows(words: Mask, length: int) -> Mask:
    """Transposed: position t sees itself and all that follows."""
    total = words.shape[1]
    return np.asarray(padding_mask(words) & ~np.tri(length, total, total - length - 1, dtype=np.bool_))


def padding_seen(words: Mask) -> Mask:
    """Padding is a word as any other."""
    return np.ones_like(padding_mask(words))


def polarity_inverted(words: Mask) -> Mask:
    """True where nothing stands."""
    return ~padding_mask(words)


def on_the_query_axis(self: EncoderLayer, x: mg.Tensor, view: View, *others: Any) -> mg.Tensor:
    """(B, 1, T, 1): padding asks nothing, and answers everybody."""
    mask = None if view.mask is None else view.mask.swapaxes(-1, -2)
    return right_forward(self, x, View(mask, view.relative), *others)


DECODER = Place(transformer.model, "decoder_mask")
PADDING = Place(transformer.model, "padding_mask")

BUGS = (
    Bug("causal mask missing", "forward", DECODER, causal_missing, Words(
        "The decoder sees the whole target, so in training it copies the answer.",
        "解码器看得到整个目标句，训练时只要照抄答案。",
    )),
    Bug("sees the next word", "forward", DECODER, sees_the_next, Words(
        "The causal mask's diagonal is one too high (triu with k=2 for k=1): each position sees the next.",
        "因果掩码的对角线高了一格（triu 的 k=1 写成 k=2）：每个位置看得到下一个词。",
    )),
    Bug("does not see itself", "forward", DECODER, does_not_see_itself, Words(
        "The causal mask's diagonal is one too low (triu with k=0): no position sees itself, the first sees nothing.",
        "因果掩码的对角线低了一格（triu 的 k=0）：每个位置看不到自己，第一个什么也看不到。",
    )),
    Bug("causal mask transposed", "forward", DECODER, sees_what_follows, Words(
        "triu in place of tril: each position sees itself and what follows, not what went before.",
        "tril 写成 triu：每个位置看到自己和后面的词，看不到前面的。",
    )),
    Bug("padding mask missing", "forward", PADDING, padding_seen, Words(
        "Encoder and cross-attention attend to padding: an answer depends on the batch that it is in.",
        "编码器和交叉注意力会注意到填充：同一句话的结果取决于它在哪个批次里。",
    )),
    Bug("mask polarity inverted", "forward", PADDING, polarity_inverted, Words(
        "True means may attend here and is hidden there (as in torch's key_padding_mask): padding alone is seen.",
        "这里 True 表示“可以看”，那里表示“被遮住”（如 torch 的 key_padding_mask）：结果只看得到填充。",
    )),
    Bug("mask on the query axis", "forward", Place(EncoderLayer, "forward"), on_the_query_axis, Words(
        "The padding mask is broadcast along the wrong axis (unsqueeze(-1)): padding is hidden as query, seen as key.",
        "填充掩码沿错误的轴广播（unsqueeze(-1)）：填充作为查询被遮住，作为键却看得见。",
    )),
)  # fmt: skip
