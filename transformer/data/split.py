"""Which sentences are trained on, which choose the weights, and which judge: by a hash of the source, never by a seed.

So two machines, two runs and two versions of a file (with pairs added, or in another order) agree on what a model may
not have seen. Sources with the same words fall on the same side, whatever their case and punctuation.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from transformer.data.grouping import Group, wording
from transformer.tasks.held_out import held_out


class Split(NamedTuple):
    """Groups for each purpose, shuffled; no two purposes share a source."""

    train: list[Group]
    validation: list[Group]
    test: list[Group]


def split(groups: Iterable[Group], one_in: int = 20) -> Split:
    """Put about one in `one_in` of all groups in the test, as many in the validation, and the rest in the training.

    Files are nearly sorted by length, so each part is shuffled: in the order of a hash, which is the same everywhere.
    """
    if one_in < 2:
        raise ValueError(f"one_in has to be at least 2, or nothing is left to train on, not {one_in}")
    parts = Split([], [], [])
    for group in sorted(groups, key=lambda group: (_place(group.source), group.source)):
        words = wording(group.source)
        if held_out(f"test {words}", one_in):
            parts.test.append(group)
        elif held_out(f"validation {words}", one_in):
            parts.validation.append(group)
        else:
            parts.train.append(group)
    return parts


def _place(source: str) -> bytes:
    return blake2b(source.encode(), digest_size=8, person=b"order").digest()
