"""Greedy decoding: the likeliest word, then the next."""

from typing import Any

import numpy as np

from transformer.decoding.writer import CanWrite, Written, written_by


def greedy(model: CanWrite, source: Any, max_length: int = 64) -> Written:
    """The likeliest next word, over and over: (B, T_s) -> ids (B, up to max_length), log-probabilities likewise.

    A row ends with eos, if it came to one, and is padded after it; bos and padding are never written. Of equally likely
    words the smallest id is taken. A row's log-probabilities add up to log P(y | x).
    Raises ValueError for max_length below 1.
    """
    return written_by(model, source, max_length, lambda log_p, rows: np.asarray(log_p.argmax(axis=-1)))
