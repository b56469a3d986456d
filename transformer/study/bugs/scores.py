"""Bugs of attention: scores, softmax, heads. The paper, section 3.2.

The first argument lists are those of the functions replaced; (B, H, T_q, D_h), (B, H, T_k, D_h) give (B, H, T_q, D_h).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import attention_steps, softmax
from transformer.attention import MultiHeadAttention
from transformer.cache import KeysValues
from transformer.masks import Mask
from transformer.study.bugs.bug import Bug, Place, valued
from transformer.study.figures import Words

Look = Callable[[str, mg.Tensor], mg.Tensor]

right_forward = MultiHeadAttention.forward
right_keys_and_values = MultiHeadAttention._keys_and_values


def unscaled(query: mg.Tensor, *others: Any) -> mg.Tensor:
    """Q K^T, without 1 / sqrt(D_h)."""
    return attention_steps(query * math.sqrt(query.shape[-1]), *others)


def scaled_by_d_model(query: mg.Tensor, *others: Any) -> mg.Tensor:
    """Q K^T / sqrt(D), D = H D_h."""
    return attention_steps(query * (1 / math.sqrt(query.shape[1])), *others)


def softmax_over_queries(
    query: mg.Tensor, key: mg.Tensor, value: mg.Tensor, mask: Mask | None, *others: Any
) -> mg.Tensor:
    """Each key's weights sum to 1, not each query's."""

    def pattern(scores: mg.Tensor) -> mg.Tensor:
        return softmax(scores, axis=-2, where=None if mask is None else np.broadcast_to(mask, scores.shape))

    return attention_steps(query, key, value, mask, *with_pattern(pattern, *others))


def mask_multiplied(query: mg.Tensor, key: mg.Tensor, value: mg.Tensor, mask: Mask | None, *others: Any) -> mg.Tensor:
    """Hidden scores become 0, not -inf: their weight is exp(0)."""

    def pattern(scores: mg.Tensor) -> mg.Tensor:
        return softmax(scores if mask is None else scores * mask)

    return attention_steps(query, key, value, None, *with_pattern(pattern, *others))


def masked_by_a_number(
    query: mg.Tensor, key: mg.Tensor, value: mg.Tensor, mask: Mask | None, *others: Any
) -> mg.Tensor:
    """Hidden scores become -1e9: where all are, the weights are all alike."""

    def pattern(scores: mg.Tensor) -> mg.Tensor:
        return softmax(scores if mask is None else mg.where(mask, scores, -1e9))

    return attention_steps(query, key, value, None, *with_pattern(pattern, *others))


def softmax_derived_elementwise(
    query: mg.Tensor, key: mg.Tensor, value: mg.Tensor, mask: Mask | None, *others: Any
) -> mg.Tensor:
    """dS = P (1 - P) dP: the diagonal of softmax's Jacobian, as if it were a sigmoid."""

    def pattern(scores: mg.Tensor) -> mg.Tensor:
        p = softmax(scores, where=mask)
        return valued(p, scores * (p * (1 - p)).detach())

    return attention_steps(query, key, value, mask, *with_pattern(pattern, *others))


def with_pattern(pattern: Callable[[mg.Tensor], mg.Tensor], bias: None, look: Look) -> tuple[None, Look]:
    """The last arguments of `attention_steps`, so that it goes on with another pattern, made from its scores."""
    scores: list[mg.Tensor] = []

    def looked(name: str, tensor: mg.Tensor) -> mg.Tensor:
        tensor = look(name, pattern(scores[0]) if name == "pattern" else tensor)
        if name == "scores":
            scores.append(tensor)
        return tensor

    return bias, looked


