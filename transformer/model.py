"""The whole model: two stacks, embeddings below, the output projection on top. The paper, section 3 and figure 1.

Shapes: B batch, T_s / T_t source and target lengths, D d_model, V target vocabulary.
"""

from typing import Any

import numpy as np

import minigrad as mg
from transformer.activations import Observed, noted
from transformer.cache import Cache
from transformer.config import TransformerConfig
from transformer.decoding.generate import generate
from transformer.decoding.writer import Writer
from transformer.layers import TiedProjection, TokenEmbedding, View
from transformer.masks import Ids, decoder_mask, padding_mask
from transformer.positions import added_positions, after, in_cross_attention, in_self_attention, places_of
from transformer.stacks import Decoder, Encoder
from transformer.vocabulary import BOS, PAD, as_ids


class Transformer(Observed):
    """The encoder-decoder Transformer of "Attention Is All You Need".

    config: its shape. rng: a seed or generator for the initial weights, and for nothing else.
    """

    def __init__(self, config: TransformerConfig, rng: int | np.random.Generator = 0) -> None:
        seeded = np.random.default_rng(rng)
        self.config = config
        self.source_embedding = TokenEmbedding(config.source_vocab, config.d_model, seeded)
        shared = self.source_embedding.weight if config.tied == "all" else None
        self.target_embedding = TokenEmbedding(config.target_vocab, config.d_model, seeded, shared)
        self.source_positions = added_positions(config, seeded)
        self.target_positions = added_positions(config, seeded)
        self.encoder = Encoder(config, seeded)
        self.decoder = Decoder(config, seeded)
        self.output: mg.nn.Module = (
            mg.nn.Linear(config.d_model, config.target_vocab, seeded)
            if config.tied == "none"
            else TiedProjection(self.target_embedding.weight)
        )

    def forward(self, source: Any, target_in: Any, rng: np.random.Generator | None = None) -> mg.Tensor:
        """Logits of the next word at every target position: (B, T_s), (B, T_t) integers -> (B, T_t, V).

        target_in: the target shifted right, so it begins with bos. Position t sees target_in up to t alone.
        rng: where dropout's randomness comes from; None, the default: no dropout.
        """
        source, target_in = as_ids("source", source), as_ids("target_in", target_in)
        return self._decode(target_in, self._encode(source, rng), source, rng, None)

    def encode(self, source: Any) -> mg.Tensor:
        """The encoder's output, "memory": (B, T_s) -> (B, T_s, D)."""
        with self.scope():
            return self._encode(as_ids("source", source), None)

    def decode(self, target_in: Any, memory: mg.Tensor, source: Any, cache: Cache | None = None) -> mg.Tensor:
        """Logits from the encoder's output: (B, T_t), (B, T_s, D), (B, T_s) -> (B, T_t, V).

        cache: what earlier calls with the same cache left; target_in is then only what follows what they were given.
        A call's own is added to it. The logits are those of all at once.
        """
        with self.scope():
            return self._decode(as_ids("target_in", target_in), memory, as_ids("source", source), None, cache)

    def new_cache(self) -> Cache:
        """An empty cache for `decode`."""
        return Cache(self.config.layers)

    def writer(self, source: Any) -> Writer:
        """What writes the rows of `source` (B, T_s) word by word, from bos on; decoders are built on it."""
        with mg.no_grad():
            memory = self.encode(source)
        source = as_ids("source", source)
        begun = np.full((len(source), 1), BOS)
        return Writer(self.decode, (memory, source), begun, self.new_cache())

    def generate(self, source: Any, max_length: int = 64, beam: int = 1, length_penalty: float = 0.6) -> Ids:
        """Translate: (B, T_s) -> (B, up to max_length) ids. A row ends with eos, then padding; it holds no bos.

        It never looks at a target. beam: 1, always the likeliest next word; more, the best that a beam search of this
        width finds, by length_penalty; see `transformer.decoding.beam`.
        """
        with self.scope():
            return generate(self, as_ids("source", source), max_length, beam, length_penalty)

    def _encode(self, source: Ids, rng: np.random.Generator | None) -> mg.Tensor:
        words = source != PAD
        places = places_of(words)
        x = self.source_positions(self.source_embedding(source), places, rng)
        view = View(padding_mask(words), in_self_attention(self.config, places, places, x.dtype))
        memory: mg.Tensor = self.encoder(x, view, rng)
        return memory

    def _decode(
        self, target_in: Ids, memory: mg.Tensor, source: Ids, rng: np.random.Generator | None, cache: Cache | None
    ) -> mg.Tensor:
        length = target_in.shape[1]
        words = target_in != PAD if cache is None else cache.extended(target_in)
        places = places_of(words)
        new = after(places, length)
        y = self.target_positions(self.target_embedding(target_in), new, rng)
        view = View(decoder_mask(words, length), in_self_attention(self.config, new, places, y.dtype))
        source_words = source != PAD
        memory_view = View(padding_mask(source_words), in_cross_attention(self.config, new, source_words, y.dtype))
        y = self.decoder(y, memory, view, memory_view, rng, cache)
        if cache is not None:
            cache.remember(words)
        return noted(self, "logits", self.output(y))
