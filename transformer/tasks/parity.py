"""Parity of a bit string, written as it is counted: after every bit, whether the ones so far are odd (1) or even (0).

The parity of the whole string is the last sign. Asked for that sign alone, a Transformer would have to see all bits at
once, and changing any one of them changes the answer: there is no part of it to learn first, and training hardly gets
anywhere. Sign by sign each is the one before, turned round if the bit at its place is 1, and that is learnable.

Strings are 8 to 24 bits long, every length as likely as any other; one string in ten is held out.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import ne

import numpy as np

from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary

BITS = "01"
SHORTEST, LONGEST = 8, 24
ONE_IN = 10


def is_unseen(bits: Sequence[str]) -> bool:
    """Whether this string is held out from training."""
    return held_out("parity:" + "".join(bits), ONE_IN)


def sample(rng: np.random.Generator) -> Pair:
    """Draw a training pair."""
    while is_unseen(bits := _draw(rng)):
        pass
    return _pair(bits)


def draw_test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Draw `size` distinct unseen strings."""
    rng = np.random.default_rng(seed)
    unseen: dict[Pair, None] = {}
    while len(unseen) < size:
        if is_unseen(bits := _draw(rng)):
            unseen[_pair(bits)] = None
    return {f"lengths {SHORTEST}-{LONGEST}": list(unseen)}


def _draw(rng: np.random.Generator) -> tuple[str, ...]:
    length = SHORTEST + int(rng.random() * (LONGEST - SHORTEST + 1))
    return tuple(BITS[bit] for bit in (rng.random(length) < 0.5).tolist())


def _pair(bits: tuple[str, ...]) -> Pair:
    running = accumulate((bit == "1" for bit in bits), ne)  # odd and even differ by each one that comes
    return Pair(bits, tuple(BITS[odd] for odd in running))


def _bits_of(text: str) -> list[str]:
    """Read "1 0 1" or "101"; any other sign becomes a token that the vocabulary does not know."""
    return [sign for sign in text if not sign.isspace()]


PARITY = Task(
    name="parity",
    title="Write the parity of the bits so far, the whole string's last: 1 0 1 1 -> 1 1 0 1",
    source_vocabulary=Vocabulary(BITS),
    target_vocabulary=Vocabulary(BITS),
    sample=sample,
    test_set=draw_test_set,
    test_size=2000,
    tokenize_source=_bits_of,
    render_source=" ".join,
    render_target=" ".join,
    example="1 0 1 1 0 0 1 0 1",
    max_source_length=LONGEST,
    max_target_length=LONGEST,
    recipe=Recipe(
        model={"d_model": 64, "heads": 4, "layers": 1, "d_ff": 256, "dropout": 0.0},
        training={"steps": 1200, "warmup": 200, "peak_rate": 3e-3, "window": 8},
    ),
    goal=0.999,
    budget=90,
)
