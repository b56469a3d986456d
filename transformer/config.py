"""TransformerConfig: the shape of a model. The defaults are the paper's base model (section 3, table 3)."""

from dataclasses import dataclass

CHOICES: dict[str, tuple[str, ...]] = {
    "norm": ("post", "pre"),
    "norm_kind": ("layer",),
    "positions": ("sinusoidal",),
    "tied": ("none", "output", "all"),
}
"""What each named choice of the config can be; the first is the paper's, but for `tied`, where it is "all"."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The shape of an encoder-decoder Transformer.

    source_vocab, target_vocab: sizes of the vocabularies, with the four special tokens.
    d_model: the width of every position's vector. heads: how many attention heads share it, d_model / heads each.
    layers: N, of the encoder and of the decoder. d_ff: the inner width of the feed-forward networks.
    dropout: its rate, on the embeddings' sum and on every sub-layer's output (section 5.4).
    norm: "post" normalises after each residual sum, as the paper; "pre" before each sub-layer, with a last norm at the
        end of each stack (Xiong et al. 2020).
    tied: "none"; "output": the output projection is the target embedding, transposed; "all": the source embedding too
        (section 3.4), which needs one vocabulary for both sides.
    max_length: how many positions are computed beforehand; sinusoids grow past it.
    Raises ValueError for what does not fit together.
    """

    source_vocab: int
    target_vocab: int
    d_model: int = 512
    heads: int = 8
    layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    norm: str = "post"
    norm_kind: str = "layer"
    positions: str = "sinusoidal"
    tied: str = "none"
    max_length: int = 512

    def __post_init__(self) -> None:
        for name in ("source_vocab", "target_vocab", "d_model", "heads", "layers", "d_ff", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        if self.d_model % self.heads:
            raise ValueError(f"d_model={self.d_model} must be a multiple of heads={self.heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), not {self.dropout}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {' or '.join(map(repr, choices))}, not {getattr(self, name)!r}")
        if self.tied == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f"tied='all' needs one vocabulary: source_vocab={self.source_vocab}, target_vocab={self.target_vocab}"
            )

    @property
    def d_head(self) -> int:
        """The width of one head, d_model / heads."""
        return self.d_model // self.heads
