"""Words to numbers and back: the four special ids, and the `Vocabulary` that gives every word its own."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
FORMAT = "minigrad-transformer vocabulary 1"


class Vocabulary:
    """An immutable one-to-one map between tokens and ids.

    The specials come first (`<pad>` 0, `<bos>` 1, `<eos>` 2, `<unk>` 3), then the given tokens in the given order from
    id 4. Only the given tokens are words: text that happens to spell `<eos>` is an unknown word, never an end.

    Raises `ValueError` for a token that is empty, given twice, or spelled like a special; `TypeError` for one that is
    no string.
    """

    __slots__ = ("_ids", "_tokens")

    _tokens: tuple[str, ...]
    _ids: dict[str, int]

    def __init__(self, tokens: Iterable[str]) -> None:
        ids: dict[str, int] = {}
        for token in tokens:
            if not isinstance(token, str):
                raise TypeError(f"a token is a string, not {type(token).__name__}: {token!r}")
            if not token:
                raise ValueError("a token must not be empty")
            if token in SPECIALS:
                raise ValueError(f"{token!r} is reserved: {', '.join(SPECIALS)} are in every vocabulary already")
            if token in ids:
                raise ValueError(f"the token {token!r} is given twice")
            ids[token] = len(SPECIALS) + len(ids)
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_tokens", SPECIALS + tuple(ids))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Vocabulary cannot be changed")

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token, specials included; the id of a token is its place."""
        return self._tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return self._tokens == other._tokens if isinstance(other, Vocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[tuple[str, ...]]]:
        return Vocabulary, (self._tokens[len(SPECIALS) :],)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token, `UNK` for a word outside; adds neither bos nor eos."""
        return [self._ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of `ids` up to the first eos, without pad and bos.

        `ids` may be a NumPy row as `generate` returns it. Raises `ValueError` for an id that no token has.
        """
        tokens: list[str] = []
        for number in map(int, ids):
            if number == EOS:
                break
            if not 0 <= number < len(self._tokens):
                raise ValueError(f"no token has the id {number}: this vocabulary holds 0 to {len(self) - 1}")
            if number not in (PAD, BOS):
                tokens.append(self._tokens[number])
        return tokens

    def unknown(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens that are no words of this vocabulary, in order, each once (so that a caller can warn)."""
        return list(dict.fromkeys(token for token in tokens if token not in self._ids))

    def to_json(self) -> str:
        """Return the vocabulary as a JSON text that `from_json` reads."""
        return json.dumps({"format": FORMAT, "tokens": self._tokens}, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Vocabulary":
        """Return the vocabulary that `to_json` wrote; raises `ValueError` for any other text."""
        try:
            content: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a vocabulary: broken JSON ({error})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f'not a vocabulary: no "format": "{FORMAT}" in it')
        tokens = content.get("tokens")
        if not isinstance(tokens, list) or tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f'not a vocabulary: its "tokens" must be a list that starts with {", ".join(SPECIALS)}')
        try:
            return cls(tokens[len(SPECIALS) :])
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a vocabulary: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the vocabulary to `path` as UTF-8 JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read what `save` wrote; raises `ValueError` that names the file if it holds anything else."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not a vocabulary: not UTF-8 text") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def as_ids(name: str, ids: Any) -> npt.NDArray[np.int64]:
    """Token ids as an int64 array (B, T). Raises TypeError or ValueError for anything else."""
    array = np.asarray(ids.data if isinstance(ids, mg.Tensor) else ids)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: token ids are integers, not {array.dtype}")
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"{name}: token ids have the shape (B, T) with T at least 1, not {array.shape}")
    return array.astype(np.int64, copy=False)
