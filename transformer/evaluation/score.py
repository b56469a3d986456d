"""What counts as right.

Exact match is first: the share of sentences that are right from the first token to the end. Token accuracy is second:
of the tokens that should be written, the end included, the share that stands at its place. Under teacher forcing, where
the model reads the right answer while it writes, both would flatter it.

A sentence may have several right targets. Any of them is right as a whole; tokens are counted against the closest.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """One sentence: what was read, what should be written, what was; `others` are further targets that are right."""

    source: tuple[str, ...]
    expected: tuple[str, ...]
    written: tuple[str, ...]
    others: tuple[tuple[str, ...], ...] = ()

    @property
    def references(self) -> tuple[tuple[str, ...], ...]:
        """Every right target."""
        return (self.expected, *self.others)

    @property
    def right(self) -> bool:
        """Whether every token is as in one of the right targets, and no more were written."""
        return self.written in self.references

    @property
    def closest(self) -> tuple[str, ...]:
        """The right target of whose tokens the greatest share stands at its place; the first of several such."""
        return max(self.references, key=lambda target: _matches(target, self.written) / (len(target) + 1))

    @property
    def tokens(self) -> int:
        """How many tokens should be written, the end included."""
        return len(self.closest) + 1

    @property
    def tokens_right(self) -> int:
        """How many of these stand at their place; the end does where both are of the same length."""
        return _matches(self.closest, self.written)


def _matches(target: tuple[str, ...], written: tuple[str, ...]) -> int:
    return sum(wanted == got for wanted, got in zip(target, written, strict=False)) + (len(written) == len(target))


@dataclass(frozen=True)
class Score:
    """The answers to a list of pairs, in its order."""

    answers: tuple[Answer, ...]

    def __add__(self, other: "Score") -> "Score":
        return Score(self.answers + other.answers)

    @property
    def size(self) -> int:
        """How many sources were answered."""
        return len(self.answers)

    @property
    def mistakes(self) -> tuple[Answer, ...]:
        """The answers that are not right."""
        return tuple(answer for answer in self.answers if not answer.right)

    @property
    def exact_match(self) -> float:
        """The share of answers that are right as a whole."""
        return sum(answer.right for answer in self.answers) / self.size

    @property
    def token_accuracy(self) -> float:
        """The share of expected tokens that stand at their place, over all answers together."""
        return sum(answer.tokens_right for answer in self.answers) / sum(answer.tokens for answer in self.answers)

    def by_length(self, width: int = 1) -> dict[range, "Score"]:
        """The score of each length of source, or of each `width` lengths together, the shortest first.

        The key says which lengths: 1 to `width`, then as many more, and so on; those without a source are left out.
        """
        groups: dict[int, list[Answer]] = {}
        for answer in self.answers:
            groups.setdefault((len(answer.source) - 1) // width, []).append(answer)
        return {
            range(place * width + 1, (place + 1) * width + 1): Score(tuple(groups[place])) for place in sorted(groups)
        }
