"""Bugs of the layers: residuals, normalisation, the feed-forward network, dropout. The paper, sections 3.1, 3.3."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import layer_norm, linear, relu
from minigrad.nn import dropout
from transformer.activations import noted
from transformer.cache import LayerCache
from transformer.layers import AddNorm, DecoderLayer, View
from transformer.study.bugs.bug import Bug, Place, valued
from transformer.study.figures import Words

Sublayer = Callable[[mg.Tensor], mg.Tensor]
Rng = np.random.Generator | None

right_decoder_layer = DecoderLayer.forward
_own_rng = np.random.default_rng(0)


def residual_missing(self: AddNorm, x: mg.Tensor, sublayer: Sublayer, rng: Rng) -> mg.Tensor:
    """LayerNorm(sublayer(x))."""
    return _normalised(self, _refined(self, sublayer(x), rng))


def residual_overwritten(self: AddNorm, x: mg.Tensor, sublayer: Sublayer, rng: Rng) -> mg.Tensor:
    """LayerNorm(x + sublayer(x)), but x gets the gradient of the sub-layer alone."""
    return _normalised(self, x.detach() + _refined(self, sublayer(x), rng))


def norm_before(self: AddNorm, x: mg.Tensor, sublayer: Sublayer, rng: Rng) -> mg.Tensor:
    """x + sublayer(LayerNorm(x)), without the last norm that this needs."""
    return noted(self, "out", x + _refined(self, sublayer(mg.layer_norm(x, self.gain, self.bias)), rng))


def _refined(self: AddNorm, x: mg.Tensor, rng: Rng) -> mg.Tensor:
    return noted(self, "refined", mg.nn.dropout(x, self.dropout, rng))


def _normalised(self: AddNorm, x: mg.Tensor) -> mg.Tensor:
    return noted(self, "out", mg.layer_norm(noted(self, "sum", x), self.gain, self.bias))


def mean_is_constant(x: mg.Tensor, gain: mg.Tensor, bias: mg.Tensor, eps: float = 1e-5) -> mg.Tensor:
    """dx lacks - mean(h): as if the mean that is subtracted did not depend on x."""
    centred = x - mg.mean(x, axis=-1, keepdims=True).detach()
    return centred / mg.sqrt(mg.mean(centred * centred, axis=-1, keepdims=True) + eps) * gain + bias


def variance_is_constant(x: mg.Tensor, gain: mg.Tensor, bias: mg.Tensor, eps: float = 1e-5) -> mg.Tensor:
    """dx lacks - normal * mean(h * normal): as if the variance did not depend on x."""
    centred = x - mg.mean(x, axis=-1, keepdims=True)
    return centred / mg.sqrt(mg.mean(centred * centred, axis=-1, keepdims=True) + eps).detach() * gain + bias


def unbiased_variance(x: mg.Tensor, gain: mg.Tensor, bias: mg.Tensor, eps: float = 1e-5) -> mg.Tensor:
    """The variance divided by D - 1."""
    centred = x - mg.mean(x, axis=-1, keepdims=True)
    variance = mg.sum(centred * centred, axis=-1, keepdims=True) / (x.shape[-1] - 1)
    return centred / mg.sqrt(variance + eps) * gain + bias


def eps_outside_the_root(x: mg.Tensor, gain: mg.Tensor, bias: mg.Tensor, eps: float = 1e-5) -> mg.Tensor:
    """(x - mean) / (deviation + eps)."""
    centred = x - mg.mean(x, axis=-1, keepdims=True)
    return centred / (mg.sqrt(mg.mean(centred * centred, axis=-1, keepdims=True)) + eps) * gain + bias


def normalised_over_words(x: mg.Tensor, gain: mg.Tensor, bias: mg.Tensor, eps: float = 1e-5) -> mg.Tensor:
    """Mean and variance over the words of a sentence, (B, 1, D)."""
    return mg.swapaxes(layer_norm(mg.swapaxes(x, -1, -2), eps=eps), -1, -2) * gain + bias


def open_relu(x: mg.Tensor) -> mg.Tensor:
    """dx = g, where x is negative too."""
    return valued(relu(x), x)


def bias_gradient_averaged(self: mg.nn.Linear, x: mg.Tensor) -> mg.Tensor:
    """db is the mean over the rows, where broadcasting asks for the sum."""
    bias = None if self.bias is None else valued(self.bias, self.bias * (x.shape[-1] / x.size))
    return linear(x, self.weight, bias)


def dropout_always(x: mg.Tensor, rate: float, rng: Rng) -> mg.Tensor:
    """Dropped where nobody asked for it, too."""
    return dropout(x, rate, _own_rng if rng is None else rng)


def dropout_unscaled(x: mg.Tensor, rate: float, rng: Rng) -> mg.Tensor:
    """x * keep, not divided by 1 - rate."""
    return dropout(x, rate, rng) * (1.0 if rng is None else 1 - rate)


def cross_attention_to_itself(
    self: DecoderLayer, y: mg.Tensor, memory: mg.Tensor, view: View, memory_view: View, rng: Rng,
    cache: LayerCache | None = None,
) -> mg.Tensor:  # fmt: skip
    """Keys and values are made of the decoder's own state; of what was decoded before, nothing is kept for it."""
    own = None if cache is None else cache.self_attention
    mask = view.mask if cache is None else None
    y = self.self_attention_norm(y, lambda h: self.self_attention(h, h, *view, own), rng)
    y = self.cross_attention_norm(y, lambda h: self.cross_attention(h, h, mask), rng)
    y = self.feed_forward_norm(y, self.feed_forward, rng)
    return y


