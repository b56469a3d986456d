"""Cases for the fused operations that are whole sub-layers of a Transformer; see `operations.CASES`."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad.case import Case, case, masks, seeds
from tests.minigrad.strategies import shapes


@st.composite
def add_norm(draw):
    shape = (*draw(shapes(max_dims=3, sizes=(2, 3, 5))), draw(st.sampled_from((4, 6, 7))))
    call = lambda x, y, gain, bias: mg.add_norm(x, y, gain, bias, eps=1e-3)  # noqa: E731
    return case(draw, call, shape, shape, shape[-1:], shape[-1:])


@st.composite
def embedding(draw):
    rows, width = draw(st.permutations((3, 4)))
    ids_shape, rng = draw(shapes()), np.random.default_rng(draw(seeds))
    ids = np.asarray(rng.integers(-rows, rows, ids_shape))
    words = draw(st.none() | masks(ids_shape))
    scale = draw(st.sampled_from((1.0, 0.5, -3.0)))
    return case(draw, lambda table: mg.embedding(table, ids, scale, words), (rows, width), note=f"scale {scale}")


@st.composite
def feed_forward(draw):
    leading, (n, f, m) = draw(shapes(max_dims=2, sizes=(2, 7))), draw(st.permutations((2, 3, 4)))
    biased = draw(st.booleans())
    call = mg.feed_forward if biased else lambda x, w_1, b_1, w_2: mg.feed_forward(x, w_1, b_1, w_2, None)
    drawn = case(draw, call, (*leading, n), (n, f), (f,), (f, m), *[(m,)] * biased, note=f"second bias {biased}")
    drawn.bases[2] = 40.0 * np.sign(drawn.bases[2] + 0.01)  # so that no hidden number is near relu's kink
    return drawn


@st.composite
def multi_head_attention(draw):
    batch, heads = draw(shapes(max_dims=2, sizes=(2, 3))), draw(st.sampled_from((1, 2, 3)))
    t_q, t_k = draw(st.sampled_from(((3, 4), (4, 3), (0, 3), (3, 0), (1, 4), (4, 1))))
    d, d_memory, d_out = draw(st.permutations((2, 3, 4)))
    per_head, per_value = draw(st.permutations((2, 3)))
    inner, inner_value = heads * per_head, heads * per_value
    seen = ((t_q, t_k), (1, t_k), (t_q, 1), (t_k,), (heads, 1, t_k), (*batch, 1, t_q, t_k))
    mask = draw(st.none() | st.sampled_from(seen).flatmap(masks))
    biased = draw(st.booleans())

    def call(x, memory, w_q, w_k, w_v, w_o, *biases):
        pairs = zip((w_q, w_k, w_v, w_o), biases if biased else (None,) * 4, strict=True)
        return mg.multi_head_attention(x, memory, *pairs, heads, mask)

    drawn = case(
        draw, call, (*batch, t_q, d), (*batch, t_k, d_memory),
        (d, inner), (d_memory, inner), (d_memory, inner_value), (inner_value, d_out),
        *[(inner,), (inner,), (inner_value,), (d_out,)] * biased,
        note=f"{heads} heads, mask {None if mask is None else mask.shape}, biases {biased}",
    )  # fmt: skip
    # Three products follow each other: with numbers of size 1, float32 would round away what is compared.
    return replace(drawn, bases=[0.4 * base for base in drawn.bases])


CASES_OF_LAYERS: dict[str, st.SearchStrategy[Case]] = {
    "add_norm": add_norm(),
    "embedding": embedding(),
    "feed_forward": feed_forward(),
    "multi_head_attention": multi_head_attention(),
}
