"""How a sentence was written, token by token: the probabilities that each token was chosen from, in words."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.vocabulary import EOS, Vocabulary

TOP = 4
END = "(end)"


@dataclass(frozen=True)
class Choice:
    """One step: the token that was written, the most probable ones, and what is left for all others together."""

    written: str
    likeliest: tuple[tuple[str, float], ...]
    other: float


def choices(steps: Iterable[tuple[int, NDArray[np.float64]]], vocabulary: Vocabulary) -> list[Choice]:
    """What `next_token_probabilities` yields, (chosen id, (V,) probabilities) a step, in words."""

    def word(number: int) -> str:
        return END if number == EOS else vocabulary.tokens[number]

    told = []
    for chosen, probabilities in steps:
        order = np.argsort(-probabilities, kind="stable")[:TOP]
        likeliest = tuple((word(int(number)), float(probabilities[number])) for number in order)
        other = max(0.0, 1.0 - sum(share for _, share in likeliest))
        told.append(Choice(word(chosen), likeliest, other))
    return told
