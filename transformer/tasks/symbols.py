"""Copy and reverse: strings of 20 letters, and what is to be written for them.

Training strings are 1 to 16 letters long, every length as likely as any other; one string in ten is held out. Scored
are unseen strings of 4 to 16 letters. Shorter ones are reported apart, because they are not many: of the 20 one-letter
strings two are held out, of the 400 two-letter strings 44, of the 8,000 three-letter strings 786. A network that has
never seen a letter alone may well stumble over it, which says little about copying.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from transformer.tasks.held_out import held_out
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary

LETTERS = "abcdefghijklmnopqrst"
LONGEST = 16
SHORTEST_SCORED = 4
ONE_IN = 10


def symbol_task(
    name: str, title: str, write: Callable[[tuple[str, ...]], tuple[str, ...]], steps: int, window: int, budget: float
) -> Task:
    """Return the task of reading letters and writing `write(letters)`, as many letters as were read.

    steps, window: of the training; budget: CPU seconds.
    """
    vocabulary = Vocabulary(LETTERS)

    def sample(rng: np.random.Generator) -> Pair:
        while is_unseen(letters := _draw(rng, 1)):
            pass
        return Pair(letters, write(letters))

    def test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
        rng = np.random.default_rng(seed)
        splits = {
            f"lengths {SHORTEST_SCORED}-{LONGEST}": _scored(rng, size),
            f"lengths 1-{SHORTEST_SCORED - 1}": _short(rng, size),
        }
        return {key: [Pair(letters, write(letters)) for letters in strings] for key, strings in splits.items()}

    return Task(
        name=name,
        title=title,
        source_vocabulary=vocabulary,
        target_vocabulary=vocabulary,
        sample=sample,
        test_set=test_set,
        test_size=2000,
        tokenize_source=_letters_of,
        render_source=" ".join,
        render_target=" ".join,
        example="a b c d e f",
        max_source_length=LONGEST,
        max_target_length=LONGEST,
        recipe=Recipe(
            model={"d_model": 64, "heads": 4, "layers": 1, "d_ff": 256, "dropout": 0.0},
            training={"steps": steps, "warmup": 200, "peak_rate": 3e-3, "window": window},
        ),
        goal=0.999,
        budget=budget,
    )


def is_unseen(letters: Sequence[str]) -> bool:
    """Whether this string is held out from training."""
    return held_out("symbols:" + "".join(letters), ONE_IN)


def _draw(rng: np.random.Generator, shortest: int) -> tuple[str, ...]:
    length = shortest + int(rng.random() * (LONGEST - shortest + 1))
    return tuple(LETTERS[int(place)] for place in rng.random(length) * len(LETTERS))


def _scored(rng: np.random.Generator, size: int) -> list[tuple[str, ...]]:
    """Draw `size` distinct unseen strings of lengths 4 to 16."""
    strings: dict[tuple[str, ...], None] = {}
    while len(strings) < size:
        if is_unseen(letters := _draw(rng, SHORTEST_SCORED)):
            strings[letters] = None
    return list(strings)


def _short(rng: np.random.Generator, size: int) -> list[tuple[str, ...]]:
    """Return all unseen strings of lengths 1 to 3, the shortest first, cut to `size`."""

    def unseen() -> Iterator[tuple[str, ...]]:
        for length in range(1, SHORTEST_SCORED):
            strings = [letters for letters in product(LETTERS, repeat=length) if is_unseen(letters)]
            yield from (strings[place] for place in rng.permutation(len(strings)))

    return list(unseen())[:size]


def _letters_of(text: str) -> list[str]:
    """Read "a b c", "abc" or "A B C" alike; any other sign becomes a token that the vocabulary does not know."""
    return [sign for sign in text.lower() if not sign.isspace()]


COPY = symbol_task(
    "copy",
    "Write the letters as they stand: a b c -> a b c",
    write=lambda letters: letters,
    steps=1200,
    window=8,
    budget=60,
)
REVERSE = symbol_task(
    "reverse",
    "Write the letters from back to front: a b c -> c b a",
    write=lambda letters: letters[::-1],
    steps=2400,
    window=4,  # with 8, where a batch has fewer lengths, one string of 2,000 stays wrong
    budget=90,
)
