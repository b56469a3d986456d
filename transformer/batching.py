"""Id lists of unequal length to the rectangular arrays a model reads.

The target is fed shifted right (section 3.1 of the paper): the decoder reads `<bos> y1 .. yn` and is asked for
`y1 .. yn <eos>`, so position t sees only what stands before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from transformer.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True, eq=False)
class Batch:
    """B sentence pairs as read-only int64 arrays, padded on the right with `PAD`."""

    source: NDArray[np.int64]  # (B, T_s)  the source ids, nothing added
    target_in: NDArray[np.int64]  # (B, T_t)  <bos> y1 .. yn
    target_out: NDArray[np.int64]  # (B, T_t)  y1 .. yn <eos>

    def __len__(self) -> int:
        return len(self.source)

    @property
    def tokens(self) -> int:
        """How many target tokens there are to be learnt, the ends included."""
        return int(np.count_nonzero(self.target_out != PAD))

    def split(self, parts: int) -> list["Batch"]:
        """The pairs in their order as `parts` batches that differ by one pair at most; fewer if there are not as many.

        They look at this batch's arrays, and are padded as it is.
        """
        bounds = [len(self) * part // parts for part in range(parts + 1)]
        return [
            Batch(self.source[start:stop], self.target_in[start:stop], self.target_out[start:stop])
            for start, stop in pairwise(bounds)
            if start < stop
        ]


def pad(sequences: Sequence[Sequence[int]], value: int = PAD) -> NDArray[np.int64]:
    """Return B id lists as one (B, T) int64 array, T the longest, `value` on the right of the shorter ones.

    Raises `ValueError` if there is no sequence at all.
    """
    if not len(sequences):
        raise ValueError("cannot pad an empty batch")
    padded = np.full((len(sequences), max(map(len, sequences))), value, dtype=np.int64)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return padded


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Return B (source ids, target ids) pairs as a `Batch`; the ids hold neither bos nor eos.

    An empty target is a sentence that ends at once. Raises `ValueError` for an empty batch and for an empty source,
    which would leave attention nothing to look at.
    """
    if not len(pairs):
        raise ValueError("cannot make a batch of no pairs")
    for number, (source, _) in enumerate(pairs):
        if not len(source):
            raise ValueError(f"pair {number} of the batch has an empty source")
    batch = Batch(
        source=pad([source for source, _ in pairs]),
        target_in=pad([[BOS, *target] for _, target in pairs]),
        target_out=pad([[*target, EOS] for _, target in pairs]),
    )
    for array in (batch.source, batch.target_in, batch.target_out):
        array.flags.writeable = False
    return batch
