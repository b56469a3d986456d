from hypothesis import given
from hypothesis import strategies as st

from minigrad.drawing import Pieces


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_members_of_a_piece_have_its_smallest_as_their_head(joints: list[tuple[int, int]]) -> None:
    pieces = Pieces(12)
    together = [{member} for member in range(12)]  # the same, by hand
    for one, other in joints:
        pieces.join(one, other)
        whole = together[one] | together[other]
        for member in whole:
            together[member] = whole
    assert [pieces.head(member) for member in range(12)] == [min(piece) for piece in together]


def test_nothing_joined_is_a_piece_each() -> None:
    pieces = Pieces(3)
    assert [pieces.head(member) for member in range(3)] == [0, 1, 2]


def test_a_long_chain_joined_from_its_end_is_walked_once() -> None:
    count = 100_000
    pieces = Pieces(count)
    for member in range(count - 1, 0, -1):
        pieces.join(member - 1, member)
    assert {pieces.head(member) for member in reversed(range(count))} == {0}
