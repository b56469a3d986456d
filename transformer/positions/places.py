"""Where a word stands: the number of words before it in its row. Padding is not counted."""

import numpy as np

from transformer.masks import Ids, Mask


def places_of(words: Mask) -> Ids:
    """The place of each word among its row's words: (B, T) -> (B, T), or (T,) where there is no padding.

    So a sentence has the same places wherever padding stands. Padding has some place, which nobody uses.
    """
    if words.all():
        return np.arange(words.shape[1])
    places: Ids = np.cumsum(words, axis=1) - 1
    return np.maximum(places, 0)


def places_from_end(words: Mask) -> Ids:
    """The same counted backward: the last word has place 0, the one before it 1. Padding has some place, unused."""
    return np.asarray(places_of(words[:, ::-1])[..., ::-1], dtype=np.int64)


def after(places: Ids, count: int) -> Ids:
    """The last `count` places: of what comes after words that were looked at before."""
    return places[..., places.shape[-1] - count :]


def longest(places: Ids) -> int:
    """How many positions these places need: the greatest, and one."""
    return int(places.max(initial=-1)) + 1
