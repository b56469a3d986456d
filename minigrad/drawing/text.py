"""Text in a picture: made safe for DOT and SVG, and measured without a font.

Widths are Helvetica's (its public font metrics), which Arial, Arimo, Liberation Sans and Nimbus Sans share and which
the layout engine uses too. What the engine underestimates, Chinese above all, is measured here and reserved.
"""

import unicodedata

SANS = (
    "Helvetica, Arial, Arimo, 'Liberation Sans', 'Nimbus Sans', 'DejaVu Sans', "
    "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Source Han Sans SC', 'WenQuanYi Micro Hei', sans-serif"
)
"""The fonts a picture asks for: one set of widths on every system, then the systems' own Chinese fonts."""

_REGULAR = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 "
    "584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 "
    "333 611 556 778 556 556 500 389 280 389 584"
)
_WIDTHS = {
    bold: {chr(32 + i): int(width) / 1000 for i, width in enumerate(table.split())}
    for bold, table in ((False, _REGULAR), (True, _BOLD))
}
_BEYOND_ASCII = {
    "\N{NO-BREAK SPACE}": 0.278, "·": 0.278, "×": 0.584, "÷": 0.584, "−": 0.584, "–": 0.556, "…": 1.0, "’": 0.222,
}  # fmt: skip
_NARROW = 0.6
_VISIBLE = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡", 0x2028: "␤", 0x2029: "␤"}


def clean(text: str) -> str:
    """`text` with every character that XML forbids made visible, and no space that XML would swallow.

    Control characters become their pictures (NUL becomes ␀); lone surrogates and non-characters become U+FFFD; a
    space at an end or beside another one becomes a no-break space. Everything else stays as it was.
    """
    if text.isascii() and text.isprintable() and "  " not in text and text == text.strip():
        return text
    shown = "".join(
        _VISIBLE.get(ord(c)) or ("�" if unicodedata.category(c) in ("Cs", "Cc") or ord(c) & 0xFFFE == 0xFFFE else c)
        for c in text
    )
    shown = shown.replace("  ", "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}")
    start, end = len(shown) - len(shown.lstrip(" ")), len(shown.rstrip(" "))
    nothing = "\N{NO-BREAK SPACE}"
    return nothing * start + shown[start:end] + nothing * (len(shown) - max(end, start))


def shorten(text: str, size: int = 40) -> str:
    """`text`, with its middle left out where it is longer than `size` characters."""
    if len(text) <= size:
        return text
    head = (size - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - size :]}"


def escape(text: str) -> str:
    """`text`, cleaned, as the inside of an HTML-like label.

    That is XML, but for backslashes, which are doubled: Graphviz puts a node's name for one that stands before an N.
    """
    shown = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace('"', "&quot;").replace("\\", "&#92;&#92;")


def width(text: str, size: float, bold: bool = False) -> float:
    """The width of `text` in points, set in Helvetica of `size` points."""
    widths = _WIDTHS[bold]
    return size * sum(widths.get(c) or _BEYOND_ASCII.get(c) or _other(c) for c in text)


def _other(c: str) -> float:
    if unicodedata.combining(c):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(c) in "WF" else _NARROW
