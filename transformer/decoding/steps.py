"""How the model writes: a token at a time, each time from a probability for every token there is."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from transformer.decoding.greedy import next_logits
from transformer.vocabulary import BOS, EOS

if TYPE_CHECKING:
    from transformer.model import Transformer


@mg.no_grad()
def next_token_probabilities(
    model: "Transformer", source: Sequence[int], max_length: int
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Decode one source greedily, and yield at each step the chosen id and the distribution it was chosen from.

    p(y_t | y_<t, x) = softmax(logits_t), float64, (V,); padding and bos, which are never written, have probability 0.
    The most probable token is taken, read back by the decoder, and so on until the end is chosen (it is yielded too)
    or `max_length` tokens are written: what `model.generate` writes.
    source: (T_s,) ids, at least one. Source: section 3.1 of the paper.
    """
    ids = np.asarray(source, dtype=np.int64)[None, :]  # (1, T_s)
    memory = model.encode(ids)  # (1, T_s, D)
    written = [BOS]
    while len(written) <= max_length:
        logits = next_logits(model, np.asarray([written], dtype=np.int64), memory, ids)[0].astype(np.float64)  # (V,)
        unnormalised = np.exp(logits - logits.max())
        probabilities = unnormalised / unnormalised.sum()
        chosen = int(probabilities.argmax())
        yield chosen, probabilities
        if chosen == EOS:
            return
        written.append(chosen)