def heads_cut_by_reshape(x: mg.Tensor, heads: int) -> mg.Tensor:
    """(B, T, H D_h) -> (B, H, T, D_h) by reshape alone: a "head" is a run of words, whole."""
    *batch, length, width = x.shape
    return mg.reshape(x, (*batch, heads, length, width // heads))


def heads_merged_by_reshape(z: mg.Tensor) -> mg.Tensor:
    """(B, H, T, D_h) -> (B, T, H D_h) by reshape alone: numbers of other words come into a word's row."""
    *batch, heads, length, width = z.shape
    return mg.reshape(z, (*batch, length, heads * width))


def keys_and_values_swapped(self: MultiHeadAttention, *given: Any) -> KeysValues:
    """W_V makes the keys, W_K the values."""
    key, value = right_keys_and_values(self, *given)
    return value, key


def query_overwritten(self: MultiHeadAttention, x: mg.Tensor, memory: mg.Tensor, *others: Any) -> mg.Tensor:
    """In self-attention x gets the gradients of key and value; the query's is lost."""
    return right_forward(self, x.detach() if x is memory else x, memory, *others)


STEPS = Place(mg, "attention_steps")

BUGS = (
    Bug("scale missing", "forward", STEPS, unscaled, Words(
        "Scores are not divided by sqrt(d_head): the line that everybody forgets once.",
        "分数没有除以 sqrt(d_head)：人人都会漏一次的那一行。",
    )),
    Bug("scale by d_model", "forward", STEPS, scaled_by_d_model, Words(
        "Scores are divided by sqrt(d_model) in place of sqrt(d_head), as when the scale was written before the heads.",
        "分数除以 sqrt(d_model) 而不是 sqrt(d_head)：先写好缩放、后来才加多头时常见。",
    )),
    Bug("softmax over queries", "forward", STEPS, softmax_over_queries, Words(
        "Softmax runs over the queries' axis (dim=-2, or dim=1 after a reshape): a key's weights sum to 1.",
        "softmax 沿查询轴归一化（写成 dim=-2，或变形后的 dim=1）：每个键的权重之和为 1。",
    )),
    Bug("mask multiplied", "forward", STEPS, mask_multiplied, Words(
        "The mask multiplies the scores before softmax: what is hidden has the score 0 and the weight exp(0).",
        "掩码在 softmax 之前与分数相乘：被遮住的分数成了 0，权重成了 exp(0)。",
    )),
    Bug("mask is -1e9", "forward", STEPS, masked_by_a_number, Words(
        "Hidden scores are set to -1e9: a query that may see nothing at all sees all of it evenly.",
        "被遮住的分数设为 -1e9：一个什么都不许看的查询，反而平均地看到了一切。",
    )),
    Bug("softmax derived elementwise", "gradient", STEPS, softmax_derived_elementwise, Words(
        "Softmax's backward is P (1 - P), the sigmoid's: the rest of its Jacobian is forgotten.",
        "softmax 的反向写成了 P (1 - P)，那是 sigmoid 的：雅可比矩阵的非对角部分丢了。",
    )),
    Bug("heads cut by reshape", "forward", Place(mg, "split_heads"), heads_cut_by_reshape, Words(
        "Heads are split by view(B, H, T, d) without the transpose: a head gets whole words in place of parts of each.",
        "分头时直接 view(B, H, T, d)，没有转置：一个头拿到的是若干整词，而不是每个词的一部分。",
    )),
    Bug("heads merged by reshape", "forward", Place(mg, "merge_heads"), heads_merged_by_reshape, Words(
        "Heads are put together by view(B, T, H d) without the transpose back: words are mixed up.",
        "合并各头时直接 view(B, T, H d)，没有转置回来：不同词的数混在了一起。",
    )),
    Bug("keys and values swapped", "forward", Place(MultiHeadAttention, "_keys_and_values"), keys_and_values_swapped,
        Words(
            "Keys and values change places, as with (key, value, query) and (query, value, key) argument orders.",
            "键和值对调：参数顺序 (key, value, query) 与 (query, value, key) 混用时常见。",
        )),
    Bug("query's gradient overwritten", "gradient", Place(MultiHeadAttention, "forward"), query_overwritten, Words(
        "x goes into query, key and value, and its gradient is written with = where += is meant: the query's is lost.",
        "x 同时进入查询、键、值，梯度却用 = 而不是 += 写入：查询的那一份丢了。",
    )),
)  # fmt: skip
