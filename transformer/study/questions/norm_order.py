"""Where normalisation stands, and what that does to the very first gradients. The paper, sections 3.1 and 5.3."""

from dataclasses import replace

import numpy as np

import minigrad as mg
from transformer.batching import Batch, make_batch
from transformer.model import Transformer
from transformer.study.figures import Lines, Words
from transformer.study.questions.answer import Answer, Subject
from transformer.study.trace import Array
from transformer.vocabulary import PAD

LAYERS, SEEDS, PAIRS = 6, 3, 16
"""As many layers a stack as the paper has; fresh models; sentence pairs in the batch."""

STACKS = {"encoder": "编码器", "decoder": "解码器"}


def pre_norm_or_post_norm(subject: Subject) -> Answer:
    """The norm of each layer's gradient at step 0, in fresh models of this config with 6+6 layers: post- and pre-norm.

    On the same held-out pairs. Source: Xiong et al. 2020, section 3.
    """
    pairs = subject.pairs[:PAIRS]
    source, target = subject.source_vocabulary, subject.target_vocabulary
    batch = make_batch([(source.encode(pair.source), target.encode(pair.target)) for pair in pairs])
    norms = {norm: _first_gradients(subject, norm, batch) for norm in ("post", "pre")}
    post, pre = (norms[norm]["decoder"].mean(axis=0) for norm in ("post", "pre"))
    post_first, post_last, pre_first, pre_last = (f"{n:.2g}" for n in (post[0], post[-1], pre[0], pre[-1]))
    post_ratio, pre_ratio = f"{post[-1] / post[0]:.2g}", f"{pre[-1] / pre[0]:.2g}"
    question = Words(
        "Pre-norm or post-norm? And why does post-norm need warm-up?",
        "前置归一化还是后置归一化？后置归一化为什么需要预热？",
    )
    answer = Words(
        "Post-norm, the paper's, puts a layer normalisation on the residual path itself, and each rescales the "
        f"gradient that comes down. In fresh models of this width with {LAYERS}+{LAYERS} layers, the mean gradient "
        f"norm of the decoder's first layer is {post_first} and of its last {post_last}, {post_ratio} times as much; "
        f"with pre-norm, which leaves the path free, {pre_first} and {pre_last}, {pre_ratio} times. Uneven gradients "
        "make large first steps dangerous; warm-up keeps these small until the layers have settled.",
        "论文用的后置归一化（post-norm）把层归一化放在残差通路上，梯度往回传时每经过一层都被重新缩放。在这个宽度、"
        f"{LAYERS}+{LAYERS} 层的新模型里，解码器第一层的平均梯度范数是 {post_first}，最后一层是 {post_last}，"
        f"是它的 {post_ratio} 倍；前置归一化（pre-norm）让残差通路畅通，分别是 {pre_first} 和 {pre_last}，"
        f"{pre_ratio} 倍。梯度不均匀时，一开始步子太大就很危险；预热让最初几步足够小，直到各层稳定下来。",
    )
    figures = (
        Lines(
            Words("Gradient norm of each layer at step 0", "第 0 步各层的梯度范数"),
            [float(layer) for layer in range(1, LAYERS + 1)],
            {
                Words(f"{stack}, {norm}-norm", f"{chinese}，{norm}-norm"): norms[norm][stack]
                for norm in norms
                for stack, chinese in STACKS.items()
            },
            x_axis=Words("layer", "层"),
            y_axis=Words("gradient norm", "梯度范数"),
        ),
    )
    return Answer(20, question, answer, figures)


def _first_gradients(subject: Subject, norm: str, batch: Batch) -> dict[str, Array]:
    """By stack: the norm of the gradients of all of a layer's parameters, (SEEDS, LAYERS)."""
    config = replace(subject.trace.model.config, layers=LAYERS, norm=norm)
    found = {stack: np.empty((SEEDS, LAYERS)) for stack in STACKS}
    for seed in range(SEEDS):
        with mg.default_dtype("float64"):
            model = Transformer(config, rng=seed)
        with mg.enable_grad():
            loss = mg.cross_entropy(model(batch.source, batch.target_in), batch.target_out, ignore_index=PAD)
        layers = [layer for stack in STACKS for layer in getattr(model, stack).layers]
        parameters = [list(layer.parameters()) for layer in layers]
        gradients = iter(mg.gradients(loss, [each for group in parameters for each in group]))
        norms = [np.sqrt(sum(float(np.sum(next(gradients).data ** 2)) for _ in group)) for group in parameters]
        for stack, part in zip(STACKS, np.split(np.array(norms), len(STACKS)), strict=True):
            found[stack][seed] = part
    return found