def memory_detached(self: DecoderLayer, y: mg.Tensor, memory: mg.Tensor, *others: Any) -> mg.Tensor:
    """No gradient flows from the decoder to the encoder."""
    return right_decoder_layer(self, y, memory.detach(), *others)


ADD_NORM = Place(AddNorm, "forward")
NORM = Place(mg, "layer_norm")
DROPOUT = Place(mg.nn, "dropout")
DECODER = Place(DecoderLayer, "forward")

BUGS = (
    Bug("residual missing", "forward", ADD_NORM, residual_missing, Words(
        "x = norm(sublayer(x)): the residual connection is forgotten.",
        "x = norm(sublayer(x))：残差连接忘了写。",
    )),
    Bug("residual's gradient overwritten", "gradient", ADD_NORM, residual_overwritten, Words(
        "Where x splits into residual and sub-layer, its gradient is written with = where += is meant.",
        "x 分成残差和子层两路，梯度却用 = 而不是 += 写入：残差的那一份丢了。",
    )),
    Bug("norm before, not behind", "forward", ADD_NORM, norm_before, Words(
        "The model is silently pre-norm, without pre-norm's last norm: the code that most tutorials have.",
        "模型悄悄成了 pre-norm，又缺最后那层归一化：许多教程的代码就是这样。",
    )),
    Bug("layer norm without mean", "gradient", NORM, mean_is_constant, Words(
        "Layer norm's backward takes the mean as a constant: dx is no longer orthogonal to 1.",
        "层归一化的反向把均值当作常数：dx 不再与全 1 向量正交。",
    )),
    Bug("layer norm without variance", "gradient", NORM, variance_is_constant, Words(
        "Layer norm's backward takes the variance as a constant: dx is no longer orthogonal to x.",
        "层归一化的反向把方差当作常数：dx 不再与 x 正交。",
    )),
    Bug("unbiased variance", "forward", NORM, unbiased_variance, Words(
        "Layer norm divides by D - 1: torch.std's default, and in a well-known annotated implementation.",
        "层归一化除以 D - 1：这是 torch.std 的默认值，一份著名的注解实现里就有。",
    )),
    Bug("eps outside the root", "forward", NORM, eps_outside_the_root, Words(
        "x / (std + eps) in place of x / sqrt(var + eps): weights from elsewhere no longer give their numbers.",
        "写成 x / (std + eps) 而不是 x / sqrt(var + eps)：用别处的权重就得不到原来的数。",
    )),
    Bug("normalised over words", "forward", NORM, normalised_over_words, Words(
        "Mean and variance are taken over the words of a sentence, not the numbers of a word: wrong axis.",
        "均值和方差沿句子的词计算，而不是沿一个词的各个数：轴错了。",
    )),
    Bug("relu passes every gradient", "gradient", Place(mg, "relu"), open_relu, Words(
        "relu's backward forgets the mask (x > 0).",
        "relu 的反向忘了乘 (x > 0)。",
    )),
    Bug("bias gradient averaged", "gradient", Place(mg.nn.Linear, "forward"), bias_gradient_averaged, Words(
        "A bias is broadcast to all rows, and its gradient is their mean in place of their sum.",
        "偏置广播到所有行，梯度应当求和，却取了平均。",
    )),
    Bug("dropout in evaluation", "forward", DROPOUT, dropout_always, Words(
        "Dropout goes on when the model is used: model.eval() was never called.",
        "使用模型时仍在随机丢弃：忘了调用 model.eval()。",
    )),
    Bug("dropout not rescaled", "forward", DROPOUT, dropout_unscaled, Words(
        "What dropout keeps is not divided by 1 - rate: in use all numbers are larger than in training.",
        "保留下来的数没有除以 1 - rate：使用时的数值都比训练时大。",
    )),
    Bug("cross-attention to itself", "forward", DECODER, cross_attention_to_itself, Words(
        "Cross-attention takes keys and values from the decoder (a pasted line): the source is never read.",
        "交叉注意力的键和值取自解码器（复制了自注意力那一行）：源句根本没有被读。",
    )),
    Bug("memory detached", "gradient", DECODER, memory_detached, Words(
        "A detach (or .data, or no_grad) cuts the encoder off: it stays as it was drawn at random.",
        "一个 detach（或 .data、no_grad）切断了编码器的梯度：它停留在随机初始的样子。",
    )),
)  # fmt: skip
