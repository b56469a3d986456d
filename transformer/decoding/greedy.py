"""Greedy decoding: the likeliest word, then the next."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from transformer.masks import Ids
from transformer.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from transformer.model import Transformer


def greedy(model: "Transformer", source: Ids, max_length: int) -> Ids:
    """(B, T_s) -> (B, up to max_length): each row ends with eos, if it came to one, and is padded after it.

    bos and padding are never written. A row that has ended leaves the batch, so it costs nothing more.
    """
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    memory = model.encode(source)
    written = np.full((len(source), max_length), PAD, dtype=np.int64)
    going = np.arange(len(source))
    for length in range(max_length):
        begun = np.concatenate([np.full((len(going), 1), BOS), written[going, :length]], axis=1)
        written[going, length] = next_logits(model, begun, memory[going], source[going]).argmax(axis=-1)
        going = going[written[going, length] != EOS]
        if not len(going):
            return written[:, : length + 1]
    return written


def next_logits(model: "Transformer", begun: Ids, memory: mg.Tensor, source: Ids) -> NDArray[Any]:
    """Logits of what may come after `begun`: (B, T), (B, T_s, D), (B, T_s) -> (B, V); pad and bos never do: -inf."""
    logits = model.decode(begun, memory, source).data[:, -1].copy()
    logits[:, [PAD, BOS]] = -np.inf
    return logits
