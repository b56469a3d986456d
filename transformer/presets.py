"""BERT, GPT and Llama as configs: what came of the paper, each a few choices away from it.

    model = DecoderOnly(gpt(vocab=30, layers=2, d_model=32, heads=4, d_ff=64, max_length=64))

Without changes each has the published sizes. A config holds no weights: only a model does.
"""

from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from transformer.config import OneStackConfig


def bert(vocab: int = 30_522, **changes: Any) -> OneStackConfig:
    """BERT-base, for `EncoderOnly`: post-norm as the paper, learned positions, GELU, tied output.

    Left out: segment embeddings, the norm and dropout right after the embeddings' sum (ours has the dropout), the
    pooler and the dense layer before the output. Its eps is 1e-12, here 1e-5; here word vectors are multiplied by
    sqrt(d_model), as in the paper. Source: Devlin et al. 2019, section 3.
    """
    return _config(
        vocab, changes, d_model=768, heads=12, layers=12, d_ff=3072, dropout=0.1, max_length=512,
        norm="post", positions="learned", feed_forward="gelu", tied="output",
    )  # fmt: skip


def gpt(vocab: int = 50_257, **changes: Any) -> OneStackConfig:
    """GPT-2 small, for `DecoderOnly`: pre-norm with a last norm, learned positions, GELU, tied output.

    Left out: the initial weights' scale by depth. Its GELU is the tanh approximation, here it is exact; here word
    vectors are multiplied by sqrt(d_model), as in the paper. Source: Radford et al. 2019, section 2.3 and table 2.
    """
    return _config(
        vocab, changes, d_model=768, heads=12, layers=12, d_ff=3072, dropout=0.1, max_length=1024,
        norm="pre", positions="learned", feed_forward="gelu", tied="output",
    )  # fmt: skip


def llama(vocab: int = 32_000, **changes: Any) -> OneStackConfig:
    """Llama 2 7B, for `DecoderOnly`: pre-norm by the root mean square, rotary positions, SwiGLU, no biases, untied.

    Keys and values are grouped in the 70B model: kv_heads=8 of 64 heads. Here word vectors are multiplied by
    sqrt(d_model), as in the paper. Source: Touvron et al. 2023a, section 2.2; 2023b, table 1.
    """
    return _config(
        vocab, changes, d_model=4096, heads=32, layers=32, d_ff=11_008, dropout=0.0, max_length=4096,
        norm="pre", norm_kind="rms", positions="rotary", feed_forward="swiglu", bias=False, tied="none",
    )  # fmt: skip


def _config(vocab: int, changes: dict[str, Any], **published: Any) -> OneStackConfig:
    """The published config with changes. Raises TypeError, with the nearest name, for one that no config has."""
    known = [field.name for field in fields(OneStackConfig)]
    for name in changes:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise TypeError(f"a config has no {name!r}" + (f": is it {near[0]!r}?" if near else f": it has {known}"))
    return OneStackConfig(vocab=vocab, **(published | changes))
