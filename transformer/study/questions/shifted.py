"""What the decoder reads and what it is asked for: the target, shifted right. The paper, section 3.1.

Shapes: B = 1 sentence, T target length, V target vocabulary.
"""

import numpy as np

import minigrad as mg
from transformer.masks import Ids, decoder_mask
from transformer.study.figures import Grid, Table, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.vocabulary import PAD, Vocabulary


def shifted_right(subject: Subject) -> Answer:
    """Decoder input, target and loss weight, position by position, and the mask on the first layer's pattern.

    The loss of the trace is the weighted sum of each position's own; the mask comes from the decoder's input alone.
    """
    trace = subject.trace
    counted = trace.target[0] != PAD
    weights = counted / counted.sum()
    each = mg.cross_entropy(trace.seen["logits"].data[0], np.where(counted, trace.target[0], 0), reduction="none").data
    sum_of_each, loss = f"{weights @ each:.4g}", f"{float(trace.loss.data):.4g}"
    read, asked = words_of(trace.target_in[0], subject.target_vocabulary), subject.target_words
    mask = np.broadcast_to(decoder_mask(trace.target_in != PAD, len(read)), (1, 1, len(read), len(read)))[0, 0]
    pattern = trace.seen["decoder.layers.0.self_attention.pattern"].data[0].mean(axis=0)
    hidden, greatest = int(np.sum(~mask)), f"{pattern[~mask].max(initial=0):.2g}"
    places = [str(place) for place in range(1, len(read) + 1)]
    question = Words(
        "What is “shifted right”? Why does target[:-1] go in, why is target[1:] asked for, and which makes the mask?",
        "“右移”是什么意思？为什么输入 target[:-1]、要求输出 target[1:]？掩码由哪一个生成？",
    )
    answer = Words(
        f"At each of the {len(read)} positions the decoder reads the word before and is asked for the word itself, so "
        "the input is the target behind <bos>. The mask is made from the input: causal, and no padding as a key; "
        f"here it hides {hidden} cells, and the greatest weight in them is exactly {greatest}. The loss weights are "
        f"made from the target: padding counts 0, each of the {counted.sum()} words 1/{counted.sum()}, and the "
        f"weighted sum of the positions' losses, {sum_of_each}, is the loss, {loss}.",
        f"在 {len(read)} 个位置上，解码器每次读前一个词，要求给出这个词本身，所以输入就是前面加了 <bos> 的目标。"
        f"掩码由输入生成：只能看前面，填充不能作键；这里它遮住 {hidden} 格，这些格里最大的权重恰好是 {greatest}。"
        f"损失的权重由目标生成：填充算 0，{counted.sum()} 个词各算 1/{counted.sum()}；"
        f"各位置损失的加权和 {sum_of_each} 就是损失 {loss}。",
    )
    figures = (
        Table(
            Words("What goes in, what is asked for", "输入什么，要求什么"),
            [Words("position", "位置"), *places],
            [
                [Words("decoder input", "解码器输入"), *read],
                [Words("target", "目标"), *asked],
                [Words("loss weight", "损失权重"), *(f"{weight:.3g}" for weight in weights)],
            ],
        ),
        Grid(
            Words(
                "The mask, on the first decoder layer's pattern (mean of heads)",
                "掩码：画在解码器第 1 层的注意力上（各头平均）",
            ),
            read,
            read,
            pattern,
            hidden=~mask,
            row_axis=Words("query", "查询"),
            column_axis=Words("key", "键"),
        ),
    )
    return Answer(15, question, answer, figures)


def words_of(ids: Ids, vocabulary: Vocabulary) -> list[str]:
    """The words of ids (T,), specials as they are spelled."""
    return [vocabulary.tokens[number] for number in ids]
