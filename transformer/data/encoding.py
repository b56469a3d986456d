"""Bytes to text. An encoding is declared, by a byte-order mark or by the user, or it is UTF-8; it is never guessed.

A wrong guess makes plausible nonsense (Chinese in one code page reads as Chinese in another), on which a model then
trains for hours. So whatever is not what it should be is an error that names the line and `--encoding`.
"""

import codecs
import contextlib
from typing import NamedTuple

from transformer.data.errors import DataError

BYTE_ORDER_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
WITHOUT_ORDER = {"utf-16": codecs.BOM_UTF16, "utf-32": codecs.BOM_UTF32}


class Decoded(NamedTuple):
    """A text, the encoding it was in, and whether a byte-order mark stood before it (it is no part of the text)."""

    text: str
    encoding: str
    marked: bool


def decode(data: bytes, encoding: str | None = None) -> Decoded:
    """Return the text of `data`: in `encoding`, else in what its byte-order mark says, else in UTF-8.

    Raises DataError that names the first line that is no such text, also where it holds NULs, as UTF-16 without a mark
    does; for an encoding that does not exist, or that the mark contradicts.
    """
    mark, marked_as = next((found for found in BYTE_ORDER_MARKS if data.startswith(found[0])), (b"", None))
    name = checked_name(encoding) if encoding else marked_as or "utf-8"
    if name in WITHOUT_ORDER:
        if marked_as is None or not marked_as.startswith(name):
            raise DataError(
                f"{encoding} needs a byte-order mark, and there is none at the start: say {name}-le or {name}-be, "
                f"whichever it is"
            )
        name = marked_as
    if marked_as not in (None, name):
        raise DataError(
            f"line 1: begins with the byte-order mark of {marked_as}, so it is not {name}: say so, or nothing"
        )
    text = strictly(data[len(mark) :], name)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"line {line}: holds a NUL. {_advice(name, nul=True)}")
    return Decoded(text, name, bool(mark))


def checked_name(encoding: str) -> str:
    """Python's name of a text encoding. Raises DataError if there is none of this name."""
    try:
        known = codecs.lookup(encoding).name
        with contextlib.suppress(UnicodeDecodeError):  # not of this text, but of text
            b"text".decode(known)
    except (LookupError, ValueError):
        raise DataError(
            f"there is no text encoding {encoding!r}: --encoding takes one that Python knows, as utf-8, utf-16-le, "
            f"gb18030, big5 or cp1252"
        ) from None
    return {"utf-8-sig": "utf-8"}.get(known, known)


def strictly(data: bytes, name: str) -> str:
    """Decode every byte, or raise DataError that names the line of the first that can't be."""
    try:
        text = data.decode(name)
        text.encode("utf-8")  # half a surrogate pair is no text, whatever let it through
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(name, errors="ignore").count("\n") + 1
        wrong = f"the byte 0x{data[error.start]:02x}" if error.start < len(data) else "its end"
        advice = _advice(name, nul=b"\0" in data)
        raise DataError(f"line {line}: not {name} text ({wrong}: {error.reason}). {advice}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DataError(f"line {line}: half a character (a lone surrogate). {_advice(name, nul=False)}") from None
    except UnicodeError as error:
        raise DataError(f"not {name} text: {error}. {_advice(name, nul=False)}") from None
    return text


def _advice(name: str, *, nul: bool) -> str:
    if nul and name == "utf-8":
        return "It may be UTF-16 without a byte-order mark: save it as UTF-8, or say --encoding utf-16-le (or -be)"
    return "Save it as UTF-8, or say with --encoding what it is in"
