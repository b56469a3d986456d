"""Each character a token: the shortest vocabulary, and the longest sequences. Good for Chinese."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CharacterTokeniser:
    """Each code point a token, spaces too; `decode(encode(text))` is `text`."""

    def encode(self, text: str) -> list[str]:
        """Return the characters."""
        return list(text)

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the characters as one text."""
        return "".join(tokens)
