"""One table for reading and for writing: which gradients meet in it. The paper, section 3.4.

Shapes: V target vocabulary, D d_model.
"""

from dataclasses import replace

import numpy as np

import minigrad as mg
from transformer.masks import Ids
from transformer.model import Transformer
from transformer.study.figures import Bars, Words
from transformer.study.figures.figure import Label
from transformer.study.ledger import Ledger, ledger
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace, traced

WHOSE = {
    True: Words("In this model", "在这个模型里，"),
    False: Words(
        "In a copy of this model whose output projection is its target embedding",
        "把这个模型的输出投影换成目标语言词嵌入，在得到的副本里，",
    ),
}


def weight_tying(subject: Subject) -> Answer:
    """The contributions of all uses of a tied table to its gradient, and their sum; from a tied copy if need be."""
    trace = subject.trace
    own = trace.model.config.tied != "none"
    trace = trace if own else tied(trace)
    book = ledger(trace.loss, trace.model.target_embedding.weight)
    rows = {part.words: int(np.sum(np.any(part.value != 0, axis=-1))) for part in book.contributions}
    english = ", ".join(f"the {part.words.en} {part.norm:.3g} ({rows[part.words]} rows)" for part in book.contributions)
    chinese = "，".join(f"{part.words.zh} {part.norm:.3g}（{rows[part.words]} 行）" for part in book.contributions)
    total, apart, size = f"{np.linalg.norm(book.total):.3g}", f"{book.difference:.1g}", len(book.total)
    question = Words(
        "If embedding and output projection share one table, which gradients does it get?",
        "词嵌入和输出投影共用一张表时，这张表得到哪些梯度？",
    )
    answer = Words(
        f"One from each use, added up. {WHOSE[own].en} the norms are: {english}. Their sum has the norm {total} and "
        f"is the gradient of the table, with a largest relative difference of {apart}. Reading touches only the rows "
        f"of words that were read, writing all {size}, since every word's logit is in the softmax. Whoever counts one "
        "use alone has a wrong gradient, from which a model still learns.",
        f"每用一次得到一份，全部相加。{WHOSE[own].zh}各份的范数是：{chinese}。它们的和的范数是 {total}，"
        f"正是整张表的梯度，最大相对误差 {apart}。读只涉及读到的词的行，写则涉及全部 {size} 行，"
        "因为每个词的 logit 都在 softmax 里。只算其中一份，梯度就是错的，模型却照样能学到东西。",
    )
    figures = (_figure(subject, trace, book),)
    return Answer(18, question, answer, figures)


def tied(trace: Trace) -> Trace:
    """The same sentence through a copy of the model whose output projection is its target embedding, transposed."""
    with mg.default_dtype("float64"):
        copy = Transformer(replace(trace.model.config, tied="output"))
    own = dict(trace.model.named_parameters())
    for name, parameter in copy.named_parameters():
        parameter.data = own[name].data
    return traced(copy, trace.source, trace.target_in, trace.target, trace.label_smoothing)


def _figure(subject: Subject, trace: Trace, book: Ledger) -> Bars:
    """The norm of each contribution in the rows of the words that were used, and in all others together."""
    sides = [trace.target_in[0], trace.target[0]] + [trace.source[0]] * (trace.model.config.tied == "all")
    used = np.unique(np.concatenate(sides))
    parts = {part.words: part.value for part in book.contributions} | {Words("sum", "总和"): book.total}
    groups: dict[Label, list[float]] = {words: _norms(value, used) for words, value in parts.items()}
    labels = [*(subject.target_vocabulary.tokens[word] for word in used), Words("all other words", "其他所有词")]
    return Bars(
        Words("The table's gradient: norm of each word's row", "这张表的梯度：每个词那一行的范数"), labels, groups
    )


def _norms(value: Array, used: Ids) -> list[float]:
    """Of each row that is used, and of all other rows together."""
    return [*np.linalg.norm(value[used], axis=-1).tolist(), float(np.linalg.norm(np.delete(value, used, axis=0)))]
