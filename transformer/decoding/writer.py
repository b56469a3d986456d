"""The writer: rows that grow by a word at a time, keys and values of what is written kept.

Shapes: B rows, T words, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.cache import Cache
from transformer.masks import Ids
from transformer.vocabulary import BOS, EOS, PAD

Floats = npt.NDArray[np.float64]


class Written(NamedTuple):
    """One sequence a row: ids (B, L), padded after eos, and each word's log-probability (B, L), 0 at padding."""

    ids: Ids
    log_probabilities: Floats


class Writer:
    """Rows that a model writes. Each step costs one position, not all that were written before.

    decode: `decode(ids, *given, cache)` -> logits (B, T, V) of what follows each of `ids` (B, T), the cache knowing
        what went before. given: what else it takes, with a row for each row. begun: what is written already (B, T).
    """

    def __init__(self, decode: Callable[..., mg.Tensor], given: tuple[Any, ...], begun: Ids, cache: Cache) -> None:
        self._decode = decode
        self._given = given
        self._cache = cache
        self._new = begun  # what the model has not read yet

    def logits(self) -> npt.NDArray[Any]:
        """Logits of what each row may write next, (B, V); padding and bos are never written: -inf. Once a step.

        Raises ValueError for a row in which they are NaN, or in which nothing can be written: there is no likeliest.
        """
        with mg.no_grad():
            following = self._decode(self._new, *self._given, self._cache).data[:, -1].copy()
        following[:, [PAD, BOS]] = -np.inf
        best = following.max(axis=-1, initial=-np.inf)  # NaN where any is
        if not np.isfinite(best).all():
            row = int(np.argmin(np.isfinite(best)))
            raise ValueError(
                f"the logits of row {row} are {'NaN' if np.isnan(best[row]) else best[row]}: no next word is the "
                "likeliest. The model's weights hold NaN or infinity, or numbers so great that they overflow"
            )
        return following

    def write(self, rows: npt.NDArray[np.intp], words: Ids) -> None:
        """Go on with these rows, by index, in any order and more than once, each having written a word: (B,) each."""
        if len(rows) != len(self._new) or (rows != np.arange(len(rows))).any():
            self._given = tuple(part[rows] for part in self._given)
            self._cache.keep(rows)
        self._new = words[:, None]


class CanWrite(Protocol):
    """A model that decoders take: it gives a writer for each row of `source` (B, T_s), a text or a beginning."""

    def writer(self, source: Any) -> Writer:
        """A writer that has written nothing yet."""


def log_probabilities(logits: npt.NDArray[Any]) -> Floats:
    """log softmax(logits), float64: (B, V) -> (B, V). None is positive; what is never written has -inf."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def written_by(
    model: CanWrite, source: Any, max_length: int, choose: Callable[[Floats, npt.NDArray[np.intp]], Ids]
) -> Written:
    """Rows written independently, word by word: (B, T_s) -> ids (B, up to max_length), log-probabilities likewise.

    choose: the next words (B',) from log-probabilities (B', V) and the rows (B',) that are still written. A row that
    has ended leaves the batch, so it costs nothing more. Raises ValueError for max_length below 1.
    """
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    writer = model.writer(source)
    going = np.arange(len(source))
    ids = np.full((len(going), max_length), PAD, dtype=np.int64)
    scores = np.zeros(ids.shape)
    for length in range(max_length):
        if not len(going):
            return Written(ids[:, :length], scores[:, :length])
        log_p = log_probabilities(writer.logits())
        words = choose(log_p, going)
        ids[going, length] = words
        scores[going, length] = log_p[np.arange(len(going)), words]
        unfinished = np.flatnonzero(words != EOS)
        writer.write(unfinished, words[unfinished])
        going = going[unfinished]
    return Written(ids, scores)
