"""What every tokeniser does."""

from collections.abc import Sequence
from typing import Protocol


class Tokeniser(Protocol):
    """Text to tokens and back. A token is a string that is not empty; a `Vocabulary` gives it a number."""

    def encode(self, text: str) -> list[str]:
        """Return the tokens of a text; none for an empty one."""

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens that `encode` gave; of any others, the text they look most like."""
