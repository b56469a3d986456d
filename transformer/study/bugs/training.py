"""Bugs of training: which words are asked for, the loss, the optimiser. The paper, section 5."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import cross_entropy
from transformer.batching import Batch, make_batch, pad
from transformer.study.bugs import lesson
from transformer.study.bugs.bug import Bug, Place
from transformer.study.figures import Words
from transformer.vocabulary import BOS, EOS

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]

right_schedule = mg.optim.warmup_linear
right_update = mg.optim.Adam.update


def not_shifted(pairs: Pairs) -> Batch:
    """The decoder reads the very words it is asked for."""
    batch = make_batch(pairs)
    return Batch(batch.source, batch.target_out, batch.target_out)


def shifted_twice(pairs: Pairs) -> Batch:
    """The decoder is asked for the word after the next."""
    target_in = pad([[BOS, *target[:-1]] for _, target in pairs])
    return Batch(make_batch(pairs).source, target_in, pad([[*target[1:], EOS] for _, target in pairs]))


def padding_counted(logits: mg.Tensor, targets: Any, ignore_index: int | None = None, **others: Any) -> mg.Tensor:
    """Padding is a word to be learnt."""
    return cross_entropy(logits, targets, **others)


def divided_by_all(logits: mg.Tensor, targets: Any, **others: Any) -> mg.Tensor:
    """The sum over words divided by the number of places, padding among them."""
    total = cross_entropy(logits, targets, **others, reduction="sum")
    return total / int(np.size(targets))


def smoothing_spread(logits: mg.Tensor, targets: Any, label_smoothing: float = 0.0, **others: Any) -> mg.Tensor:
    """The target distribution is (1 - e) onehot + e on every class, in place of e / V: its sum is not 1."""
    sharp = cross_entropy(logits, targets, **others)
    even = cross_entropy(logits, targets, **others, label_smoothing=1.0)
    out: mg.Tensor = (1 - label_smoothing) * sharp + label_smoothing * logits.shape[-1] * even
    return out


def never_zeroed(self: mg.optim.Optimizer) -> None:
    """The gradients of all steps add up."""


def not_corrected(self: mg.optim.Adam, new: Any, old: Any, g: Any, moments: Any, count: int) -> None:
    """m and v as they are: after very many steps the corrections are 1."""
    right_update(self, new, old, g, moments, 10**9)


def counted_from_0(peak: float, warmup_steps: int, total_steps: int) -> Callable[[int], float]:
    """The first step has the rate 0, every other that of the step before."""
    rate = right_schedule(peak, warmup_steps, total_steps)
    return lambda step: rate(step - 1) if step > 1 else 0.0


BATCH = Place(lesson, "make_batch")
LOSS = Place(mg, "cross_entropy")

BUGS = (
    Bug("target not shifted", "training", BATCH, not_shifted, Words(
        "The decoder reads the words that it is to predict: it learns to copy its input.",
        "解码器读到的正是要它预测的词：它学会的是照抄输入。",
    )),
    Bug("target shifted twice", "training", BATCH, shifted_twice, Words(
        "Shifted once in the data and once more in the loss: the word after the next is asked for.",
        "数据里移了一位，损失里又移一位：要它预测的是再下一个词。",
    )),
    Bug("loss counts padding", "training", LOSS, padding_counted, Words(
        "ignore_index is not set: padding is to be predicted as well, which is easy, so the loss looks better.",
        "没有设置 ignore_index：填充也要预测，这很容易，所以损失更好看。",
    )),
    Bug("mean over padding too", "training", LOSS, divided_by_all, Words(
        "The sum over words is divided by all places: a sentence weighs less beside a longer one.",
        "对词求和后除以全部位置数：与更长的句子同批时，一句话的分量变轻。",
    )),
    Bug("smoothing not divided by V", "training", LOSS, smoothing_spread, Words(
        "Label smoothing puts e on every word in place of e / V.",
        "标签平滑给每个词 e，而不是 e / V。",
    )),
    Bug("zero_grad forgotten", "training", Place(mg.optim.Optimizer, "zero_grad"), never_zeroed, Words(
        "Gradients of all earlier steps are added to this one's.",
        "之前每一步的梯度都加到了这一步上。",
    )),
    Bug("Adam not corrected", "training", Place(mg.optim.Adam, "update"), not_corrected, Words(
        "Adam without bias correction: the first steps have 0.7 to 1.5 times their length, 3 times with beta 0.999.",
        "Adam 没有偏差修正：起初步长是应有的 0.7 到 1.5 倍；beta 为 0.999 时是三倍。",
    )),
    Bug("warm-up from step 0", "training", Place(mg.optim, "warmup_linear"), counted_from_0, Words(
        "The schedule counts steps from 0: the first step has the rate 0 (in the paper's own formula, 1/0).",
        "学习率从第 0 步数起：第一步的学习率为 0（在论文的公式里则是 1/0）。",
    )),
)  # fmt: skip
