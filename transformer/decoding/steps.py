"""How the model writes: a token at a time, each time from a probability for every token there is."""

from collections.abc import Iterator, Sequence

import numpy as np

from transformer.decoding.writer import CanWrite, Floats, log_probabilities
from transformer.vocabulary import EOS


def next_token_probabilities(model: CanWrite, source: Sequence[int], max_length: int) -> Iterator[tuple[int, Floats]]:
    """Decode one source greedily, and yield at each step the chosen id and the distribution it was chosen from.

    p(y_t | y_<t, x) = softmax(logits_t), float64, (V,); padding and bos, which are never written, have probability 0.
    The most probable token is taken, read back by the decoder, and so on until the end is chosen (it is yielded too)
    or `max_length` tokens are written: what `model.generate` writes.
    source: (T_s,) ids, at least one. Source: section 3.1 of the paper.
    """
    writer = model.writer(np.asarray(source, dtype=np.int64)[None, :])
    for _ in range(max_length):
        log_p = log_probabilities(writer.logits())[0]
        chosen = int(log_p.argmax())
        yield chosen, np.exp(log_p)
        if chosen == EOS:
            return
        writer.write(np.arange(1), np.array([chosen]))
