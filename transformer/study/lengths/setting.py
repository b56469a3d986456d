"""What the trainings of a study share, and what a model of each kind is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.config import TransformerConfig
from transformer.tasks.symbols import LETTERS
from transformer.tasks.task import Pair
from transformer.vocabulary import Vocabulary

KINDS: dict[str, tuple[str, str]] = {
    "sinusoidal": ("sinusoidal", "none"),
    "learned": ("learned", "none"),
    "randomised": ("randomised", "none"),
    "none": ("none", "none"),
    "alibi": ("alibi", "none"),
    "rotary-self": ("rotary", "none"),
    "rotary": ("rotary", "rotary"),
    "both-ends": ("rotary", "rotary_both_ends"),
}
"""By name: `positions` and `cross_positions` of the config. rotary-self: in self-attention alone; rotary: in
cross-attention too; both-ends: the same, half of the cross heads counting the source from its end."""

WRITERS: dict[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
    "copy": lambda letters: letters,
    "reverse": lambda letters: letters[::-1],
}
START, END = "^", "$"
VOCABULARY = Vocabulary([*LETTERS, START, END])
MOST_STRINGS = 500


@dataclass(frozen=True)
class Setting:
    """What all trainings of a study share.

    task: "copy" or "reverse". train_length: the longest trained string. steps: of each training. strings: how many
    unseen strings of each length a model is judged by; of one and two letters there are but 2 and 44. marked: whether
    the source stands between two words that mark its ends. rotary_base: see `StackConfig`. The rest is the model's and
    the training's: one layer in each stack, embeddings and output tied, 85,000 parameters.
    Raises ValueError for what makes no sense.
    """

    task: str = "reverse"
    train_length: int = 20
    steps: int = 2000
    strings: int = 200
    marked: bool = True
    rotary_base: float = 10000.0
    d_model: int = 64
    heads: int = 4
    d_ff: int = 128
    batch_size: int = 64
    peak_rate: float = 3e-3

    def __post_init__(self) -> None:
        if self.task not in WRITERS:
            raise ValueError(f"the task is {' or '.join(map(repr, WRITERS))}, not {self.task!r}")
        for name in ("train_length", "steps", "strings", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.strings > MOST_STRINGS:
            raise ValueError(
                f"strings must be at most {MOST_STRINGS}, not {self.strings}: of three letters 786 are unseen"
            )

    @property
    def horizon(self) -> float:
        """How far apart places are that look alike to rotary positions, and did in no trained string.

        The shortest period 2 pi base^(2i / D_h) that is longer than the trained strings.
        """
        width = self.d_model // self.heads
        periods = 2 * np.pi * self.rotary_base ** (np.arange(0, width, 2) / width)
        return float(periods[periods > self.train_length].min(initial=np.inf))


def pair_of(setting: Setting, letters: tuple[str, ...]) -> Pair:
    """What is read and what is to be written."""
    return Pair((START, *letters, END) if setting.marked else letters, WRITERS[setting.task](letters))


def model_config(setting: Setting, kind: str, longest: int) -> TransformerConfig:
    """The model's shape. longest: of any string that it will read.

    Learned positions end with the trained ones: a vector that was never trained says nothing. Randomised ones, and no
    others, are made for the longest string, which is how they are meant. Raises ValueError for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"there are no positions {kind!r}, only {', '.join(KINDS)}")
    positions, cross_positions = KINDS[kind]
    read = max(longest, setting.train_length) if kind == "randomised" else setting.train_length
    return TransformerConfig(
        source_vocab=len(VOCABULARY),
        target_vocab=len(VOCABULARY),
        d_model=setting.d_model,
        heads=setting.heads,
        layers=1,
        d_ff=setting.d_ff,
        dropout=0.0,
        positions=positions,
        cross_positions=cross_positions,
        rotary_base=setting.rotary_base,
        tied="all",
        max_length=read + 2,  # the marks
    )


def can_read(kind: str, length: int, setting: Setting) -> bool:
    """Whether a model with positions of this kind, trained so, has any for a string of this length."""
    return kind != "learned" or length <= setting.train_length


def drawn(rng: np.random.Generator, length: int) -> tuple[str, ...]:
    """A string of random letters."""
    return tuple(LETTERS[place] for place in rng.integers(len(LETTERS), size=length))
