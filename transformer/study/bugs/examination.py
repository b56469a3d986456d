"""A bug and all its witnesses."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from transformer.study.bugs.bug import Bug, planted
from transformer.study.bugs.lesson import STEPS, Taught, teach
from transformer.study.bugs.witnesses.gradient import gradient_check
from transformer.study.bugs.witnesses.invariance import invariances
from transformer.study.bugs.witnesses.learning import exact_match, loss_curve
from transformer.study.bugs.witnesses.reference import reference
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words

LEARNT = ("loss curve", "exact match")
"""The witnesses that need a training."""

UNTRAINED = {"gradient check": gradient_check, "invariance": invariances, "by hand": reference}
"""Those that look at the code as it is, by name; called with a seed."""

WITNESSES = (*LEARNT, *UNTRAINED)


@dataclass(frozen=True)
class Examined:
    """What was seen of one bug, None: of the model as it is. verdicts: by the name of each of `WITNESSES`."""

    bug: Bug | None
    taught: Taught
    verdicts: dict[str, Verdict]

    @property
    def caught_by(self) -> list[str]:
        """The names of the witnesses that caught it."""
        return [name for name, verdict in self.verdicts.items() if verdict.caught]

    @property
    def learns(self) -> bool:
        """Whether its loss comes down as a healthy model's."""
        return not self.verdicts["loss curve"].caught

    @property
    def evidence(self) -> Words:
        """By what it was caught: of the witnesses that did, the last named."""
        return self.verdicts[self.caught_by[-1]].evidence if self.caught_by else Words("", "")


def examine(
    bug: Bug | None,
    healthy: Sequence[Taught],
    seed: int = 0,
    steps: int = STEPS,
    watch: Callable[[int], None] = lambda step: None,
) -> Examined:
    """Plant a bug, teach a new model, and ask every witness.

    healthy: what came of models without a bug, other seeds' among them, to compare with.
    seed, steps, watch: of `teach`.
    """
    with planted(bug) if bug else nullcontext():
        verdicts = untrained(seed)
        taught = teach(seed, steps, watch)
    learnt = {"loss curve": loss_curve(taught, healthy), "exact match": exact_match(taught, healthy)}
    return Examined(bug, taught, learnt | verdicts)


def untrained(seed: int) -> dict[str, Verdict]:
    """The verdicts of the witnesses that need no training, on whatever is planted now."""
    return {name: witness(seed) for name, witness in UNTRAINED.items()}
