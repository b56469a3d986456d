"""The shape of a model. The defaults are the paper's base model (section 3, table 3); the rest came after the paper."""

from dataclasses import dataclass

CHOICES: dict[str, tuple[str, ...]] = {
    "norm": ("post", "pre"),
    "norm_kind": ("layer", "rms"),
    "positions": ("sinusoidal", "learned", "rotary", "alibi", "randomised", "none"),
    "cross_positions": ("none", "rotary", "rotary_both_ends"),
    "feed_forward": ("relu", "gelu", "swiglu"),
    "tied": ("none", "output", "all"),
}
"""What each named choice of a config can be; the first is the paper's, but for `tied`, where it is "all"."""


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    """The shape of a stack of layers, encoder or decoder.

    d_model: the width of every position's vector. heads: how many attention heads share it, d_model / heads each.
    kv_heads: how many heads of keys and values there are, each for heads / kv_heads heads of queries, which stand side
        by side (Ainslie et al. 2023); 0 for as many as heads.
    layers: N, of each stack. d_ff: the inner width of the feed-forward networks.
    dropout: its rate, on the embeddings' sum and on every sub-layer's output (section 5.4).
    norm: "post" normalises after each residual sum, as the paper; "pre" before each sub-layer, with a last norm at the
        end of each stack (Xiong et al. 2020).
    norm_kind: "layer" normalisation; "rms", by the root mean square alone, without a bias (Zhang and Sennrich 2019).
    positions: how a model tells places apart, see `transformer.positions`: "sinusoidal"; "learned", a vector for each;
        "rotary", queries and keys turned by their place (Su et al. 2021); "alibi", a penalty of distance on the scores
        (Press et al. 2022); "randomised", sinusoids of a sorted random subset of a longer range (Ruoss et al. 2023);
        "none".
    rotary_base: pair i of a query or key turns by place / base^(2i / D_h); with a greater one all but the first turn
        more slowly, and places must be farther apart to look alike (`transformer.study.lengths` measures it).
    feed_forward: "relu"; "gelu"; "swiglu", (silu(x W_g) * x W_1) W_2 (Shazeer 2020).
    bias: whether the layers' linear maps and layer normalisations add one.
    max_length: the longest sequence; learned positions end there, sinusoids grow past it.
    Raises ValueError for what does not fit together.
    """

    d_model: int = 512
    heads: int = 8
    kv_heads: int = 0
    layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    norm: str = "post"
    norm_kind: str = "layer"
    positions: str = "sinusoidal"
    rotary_base: float = 10000.0
    feed_forward: str = "relu"
    bias: bool = True
    max_length: int = 512

    def __post_init__(self) -> None:
        self._require_sizes("d_model", "heads", "layers", "d_ff", "max_length")
        if self.d_model % self.heads:
            raise ValueError(f"d_model={self.d_model} must be a multiple of heads={self.heads}")
        if isinstance(self.kv_heads, bool) or not isinstance(self.kv_heads, int) or self.kv_heads < 0:
            raise ValueError(f"kv_heads must be a positive integer, or 0 for as many as heads, not {self.kv_heads!r}")
        if self.heads % self.key_value_heads:
            raise ValueError(f"heads={self.heads} must be a multiple of kv_heads={self.kv_heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), not {self.dropout}")
        if not 1 < self.rotary_base < float("inf"):
            raise ValueError(f"rotary_base must be a number greater than 1, not {self.rotary_base!r}")
        if not isinstance(self.bias, bool):
            raise ValueError(f"bias is True or False, not {self.bias!r}")
        for name, choices in CHOICES.items():
            if getattr(self, name, choices[0]) not in choices:
                raise ValueError(f"{name} is {' or '.join(map(repr, choices))}, not {getattr(self, name)!r}")
        if self.positions == "rotary":
            self._require_pairs("positions", self.positions)

    @property
    def d_head(self) -> int:
        """The width of one head, d_model / heads."""
        return self.d_model // self.heads

    @property
    def key_value_heads(self) -> int:
        """How many heads of keys and values there are."""
        return self.kv_heads or self.heads

    def _require_sizes(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")

    def _require_pairs(self, name: str, choice: str) -> None:
        if self.d_head % 2:
            raise ValueError(
                f"{name}={choice!r} turns pairs, so a head's width must be even, not {self.d_head} "
                f"(d_model={self.d_model} / heads={self.heads})"
            )


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(StackConfig):
    """The shape of an encoder-decoder Transformer; the rest is as `StackConfig` says.

    source_vocab, target_vocab: sizes of the vocabularies, with the four special tokens.
    cross_positions: whether the decoder's queries and the encoder's keys are turned by their places too: "none", as in
        the paper; "rotary"; "rotary_both_ends", in which the second half of the heads count the source from its end.
    tied: "none"; "output": the output projection is the target embedding, transposed; "all": the source embedding too
        (section 3.4), which needs one vocabulary for both sides.
    """

    source_vocab: int
    target_vocab: int
    cross_positions: str = "none"
    tied: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_sizes("source_vocab", "target_vocab")
        if self.tied == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f"tied='all' needs one vocabulary: source_vocab={self.source_vocab}, target_vocab={self.target_vocab}"
            )
        if self.cross_positions != "none":
            self._require_pairs("cross_positions", self.cross_positions)
        if self.cross_positions == "rotary_both_ends" and self.key_value_heads % 2:
            raise ValueError(
                f"cross_positions='rotary_both_ends' halves the heads of keys: {self.key_value_heads} can't be halved"
            )


@dataclass(frozen=True, kw_only=True)
class OneStackConfig(StackConfig):
    """The shape of a model of one stack, encoder-only or decoder-only; the rest is as `StackConfig` says.

    vocab: the size of the vocabulary, with the special tokens.
    tied: "none"; "output": the output projection is the embedding, transposed.
    """

    vocab: int
    tied: str = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_sizes("vocab")
        if self.tied == "all":
            raise ValueError("tied is 'none' or 'output' in a model of one vocabulary, not 'all'")
