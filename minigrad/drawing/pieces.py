"""Which of some things hang together, when they are joined two by two (a union-find)."""


class Pieces:
    """The numbers below `count`, each a piece of its own at first; the smallest number of a piece is its head."""

    def __init__(self, count: int) -> None:
        self._towards_head = list(range(count))

    def head(self, member: int) -> int:
        """The head of the piece that `member` is in. The way there is shortened, so that later calls are fast."""
        towards = self._towards_head
        while towards[member] != member:
            towards[member] = member = towards[towards[member]]
        return member

    def join(self, one: int, other: int) -> None:
        """Make the pieces that the two are in one piece."""
        first, second = sorted((self.head(one), self.head(other)))
        self._towards_head[second] = first
