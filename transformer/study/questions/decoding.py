"""A whole target at once, word by word, word by word with a cache: the same logits, for how much work.

Shapes: B = 1 sentence, T_s / T source and target length, V target vocabulary, D d_model, D_h a head's width.
"""

from collections.abc import Mapping

import numpy as np

import minigrad as mg
from transformer.activations import parsed
from transformer.model import Transformer
from transformer.study.figures import Lines, Table, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace


def parallel_training(subject: Subject) -> Answer:
    """Logits of every position from one pass against those of T passes, each over what stands before one word."""
    trace = subject.trace
    at_once = trace.seen["logits"].data[0]  # (T, V)
    step_by_step = np.array([_logits(trace, length)[-1] for length in range(1, len(at_once) + 1)])
    apart = np.abs(at_once - step_by_step).max(axis=-1)
    largest, size = f"{apart.max():.1e}", f"{np.abs(at_once).max():.3g}"
    steps = len(at_once)
    positions = steps * (steps + 1) // 2
    asked = trace.target[0]
    rows = [
        [word, f"{at_once[t, asked[t]]:.6f}", f"{step_by_step[t, asked[t]]:.6f}", f"{apart[t]:.1e}"]
        for t, word in enumerate(subject.target_words)
    ]
    question = Words(
        "Is decoding parallel in training? How can it be, if each word needs the one before?",
        "训练时解码是并行的吗？每个词都要用到前一个词，怎么并行？",
    )
    answer = Words(
        f"Yes: in training the words before are known, so all {steps} positions go through in one pass, and the "
        f"causal mask hides from each what comes after. Word by word, {steps} passes over {positions} positions give "
        f"the same logits: they differ by at most {largest}, the logits being up to {size}. Only writing is one word "
        "after the other, because there the word before is not known until it is written.",
        f"是的：训练时前面的词是已知的，所以 {steps} 个位置一次前向就全部算完，因果掩码让每个位置看不到后面。"
        f"逐词计算要 {steps} 次前向、{positions} 个位置，得到的 logits 相同：最多相差 {largest}，"
        f"而 logits 的大小可达 {size}。只有生成时才必须一个接一个，因为前一个词写出来之前谁也不知道。",
    )
    figures = (
        Table(
            Words(
                "The logit of each word, and the largest difference of all logits there",
                "每个词的 logit，以及该处所有 logit 的最大差",
            ),
            [
                Words("word", "词"),
                Words("one pass", "一次算完"),
                Words("word by word", "逐词计算"),
                Words("largest difference", "最大的差"),
            ],
            rows,
        ),
    )
    return Answer(16, question, answer, figures)


def key_value_cache(subject: Subject) -> Answer:
    """Logits with keys and values kept, a position a step, against one pass; and the multiply-adds of every step."""
    trace = subject.trace
    model, source, target_in = trace.model, trace.source, trace.target_in
    steps = target_in.shape[1]
    with mg.no_grad():
        memory = model.encode(source)
        cache = model.new_cache()
        rows, cached, uncached = [], [], []
        for step in range(steps):
            with model.capture() as new:
                rows.append(model.decode(target_in[:, step : step + 1], memory, source, cache).data[0, -1])
            with model.capture() as all_again:
                model.decode(target_in[:, : step + 1], memory, source)
            cached.append(multiply_adds(model, new))
            uncached.append(multiply_adds(model, all_again))
    apart = f"{np.abs(np.array(rows) - trace.seen['logits'].data[0]).max():.1e}"
    last, last_again, saved = f"{cached[-1]:,}", f"{uncached[-1]:,}", f"{sum(uncached) / sum(cached):.2g}"
    question = Words("Is the KV cache exact, or an approximation?", "KV 缓存是精确的，还是近似的？")
    answer = Words(
        "Exact: with a causal mask no later word can change the keys and values of an earlier one, so they may be "
        f"kept. Here the logits with and without it differ by at most {apart}, which is rounding. A step then "
        f"computes 1 new position instead of all: word {steps} costs {last} multiply-adds with the cache and "
        f"{last_again} without; without it the whole sentence costs {saved} times as many.",
        "是精确的：有因果掩码，后面的词就改变不了前面的键和值，所以可以存起来。这里用与不用缓存，"
        f"logits 最多相差 {apart}，这只是舍入误差。每一步只算 1 个新位置，不必全部重算："
        f"第 {steps} 个词用缓存要 {last} 次乘加，不用要 {last_again} 次；整句话不用缓存的乘加次数是用缓存的 {saved} "
        "倍。",
    )
    figures = (
        Lines(
            Words("Multiply-adds of the decoder for each word", "解码器写每个词的乘加次数"),
            [float(step) for step in range(1, steps + 1)],
            {
                Words("without a cache", "不用缓存"): np.array(uncached, float),
                Words("with a cache", "用缓存"): np.array(cached, float),
            },
            x_axis=Words("word", "第几个词"),
            y_axis=Words("multiply-adds", "乘加次数"),
        ),
    )
    return Answer(17, question, answer, figures)


def multiply_adds(model: Transformer, seen: Mapping[str, mg.Tensor]) -> int:
    """Of all matrix products that made the activations which were seen: their sizes times what each element sums over.

    Norms, softmax and sums are not counted: they are a small part.
    """
    config, total = model.config, 0
    for name, activation in seen.items():
        path, _, made = parsed(name)[0].rpartition(".")
        if made in ("query", "key", "value", "inner", "gate", "logits") or (
            made == "out" and path.endswith("attention")
        ):
            total += activation.size * config.d_model
        elif made == "out" and path.endswith("feed_forward"):
            total += activation.size * config.d_ff
        elif made == "scores":
            total += activation.size * config.d_head
        elif made == "z":
            total += activation.size * seen[f"{path}.pattern"].shape[-1]
    return total


def _logits(trace: Trace, length: int) -> Array:
    """Of the first `length` positions of the target, which alone the decoder reads: (length, V)."""
    with mg.no_grad():
        logits: mg.Tensor = trace.model(trace.source, trace.target_in[:, :length])
    rows: Array = logits.data[0]
    return rows
