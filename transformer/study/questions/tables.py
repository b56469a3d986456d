"""The gradient of a table of word vectors, one row of which is read more than once.

The paper, section 3.4. Shapes: T length, V vocabulary, D d_model.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import minigrad as mg
from transformer.masks import Ids
from transformer.study.figures import Bars, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array
from transformer.vocabulary import BOS, PAD, SPECIALS


class Read(NamedTuple):
    """Rows that were read from a table of V rows: where; ids (T,), their words, their vectors' cotangents (T, D)."""

    where: Words
    ids: Ids
    words: Sequence[str]
    cotangents: Array
    rows: int


def repeated_ids(subject: Subject) -> Answer:
    """Question 8: what is lost of the table's gradient where `grad[ids] = g` overwrites in place of adding.

    Where no word of the sentence stands twice, its last one is taken for its first.
    """
    read = _read_twice(subject)
    scale = math.sqrt(read.cotangents.shape[1])
    table = mg.Tensor(np.zeros((read.rows, read.cotangents.shape[1])), requires_grad=True)
    added = mg.gradients(mg.embedding(table, read.ids, scale), [table], read.cotangents)[0].data
    overwritten = np.zeros_like(added)
    overwritten[read.ids] = scale * read.cotangents
    lost = [place for place, row in enumerate(read.ids) if row in read.ids[place + 1 :]]
    share = f"{100 * np.abs(read.cotangents[lost]).sum() / np.abs(read.cotangents).sum():.3g}"
    times = Counter(read.ids.tolist())
    row, often = times.most_common(1)[0]
    name = dict(zip(read.ids.tolist(), read.words, strict=True))
    right, wrong = (f"{np.linalg.norm(gradient[row]):.3g}" for gradient in (added, overwritten))
    question = Words(
        "An embedding only copies rows. Why must the gradients of a repeated word be added?",
        "嵌入层只是取出几行，为什么同一个词出现多次时梯度要相加？",
    )
    answer = Words(
        "Each place that reads a row is one more use of the same numbers, and what is used several times gets the sum "
        f"of its cotangents. {read.where.en}: “{name[row]}” stands {often} times; added, its row's gradient has norm "
        f"{right}. With grad[ids] = g, and in NumPy with grad[ids] += g too, the last place wins: {wrong}. Lost: "
        f"{len(lost)} of {len(read.ids)} places, and {share}% of the cotangents by the sum of their absolute values; "
        "no error says so. np.add.at(grad, ids, g) adds.",
        "每读一次某一行，就是又用了一次同样的数；一个量用了几次，它的梯度就是各次之和。"
        f"{read.where.zh}：“{name[row]}”出现了 {often} 次，相加时它那一行的梯度范数为 {right}。"
        f"若写成 grad[ids] = g，或者在 NumPy 里写成 grad[ids] += g，都只剩下最后一次：{wrong}；"
        f"{len(read.ids)} 个位置中丢了 {len(lost)} 个，按绝对值之和算，丢了 {share}% 的梯度，而且不会报错。"
        "np.add.at(grad, ids, g) 才是相加。",
    )
    labels = [f"{name[i]} ×{count}" for i, count in times.items()]
    groups: dict[Label, list[float]] = {
        label: [float(np.linalg.norm(gradient[i])) for i in times]
        for label, gradient in ((Words("added", "相加"), added), (Words("overwritten", "被覆盖"), overwritten))
    }
    title = Words("Norm of the gradient of each word's row", "每个词那一行的梯度范数")
    return Answer(8, question, answer, (Bars(title, labels, groups),))


def _read_twice(subject: Subject) -> Read:
    trace = subject.trace
    here = Words("In this sentence", "在这个句子里")
    for side, ids, words, rows in (
        ("source", trace.source[0], subject.source_words, len(subject.source_vocabulary)),
        ("target", trace.target_in[0], (SPECIALS[BOS], *subject.target_words), len(subject.target_vocabulary)),
    ):
        if _repeats(ids):
            shown = np.flatnonzero(ids != PAD)
            cotangents = trace.gradient(f"{side}_embedding.out")[0, shown]
            return Read(here, ids[shown], [words[place] for place in shown], cotangents, rows)
    shown = np.flatnonzero(trace.source[0] != PAD)
    ids = np.append(trace.source[0, shown[:-1]], trace.source[0, shown[0]])
    told = [subject.source_words[place] for place in (*shown[:-1], shown[0])]
    where = Words(
        "No word stands twice in this sentence; if its last word were its first again, with the same cotangents",
        "这个句子里没有重复的词；假如最后一个词换成第一个词，而各处的梯度不变",
    )
    return Read(where, ids, told, trace.gradient("source_embedding.out")[0, shown], len(subject.source_vocabulary))


def _repeats(ids: Ids) -> bool:
    words = ids[ids != PAD]
    return len(set(words.tolist())) < len(words)
