"""Words and punctuation marks as tokens, for languages that write spaces between words.

A text is written back with the spaces that English has: none before a closing mark, none after an opening one. Where
the text had it otherwise, a token says so, and so decoding gives the text back, with single spaces between its words.
No text can spell these tokens, since `<` and `>` are always tokens of their own.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

JOIN, SPACE = "<join>", "<space>"  # no space here, though English has one; a space, though English has none
CAPITAL, CAPITALS = "<capital>", "<capitals>"  # of the word that follows
CLOSING = frozenset(".,!?;:%)]}…。，！？；：）》」』、’”")
OPENING = frozenset("([{¿¡（《「『‘“")
INSIDE_WORDS, INSIDE_NUMBERS = frozenset("'’"), frozenset(".,:")


@dataclass(frozen=True)
class WordTokeniser:
    """Words ("don't" and "3.5" are one each) and other characters, one by one.

    lower: whether words are lower-cased, so that "Dogs" and "dogs" share what is learnt; a token before a word says
    that it began with a capital, or was all capitals, and decoding restores it. Words cased otherwise (iPhone) stay.
    `decode(encode(text))` is `" ".join(text.split())`, lower or not.
    """

    lower: bool = False

    def encode(self, text: str) -> list[str]:
        """Return the tokens, the tokens that say what is unusual among them."""
        tokens: list[str] = []
        before = ""
        for chunk in text.split():
            spaced = bool(before)
            for piece in pieces(chunk):
                if before and spaced != space_between(before, piece):
                    tokens.append(SPACE if spaced else JOIN)
                tokens += lowered(piece) if self.lower else [piece]
                before, spaced = piece, False
        return tokens

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the text."""
        text, before, gap, case = "", "", None, None
        for token in tokens:
            if token in (JOIN, SPACE):
                gap = token == SPACE
            elif token in (CAPITAL, CAPITALS):
                case = token
            else:
                piece = cased(token, case)
                spaced = space_between(before, piece) if gap is None else gap
                text += " " + piece if before and spaced else piece
                before, gap, case = piece, None, None
        return text


def pieces(chunk: str) -> Iterator[str]:
    """Yield the words and the marks of a text without white space."""
    if chunk.isalnum():  # most words: nothing to look at
        yield chunk
        return
    start = 0
    for place in range(1, len(chunk) + 1):
        if place == len(chunk) or not _one_word(chunk, place):
            yield chunk[start:place]
            start = place


def _one_word(chunk: str, place: int) -> bool:
    """Whether the characters before and at `place` belong to one word."""
    before, at = chunk[place - 1], chunk[place]
    if _of_words(before) and _of_words(at):
        return True
    if _of_words(before):  # don't, 3.5: the mark has word on both sides
        return place + 1 < len(chunk) and _inside(before, at, chunk[place + 1])
    return place >= 2 and _of_words(at) and _inside(chunk[place - 2], before, at)


def _inside(before: str, mark: str, after: str) -> bool:
    if mark in INSIDE_WORDS:
        return _of_words(before) and _of_words(after)
    return mark in INSIDE_NUMBERS and before.isdigit() and after.isdigit()


def _of_words(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN"


def space_between(before: str, after: str) -> bool:
    """Whether English has a space between two pieces."""
    return before not in OPENING and after not in CLOSING


def lowered(piece: str) -> list[str]:
    """A word in lower case, after the token for the case it had; as it is if that would not bring it back."""
    low = piece.lower()
    if low == piece:
        return [piece]
    if cased(low, CAPITAL) == piece:
        return [CAPITAL, low]
    return [CAPITALS, low] if cased(low, CAPITALS) == piece else [piece]


def cased(word: str, case: str | None) -> str:
    """A word in the case that a token says."""
    if case is None:
        return word
    return word[:1].upper() + word[1:] if case == CAPITAL else word.upper()
