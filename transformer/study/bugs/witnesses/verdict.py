"""What a witness says."""

from typing import NamedTuple

from transformer.study.figures import Words


class Verdict(NamedTuple):
    """Whether it caught the bug, and one line that tells by what, or what it saw in order."""

    caught: bool
    evidence: Words
