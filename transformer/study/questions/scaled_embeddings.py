"""Words and places in one sum: how large the two parts are, and what can still be read. The paper, 3.4 and 3.5.

Shapes: N words of the source, D d_model, V source vocabulary.
"""

import math

import numpy as np

from transformer.masks import Ids
from transformer.positions import sinusoids
from transformer.study.figures import Bars, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace
from transformer.vocabulary import PAD


def scaled_embeddings(subject: Subject) -> Answer:
    """Norms of the source's word vectors, before and after sqrt(D), and of what their places add; the cosine of both.

    And in how many sums the word's own vector is still the nearest of the table's, with the factor and without.
    """
    trace = subject.trace
    words = trace.source[0] != PAD
    scaled, added = trace.seen["source_embedding.out"].data[0, words], positions_added(trace)
    width = trace.model.config.d_model
    root = math.sqrt(width)
    plain = scaled / root
    before, after, place = (np.linalg.norm(part, axis=-1) for part in (plain, scaled, added))
    cosine = np.abs(np.sum(scaled * added, axis=-1) / (after * place))
    table = trace.model.source_embedding.weight.data
    ids = trace.source[0, words]
    found, lost = (
        int(np.sum(nearest(part + added, table * factor) == ids)) for part, factor in ((scaled, root), (plain, 1.0))
    )
    norms = tuple(f"{norm.mean():.3g}" for norm in (before, after, place))
    random = f"{math.sqrt(2 / (math.pi * width)):.2g}"
    question = Words(
        "Why are embeddings multiplied by sqrt(d_model)? And why add positions, why not append them?",
        "嵌入为什么要乘以 sqrt(d_model)？位置为什么用相加，而不是拼接？",
    )
    answer = Words(
        f"So that the place does not drown the word: in this sentence word vectors have the norm {norms[0]}, times "
        f"sqrt({width}) {norms[1]}, and what the places add has {norms[2]}. In the sum the nearest vector of the "
        f"table is still the right word in {found} of {len(ids)} cases; without the factor in {lost} of {len(ids)}. "
        f"Adding works while the two parts are nearly at right angles: their cosine is {cosine.mean():.2g} in size, "
        f"where random directions in {width} dimensions have {random}. So one matrix can read either part, and no "
        "width is spent on places alone.",
        f"这样位置才不会淹没词：在这句话里，词向量的范数是 {norms[0]}，乘以 sqrt({width}) 后是 {norms[1]}，"
        f"位置加上的部分是 {norms[2]}。在词表中找离这个和最近的向量，{len(ids)} 个词里有 {found} 个找到的仍是自己；"
        f"不乘这个系数，{len(ids)} 个里有 {lost} 个。只要两部分几乎垂直，就可以相加："
        f"余弦的大小平均为 {cosine.mean():.2g}，而 {width} 维空间里的随机方向是 {random}。"
        "所以同一个矩阵能读出任何一部分，也不必专门为位置留出宽度。",
    )
    figures = (
        Bars(
            Words("Norms of the parts of each word's vector", "每个词的向量：各部分的范数"),
            [word for word, is_word in zip(subject.source_words, words, strict=True) if is_word],
            {
                Words("word vector", "词向量"): before.tolist(),
                Words("times sqrt(d_model)", "乘以 sqrt(d_model)"): after.tolist(),
                Words("its place", "位置"): place.tolist(),
            },
        ),
    )
    return Answer(19, question, answer, figures)


def positions_added(trace: Trace) -> Array:
    """What the model adds to the source's words for their places, (N, D); the paper's where it adds nothing."""
    words = trace.source[0] != PAD
    if "source_positions.sum" not in trace.seen:
        return sinusoids(int(words.sum()), trace.model.config.d_model)
    added: Array = (trace.seen["source_positions.sum"].data - trace.seen["source_embedding.out"].data)[0, words]
    return added


def nearest(vectors: Array, table: Array) -> Ids:
    """The row of the table (V, D) that is nearest to each vector: (N, D) -> (N,)."""
    apart = np.sum(table**2, axis=-1) - 2 * vectors @ table.T  # less |vector|^2, which is the same for all rows
    return np.asarray(apart.argmin(axis=-1))
