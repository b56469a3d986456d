"""Text in two languages, and as a picture takes it: without what XML forbids, measured without a font, in lines."""

import re
import unicodedata
from typing import Literal, NamedTuple

Language = Literal["en", "zh"]


class Words(NamedTuple):
    """One text in English and in Chinese."""

    en: str
    zh: str

    def said(self, language: Language) -> str:
        """The text in one of the two."""
        return self.zh if language == "zh" else self.en


Label = str | Words
"""A label that is the same in both languages (a word of a sentence, a symbol), or one for each."""

NOTHING = Words("nothing to show", "没有可显示的内容")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW, _WIDE = set("iljftrI.,:;'|!()[]·` "), set("mwMW@%→←∞−+=×<>")


def said(label: Label, language: Language) -> str:
    """A label in one language, with � for each character that XML has no place for, and spaces for line breaks."""
    text = label.said(language) if isinstance(label, Words) else str(label)
    return " ".join(_NOT_XML.sub("�", text).split())


def width(text: str, size: float) -> float:
    """About how wide `text` is in pixels, at a font size, in any sans-serif: a Chinese character is a square."""
    return size * sum(_share(c) for c in text)


def shortened(text: str, size: float, most: float) -> str:
    """`text`, cut to `most` pixels with an ellipsis where it is wider."""
    if width(text, size) <= most:
        return text
    while text and width(text + "…", size) > most:
        text = text[:-1]
    return text + "…"


def wrapped(text: str, size: float, most: float) -> list[str]:
    """`text` in lines of at most `most` pixels, broken at spaces and beside Chinese characters, at least one line."""
    lines, line = [], ""
    for piece in re.findall(r"[^\s\u2e80-\uffef]+\s*|[\u2e80-\uffef]\s*|\s+", text):
        if line and width((line + piece).rstrip(), size) > most and not _never_first(piece):
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [shortened(each, size, most + 2 * size) for each in [*lines, line.rstrip()]]


def number(value: float, form: str) -> str:
    """A number as a picture writes it: with a real minus sign, and never minus nothing."""
    text = format(float(value) + 0.0, form)
    if text.startswith("-") and not any(digit in text.split("e")[0] for digit in "123456789in"):
        text = text[1:]
    return text.replace("-", "−").replace("inf", "∞").replace("nan", "NaN")


def power(exponent: int) -> str:
    """10⁻³"""
    return "10" + str(exponent).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))


def _share(c: str) -> float:
    if unicodedata.combining(c):
        return 0.0
    if unicodedata.east_asian_width(c) in "WF":
        return 1.0
    if c in _NARROW:
        return 0.36
    return 0.9 if c in _WIDE else 0.7 if c.isupper() else 0.62


def _never_first(piece: str) -> bool:
    """Whether this is a mark that no line begins with."""
    return piece.strip() in set("，。、；：？！）」』》")
