"""Models of one stack, from the same layers: encoder-only, as BERT, and decoder-only, as GPT and Llama.

Shapes: B batch, T length, D d_model, V vocabulary.
"""

from typing import Any

import numpy as np

import minigrad as mg
from transformer.activations import Observed, noted
from transformer.cache import Cache
from transformer.config import OneStackConfig
from transformer.decoding.generate import generate
from transformer.decoding.writer import Writer
from transformer.layers import TiedProjection, TokenEmbedding, View
from transformer.masks import Ids, decoder_mask, padding_mask
from transformer.positions import added_positions, after, in_self_attention, places_of
from transformer.stacks import Encoder
from transformer.vocabulary import PAD, as_ids


class OneStack(Observed):
    """What the two kinds share, below and above the stack: embedding, positions, output.

    config: its shape. rng: where the initial weights come from. bias: whether the output has one.
    """

    def __init__(self, config: OneStackConfig, rng: np.random.Generator, bias: bool) -> None:
        if not isinstance(config, OneStackConfig):
            raise TypeError(f"{type(self).__name__} takes a OneStackConfig, not a {type(config).__name__}")
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.d_model, rng)
        self.positions = added_positions(config, rng)
        self.output: mg.nn.Module = (
            mg.nn.Linear(config.d_model, config.vocab, rng, bias)
            if config.tied == "none"
            else TiedProjection(self.embedding.weight, bias)
        )


class EncoderOnly(OneStack):
    """Every word sees every word, and only padding is hidden: for masked words, for labels of words.

    config: its shape. rng: a seed or generator for the initial weights, and for nothing else.
    """

    def __init__(self, config: OneStackConfig, rng: int | np.random.Generator = 0) -> None:
        seeded = np.random.default_rng(rng)
        super().__init__(config, seeded, bias=True)
        self.encoder = Encoder(config, seeded)

    def forward(self, ids: Any, rng: np.random.Generator | None = None) -> mg.Tensor:
        """Logits at every position: integers (B, T) -> (B, T, V). rng: where dropout's randomness comes from."""
        ids = as_ids("ids", ids)
        words = ids != PAD
        places = places_of(words)
        x = self.positions(self.embedding(ids), places, rng)
        view = View(padding_mask(words), in_self_attention(self.config, places, places, x.dtype))
        return noted(self, "logits", self.output(self.encoder(x, view, rng)))


class DecoderOnly(OneStack):
    """Each word sees itself and what stands before it, and tells what comes next: the decoder without an encoder.

    Its output has no bias, as GPT-2's and Llama's have none.
    config: its shape. rng: a seed or generator for the initial weights, and for nothing else.
    """

    def __init__(self, config: OneStackConfig, rng: int | np.random.Generator = 0) -> None:
        seeded = np.random.default_rng(rng)
        super().__init__(config, seeded, bias=False)
        self.decoder = Encoder(config, seeded)  # such a layer has no cross-attention

    def forward(self, ids: Any, rng: np.random.Generator | None = None) -> mg.Tensor:
        """Logits of the next word at every position: integers (B, T) -> (B, T, V). rng: for dropout."""
        return self._decode(as_ids("ids", ids), rng, None)

    def decode(self, ids: Any, cache: Cache | None = None) -> mg.Tensor:
        """Logits of the next word: (B, T) -> (B, T, V).

        cache: what earlier calls with the same cache left; ids are then only what follows what they were given. A
        call's own is added to it. The logits are those of all at once.
        """
        with self.scope():
            return self._decode(as_ids("ids", ids), None, cache)

    def new_cache(self) -> Cache:
        """An empty cache for `decode`."""
        return Cache(self.config.layers)

    def writer(self, prompt: Any) -> Writer:
        """What writes on, word by word, after each row of `prompt` (B, T); shorter ones are padded on the left.

        Raises ValueError for a prompt that ends in padding.
        """
        prompt = as_ids("prompt", prompt)
        if (prompt[:, -1] == PAD).any():
            row = int(np.argmax(prompt[:, -1] == PAD))
            raise ValueError(f"prompt: row {row} ends in padding; shorter prompts are padded on the left")
        return Writer(self.decode, (), prompt, self.new_cache())

    def generate(self, prompt: Any, max_length: int = 64, beam: int = 1, length_penalty: float = 0.6) -> Ids:
        """What follows each prompt: (B, T) -> (B, up to max_length) ids, without the prompt.

        A row ends with eos, if it came to one, then padding. beam, length_penalty: as in `Transformer.generate`.
        """
        with self.scope():
            return generate(self, as_ids("prompt", prompt), max_length, beam, length_penalty)

    def _decode(self, ids: Ids, rng: np.random.Generator | None, cache: Cache | None) -> mg.Tensor:
        length = ids.shape[1]
        words = ids != PAD if cache is None else cache.extended(ids)
        places = places_of(words)
        new = after(places, length)
        x = self.positions(self.embedding(ids), new, rng)
        view = View(decoder_mask(words, length), in_self_attention(self.config, new, places, x.dtype))
        x = self.decoder(x, view, rng, cache)
        if cache is not None:
            cache.remember(words)
        return noted(self, "logits", self.output(x))
