"""The operations of neural networks, fused in minigrad, against torch.nn.functional's."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import minigrad as mg
from tests.minigrad.operations import masks, seeds, some_of
from tests.minigrad.strategies import axes, axis, shapes
from tests.parity.comparison import Pair, pair
from tests.parity.reductions import dims, over_no_axis


@st.composite
def over_one_axis(draw: Any, name: str, theirs: Any) -> Pair:
    shape = draw(shapes(min_dims=1))
    over, mine = draw(axis(len(shape))), getattr(mg, name)
    return pair(draw, lambda x: mine(x, over), lambda x: theirs(x, over), shape, note=f"axis={over}")


@st.composite
def masked_softmax(draw: Any) -> Pair:
    """Where a row has something left: torch's masked softmax of an empty row is NaN (test_conventions.py)."""
    shape = draw(shapes(min_dims=1, empty=False))
    mask = some_of(draw(masks(shape)), -1)
    hidden = torch.tensor(~mask)
    return pair(
        draw, lambda x: mg.softmax(x, where=mask), lambda x: x.masked_fill(hidden, -torch.inf).softmax(-1), shape,
        note="where=",
    )  # fmt: skip


@st.composite
def logsumexp(draw: Any) -> Pair:
    shape = draw(shapes(empty=False))
    over, keepdims = draw(axes(len(shape))), draw(st.booleans())
    dim = dims(over, len(shape))
    mask = draw(st.none() | masks(shape).map(lambda mask: some_of(mask, over)))
    hidden = torch.tensor(np.zeros(shape, bool) if mask is None else ~mask)

    def theirs(x: torch.Tensor) -> torch.Tensor:
        return over_no_axis(x.masked_fill(hidden, -torch.inf), dim, torch.logsumexp, keepdims)

    return pair(draw, lambda x: mg.logsumexp(x, over, keepdims, mask), theirs, shape, note=f"axis={over}")


@st.composite
def normalisation(draw: Any, name: str) -> Pair:
    """layer_norm with gain and bias, rms_norm with gain; each may lack them."""
    shape = (*draw(shapes(max_dims=3, sizes=(2, 3, 5), empty=False)), draw(st.sampled_from((4, 6, 7))))
    count, eps = draw(st.integers(0, 2 if name == "layer_norm" else 1)), draw(st.sampled_from((1e-5, 1e-3)))
    mine, theirs = getattr(mg, name), getattr(F, name)
    return pair(
        draw, lambda x, *rest: mine(x, *rest, eps=eps), lambda x, *rest: theirs(x, shape[-1:], *rest, eps=eps),
        shape, *[shape[-1:]] * count, note=f"{count} parameters, eps={eps}",
    )  # fmt: skip


@st.composite
def linear(draw: Any) -> Pair:
    leading, (n, m) = draw(shapes(max_dims=2, sizes=(2, 7))), draw(st.permutations((3, 4)))
    bias = [(m,)] if draw(st.booleans()) else []
    return pair(draw, mg.linear, lambda x, w, *b: F.linear(x, w.T, *b), (*leading, n), (n, m), *bias)


@st.composite
def add_norm(draw: Any) -> Pair:
    shape = (*draw(shapes(max_dims=3, sizes=(2, 3, 5), empty=False)), draw(st.sampled_from((4, 6, 7))))
    theirs = lambda x, y, gain, bias: F.layer_norm(x + y, shape[-1:], gain, bias)  # noqa: E731
    return pair(draw, mg.add_norm, theirs, shape, shape, shape[-1:], shape[-1:])


@st.composite
def embedding(draw: Any) -> Pair:
    ids_shape, rng = draw(shapes(empty=False)), np.random.default_rng(draw(seeds))
    ids = np.asarray(rng.integers(0, 5, ids_shape))
    theirs = lambda table: F.embedding(torch.tensor(ids), table) * 1.5  # noqa: E731
    return pair(draw, lambda table: mg.embedding(table, ids, 1.5), theirs, (5, 3))


