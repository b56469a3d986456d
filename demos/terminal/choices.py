"""How a sentence was written, token by token, as a table of the probabilities that each token was chosen from."""

from collections.abc import Sequence

from demos.terminal.tables import bar, percent, print_table, terminal_width
from transformer.decoding.choices import TOP, Choice

NARROWEST_BAR, WIDEST_BAR = 3, 10


def print_choices(steps: Sequence[Choice]) -> None:
    """Print a row a token: it, then the four likeliest next tokens and all others, each with its bar."""
    words = max(wide(word) for step in steps for word, _ in step.likeliest)
    fixed = max(wide(step.written) for step in steps) + 2 + (TOP + 1) * (len("99.9%") + 3) + TOP * (words + 1)
    cells = min(max((terminal_width() - fixed) // (TOP + 1), NARROWEST_BAR), WIDEST_BAR)
    header = ["", *("next: likeliest", "second", "third", "fourth")[:TOP], "any other"]
    rows = []
    for step in steps:
        shares = [f"{pad(word, words)} {bar(share, cells)} {percent(share)}" for word, share in step.likeliest]
        rows.append([step.written, *shares, f"{bar(step.other, cells)} {percent(step.other)}"])
    print_table(header, rows, ["bold", "green", *["blue"] * (TOP - 1), "dim"])


def wide(text: str) -> int:
    """The terminal cells that `text` takes: a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int) -> str:
    """`text` with spaces up to so many cells."""
    return text + " " * (width - wide(text))
