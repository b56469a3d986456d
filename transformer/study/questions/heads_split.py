"""Cutting the width into heads: what stands where afterwards. The paper, section 3.2.2.

Shapes: T target length, D d_model, H heads, D_h = D / H.
"""

from collections.abc import Mapping

import numpy as np

import minigrad as mg
from transformer.activations import Function
from transformer.model import Transformer
from transformer.study.figures import Grid, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array, Trace


def reshape_then_transpose(subject: Subject) -> Answer:
    """Where each number of (T, D) goes: by `mg.split_heads`, and by a reshape to (H, T, D_h) alone.

    And what the latter does behind the causal mask: the gradient of the first word's loss with respect to the
    decoder's later inputs, which is exactly 0 where heads are split rightly.
    """
    trace = subject.trace
    length, width, heads = trace.target_in.shape[1], trace.model.config.d_model, trace.model.config.heads
    here = np.arange(1, length + 1)[:, None]
    token = np.repeat(here, width, axis=1)  # (T, D): whose number this is
    owner = token.reshape(heads, length, -1)
    wrong, later = f"{np.mean(owner != here):.0%}", f"{np.mean(owner > here):.0%}"
    kept, lost = f"{_leak(trace, {}):.2g}", f"{_leak(trace, _by_reshape_alone(trace.model)):.2g}"
    places = len(str(width))
    coded = token + np.arange(1, width + 1) / 10**places  # 3.07: token 3, feature 7
    question = Words(
        "Why reshape and then transpose to get the heads? A reshape alone gives the same shape.",
        "拆成多头时为什么要先 reshape 再转置？只用 reshape，形状不也一样吗？",
    )
    answer = Words(
        f"A reshape keeps the order in memory, where the {width} features of a token stand side by side. Cut straight "
        f"into ({heads}, {length}, {width // heads}), the heads get tokens in place of features: {wrong} of the cells "
        f"hold another token's number, {later} a later one's, which the causal mask no longer hides. If this decoder "
        f"did so, the loss of the first word would have a gradient of norm {lost} with respect to later words; with "
        f"reshape and transpose it is exactly {kept}.",
        f"reshape 不改变内存里的顺序，而一个词的 {width} 个特征是连着放的。"
        f"直接切成 ({heads}, {length}, {width // heads})，各个头分到的就不是特征，而是词："
        f"{wrong} 的格子里是别的词的数，{later} 的格子里是后面的词的数，因果掩码再也挡不住。这个解码器若是这样拆，"
        f"第一个词的损失对后面的词就有范数为 {lost} 的梯度；先 reshape 再转置，则恰好是 {kept}。",
    )
    figures = (
        _grid(
            Words(f"Head {heads} after reshape, then transpose", f"头 {heads}：先 reshape，再转置"),
            _split(coded, heads),
            places,
        ),
        _grid(
            Words(f"Head {heads} after reshape alone", f"头 {heads}：只用 reshape"),
            coded.reshape(heads, length, -1),
            places,
        ),
    )
    return Answer(14, question, answer, figures)


def _split(rows: Array, heads: int) -> Array:
    """(T, D) -> (H, T, D_h), as the model does it."""
    return mg.split_heads(rows, heads).data


def _by_reshape_alone(model: Transformer) -> dict[str, Function]:
    """Patches: the queries, keys and values of the decoder's self-attention, as a reshape alone would cut them."""

    def reshaped(part: mg.Tensor) -> mg.Tensor:
        return mg.reshape(mg.swapaxes(part, 1, 2), part.shape)

    names = [f"decoder.layers.{n}.self_attention.{part}" for n in range(model.config.layers) for part in "qkv"]
    return dict.fromkeys(names, reshaped)


def _leak(trace: Trace, patches: Mapping[str, Function]) -> float:
    """The norm of the gradient of the first word's loss with respect to what the decoder reads after it."""
    model = trace.model
    with mg.enable_grad(), model.capture() as seen, model.patch(patches):
        logits = model(trace.source, trace.target_in)
        first = mg.cross_entropy(logits[:, 0], trace.target[:, 0])
    (gradient,) = mg.gradients(first, [seen["target_positions.out"]])
    return float(np.linalg.norm(gradient.data[:, 1:]))


def _grid(title: Words, heads: Array, places: int) -> Grid:
    """The last of the heads (H, T, D_h)."""
    _, length, width = heads.shape
    return Grid(
        title,
        [str(n) for n in range(1, length + 1)],
        [str(n) for n in range(1, width + 1)],
        heads[-1],
        digits=places,
        row_axis=Words("position in the head", "头内位置"),
        column_axis=Words("feature in the head; in the cells: token.feature", "头内特征；格中是“词.特征”"),
    )