@st.composite
def feed_forward(draw: Any) -> Pair:
    leading, (n, f, m) = draw(shapes(max_dims=2, sizes=(2, 7))), draw(st.permutations((3, 4, 6)))
    theirs = lambda x, w_1, b_1, w_2, b_2: F.linear(F.linear(x, w_1.T, b_1).relu(), w_2.T, b_2)  # noqa: E731
    return pair(draw, mg.feed_forward, theirs, (*leading, n), (n, f), (f,), (f, m), (m,))


@st.composite
def multi_head_attention(draw: Any) -> Pair:
    """torch's has the batch second and the weights transposed; its mask is True where nothing may be seen."""
    batch, (t_q, t_k), (d, d_memory) = 2, draw(st.permutations((3, 4))), draw(st.permutations((6, 5)))
    heads = draw(st.sampled_from((1, 2, 3)))
    inner = d * heads  # torch: the width of the projections is x's
    mask = some_of(draw(masks((t_q, t_k))), -1)

    def mine(x: Any, memory: Any, *p: Any) -> Any:
        return mg.multi_head_attention(x, memory, p[0:2], p[2:4], p[4:6], p[6:8], heads, mask)

    def theirs(
        x: Any, memory: Any, w_q: Any, b_q: Any, w_k: Any, b_k: Any, w_v: Any, b_v: Any, w_o: Any, b_o: Any
    ) -> Any:
        out, _ = F.multi_head_attention_forward(
            x.transpose(0, 1), memory.transpose(0, 1), memory.transpose(0, 1), inner, heads, None,
            torch.cat([b_q, b_k, b_v]), None, None, False, 0.0, w_o.T, b_o, need_weights=True,
            attn_mask=torch.tensor(~mask), use_separate_proj_weight=True, q_proj_weight=w_q.T, k_proj_weight=w_k.T,
            v_proj_weight=w_v.T,
        )  # fmt: skip
        return out.transpose(0, 1)

    return pair(
        draw, mine, theirs, (batch, t_q, inner), (batch, t_k, d_memory), (inner, inner), (inner,), (d_memory, inner),
        (inner,), (d_memory, inner), (inner,), (inner, inner), (inner,), note=f"{heads} heads",
    )  # fmt: skip


@st.composite
def cross_entropy(draw: Any) -> Pair:
    """At least one target counts: torch's mean of none is NaN (test_conventions.py)."""
    *leading, classes = draw(shapes(min_dims=1, max_dims=3, sizes=(2, 3, 5), empty=False))
    rng = np.random.default_rng(draw(seeds))
    targets = np.asarray(rng.integers(0, classes, leading))
    ignored = draw(st.sampled_from((None, 0, -1)))
    if ignored == -1:
        targets = np.where(rng.random(targets.shape) < 0.4, -1, targets)
    if ignored is not None and (targets == ignored).all():
        targets = np.full(targets.shape, classes - 1)
        ignored = -1
    options = {
        "label_smoothing": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "reduction": draw(st.sampled_from(("mean", "sum", "none"))),
    }
    labels = torch.tensor(targets)

    def theirs(logits: torch.Tensor) -> torch.Tensor:
        rows = logits.reshape(-1, classes)
        loss = F.cross_entropy(rows, labels.reshape(-1), ignore_index=-100 if ignored is None else ignored, **options)
        return loss.reshape(labels.shape) if options["reduction"] == "none" else loss

    return pair(
        draw, lambda x: mg.cross_entropy(x, targets, ignore_index=ignored, **options), theirs, (*leading, classes),
        note=f"ignore {ignored}, {options}",
    )  # fmt: skip


