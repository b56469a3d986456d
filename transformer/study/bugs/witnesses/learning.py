"""The two witnesses that everybody asks: did the loss come down, and does the model get it right in the end?"""

from collections.abc import Sequence

from transformer.study.bugs.lesson import Taught
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words

NEAR = 0.1  # by so much smaller may the share be, and the curve still looks healthy
LUCK = 0.05  # by so much exact matches differ from seed to seed


def loss_curve(taught: Taught, healthy: Sequence[Taught]) -> Verdict:
    """Whether the loss, as it was printed, is not as low in the end as a healthy model's, nor came down as far.

    As far: by no less a share of what it was than every healthy one's, but for a tenth.
    """
    low = taught.last <= max(other.last for other in healthy)
    far = taught.came_down >= min(other.came_down for other in healthy) - NEAR
    there, others = f"{taught.last:.2f}", [f"{other.last:.2f}" for other in healthy]
    told = Words(
        f"the loss went from {taught.first:.2f} to {there}, without a bug to {' or '.join(others)}",
        f"损失从 {taught.first:.2f} 降到 {there}，没有错误时降到 {' 或 '.join(others)}",
    )
    return Verdict(not (low or far), told)


def exact_match(taught: Taught, healthy: Sequence[Taught]) -> Verdict:
    """Whether fewer held-out strings came out right than of every healthy model, by more than luck explains."""
    least = min(other.exact_match for other in healthy)
    told = Words(
        f"{taught.exact_match:.1%} of held-out strings right, without a bug at least {least:.1%}",
        f"没见过的串有 {taught.exact_match:.1%} 写对，没有错误时至少 {least:.1%}",
    )
    return Verdict(taught.exact_match < least - LUCK, told)
