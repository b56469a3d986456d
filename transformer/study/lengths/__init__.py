"""Does a model go on where training ended? Exact match by length, for each way of telling places apart.

A small encoder-decoder learns to copy or reverse strings of 1 to `train_length` letters, and then writes freely, from
the source alone, for unseen strings shorter and longer than any it was trained on. Several seeds each: beyond the
trained lengths two trainings that differ in nothing else may differ much.

Counting the source from its end, too, is a prior that favours reversal, as counting from the start favours copying.
Rotary models that do the one or the other go on to twice their trained lengths under two conditions. Both were found by
looking at where the first wrong word stands, and at what the cross-attention of that step looks at:

- The ends of the source are words, "^ a b c $". Without them every letter of a string twice as long is right, and only
  the end is missed: that nothing is left to write shows in nothing but in attention that finds no place of its own.
- No far place looks like the right one. Pair i of a head's numbers turns once in 2 pi base^(2i / D_h) places. A period
  that is not longer than the trained strings was met in training, and other pairs tell the places apart; where the next
  one ends, two places look alike for the first time, and both are attended: `Setting.horizon`. With heads 16 wide and
  the usual base 10000 the periods are 6, 20, 63, ..., and what was trained on up to 20 or 40 letters begins to fail
  at about 60, by how much depends on the seed; with the base 1000000 they are 6, 35, 199, ..., and what was trained on
  up to 40 is right at 160 and always wrong at 200. To sharpen the scores of longer strings makes it worse.
"""

from collections.abc import Sequence

from transformer.study.lengths.judging import judge, unseen
from transformer.study.lengths.looking import attended, first_mistakes
from transformer.study.lengths.results import Lengths, Measured
from transformer.study.lengths.setting import KINDS, WRITERS, Setting, model_config
from transformer.study.lengths.training import train

__all__ = [
    "KINDS", "WRITERS", "Lengths", "Measured", "Setting", "attended", "first_mistakes", "judge", "lengths",
    "model_config", "train", "unseen",
]  # fmt: skip


def lengths(
    setting: Setting,
    kinds: Sequence[str] = tuple(KINDS),
    seeds: Sequence[int] = (0, 1, 2),
    at: Sequence[int] = (5, 10, 15, 20, 25, 30, 35, 40),
) -> Lengths:
    """Train each kind with each seed, and judge each at the lengths `at`. About a minute a training."""
    trained = ((kind, seed, train(setting, kind, seed, max(at))) for kind in kinds for seed in seeds)
    return Lengths(setting, [Measured(kind, seed, judge(model, setting, kind, at)) for kind, seed, model in trained])
