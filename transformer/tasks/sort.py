"""Sort: a string of ten letters, and its letters in the order of the alphabet.

Strings are 4 to 16 letters long, every length as likely as any other. What is held out is one answer in ten, with every
string that leads to it: no reordering of a test string was ever trained on, so none can be looked up.
"""

from collections.abc import Sequence

import numpy as np

from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary

LETTERS = "abcdefghij"
SHORTEST, LONGEST = 4, 16
ONE_IN = 10


def is_unseen(letters: Sequence[str]) -> bool:
    """Whether this string is held out from training; so is every reordering of it."""
    return held_out("sort:" + "".join(sorted(letters)), ONE_IN)


def sample(rng: np.random.Generator) -> Pair:
    """Draw a training pair."""
    while is_unseen(letters := _draw(rng)):
        pass
    return _pair(letters)


def draw_test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Draw `size` distinct unseen strings."""
    rng = np.random.default_rng(seed)
    unseen: dict[Pair, None] = {}
    while len(unseen) < size:
        if is_unseen(letters := _draw(rng)):
            unseen[_pair(letters)] = None
    return {f"lengths {SHORTEST}-{LONGEST}": list(unseen)}


def _draw(rng: np.random.Generator) -> tuple[str, ...]:
    length = SHORTEST + int(rng.random() * (LONGEST - SHORTEST + 1))
    return tuple(LETTERS[int(place)] for place in rng.random(length) * len(LETTERS))


def _pair(letters: tuple[str, ...]) -> Pair:
    return Pair(letters, tuple(sorted(letters)))


def _letters_of(text: str) -> list[str]:
    """Read "c a b", "cab" or "C A B" alike; any other sign becomes a token that the vocabulary does not know."""
    return [sign for sign in text.lower() if not sign.isspace()]


SORT = Task(
    name="sort",
    title="Write the letters in the order of the alphabet: c a b a -> a a b c",
    source_vocabulary=Vocabulary(LETTERS),
    target_vocabulary=Vocabulary(LETTERS),
    sample=sample,
    test_set=draw_test_set,
    test_size=2000,
    tokenize_source=_letters_of,
    render_source=" ".join,
    render_target=" ".join,
    example="h c a j b a e",
    max_source_length=LONGEST,
    max_target_length=LONGEST,
    recipe=Recipe(
        model={"d_model": 64, "heads": 4, "layers": 1, "d_ff": 256, "dropout": 0.0},
        training={"steps": 2000, "warmup": 200, "peak_rate": 3e-3, "window": 8},
    ),
    goal=0.999,
    budget=80,
)