@st.composite
def attention(draw: Any) -> Pair:
    """F.scaled_dot_product_attention with a boolean mask, which has minigrad's polarity; every query sees a key."""
    leading = draw(st.sampled_from(((), (2,), (2, 3))))
    t_q, t_k = draw(st.permutations((3, 4)))
    d, d_v = draw(st.permutations((5, 2)))
    mask = draw(st.none() | st.sampled_from(((t_q, t_k), (1, t_k), (*leading, t_q, t_k))).flatmap(masks))
    mask = None if mask is None else some_of(mask, -1)
    seen = None if mask is None else torch.tensor(mask)

    def theirs(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.MATH):  # the one kernel that has a second derivative
            return F.scaled_dot_product_attention(query, key, value, attn_mask=seen)

    return pair(
        draw, lambda q, k, v: mg.attention(q, k, v, mask), theirs,
        (*leading, t_q, d), (*leading, t_k, d), (*leading, t_k, d_v),
        note=f"mask {None if mask is None else mask.shape}",
    )  # fmt: skip


@st.composite
def biased_attention(draw: Any) -> Pair:
    """F.scaled_dot_product_attention with a float mask, which it adds to the scores."""
    shape, t = (*draw(st.sampled_from(((), (2,)))), 4, 3), 4
    bias = np.random.default_rng(draw(seeds)).normal(size=draw(st.sampled_from(((t, t), (1, t)))))

    def theirs(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=torch.tensor(bias))

    return pair(draw, lambda q, k, v: mg.attention(q, k, v, bias=bias), theirs, shape, shape, shape, note="bias")


@st.composite
def causal_attention(draw: Any) -> Pair:
    leading, length, d = draw(st.sampled_from(((), (2,), (2, 3)))), draw(st.integers(1, 5)), 4
    mask = np.tril(np.ones((length, length), bool))

    def theirs(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    shape = (*leading, length, d)
    return pair(draw, lambda q, k, v: mg.attention(q, k, v, mask), theirs, shape, shape, shape, note="causal")


@st.composite
def gelu(draw: Any) -> Pair:
    form = draw(st.sampled_from(("none", "tanh")))
    return pair(
        draw, lambda x: mg.gelu(x, approximate=form), lambda x: F.gelu(x, approximate=form), draw(shapes()), note=form
    )  # fmt: skip


@st.composite
def dropout(draw: Any) -> Pair:
    """torch draws its own masks, so its side is the formula of its documentation."""
    shape, rate = draw(shapes()), draw(st.sampled_from((0.0, 0.1, 0.5)))
    keep = draw(masks(shape))
    kept = torch.tensor(keep)
    return pair(draw, lambda x: mg.dropout(x, keep, rate), lambda x: x * kept / (1 - rate), shape, note=f"{rate}")


@st.composite
def heads(draw: Any, name: str) -> Pair:
    """The heads cut from the last axis, and put side by side again."""
    *leading, length = draw(shapes(min_dims=1, max_dims=3, empty=False))
    count, width = draw(st.permutations((2, 3)))
    if name == "split_heads":
        theirs = lambda x: x.unflatten(-1, (count, width)).transpose(-2, -3)  # noqa: E731
        return pair(draw, lambda x: mg.split_heads(x, count), theirs, (*leading, length, count * width))
    return pair(draw, mg.merge_heads, lambda z: z.transpose(-2, -3).flatten(-2), (*leading, count, length, width))


PAIRS: dict[str, Any] = {
    "merge_heads": heads("merge_heads"),
    "split_heads": heads("split_heads"),
    "add_norm": add_norm(),
    "embedding": embedding(),
    "feed_forward": feed_forward(),
    "multi_head_attention": multi_head_attention(),
    "attention": attention() | biased_attention() | causal_attention(),
    "cross_entropy": cross_entropy(),
    "dropout": dropout(),
    "gelu": gelu(),
    "layer_norm": normalisation("layer_norm"),
    "linear": linear(),
    "log_softmax": over_one_axis("log_softmax", torch.log_softmax),
    "logsumexp": logsumexp(),
    "rms_norm": normalisation("rms_norm"),
    "softmax": over_one_axis("softmax", torch.softmax) | masked_softmax(),
}
