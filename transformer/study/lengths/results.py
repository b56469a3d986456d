"""What came of the trainings, as a figure and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transformer.study.figures import Lines, Table, Words
from transformer.study.lengths.setting import KINDS, Setting, can_read

PRIORS = {
    "rotary": Words("rotary (favours copying)", "rotary (有利于抄写)"),
    "both-ends": Words("both-ends (favours reversal, too)", "both-ends (也有利于倒写)"),
}
"""Kinds that know beforehand what one of the tasks needs, as a figure calls them."""


@dataclass(frozen=True)
class Measured:
    """One training: the share of strings of each length that it writes without a fault."""

    kind: str
    seed: int
    exact_match: Mapping[int, float]


@dataclass(frozen=True)
class Lengths:
    """What came of all trainings, in any order: the kinds of positions as they first appear."""

    setting: Setting
    measured: Sequence[Measured]

    def runs(self) -> dict[str, list[Measured]]:
        """The trainings of each kind."""
        found: dict[str, list[Measured]] = {}
        for one in self.measured:
            found.setdefault(one.kind, []).append(one)
        return found

    def at(self) -> list[int]:
        """The lengths that all were judged at, the shortest first."""
        return sorted(set.intersection(*(set(one.exact_match) for one in self.measured))) if self.measured else []

    def figure(self) -> Lines:
        """Exact match in per cent over length: the mean over the seeds, and a shadow from the lowest to the highest."""
        lengths = self.at()
        curves: dict[str | Words, npt.NDArray[np.float64]] = {
            PRIORS.get(kind, kind): np.array([[100 * one.exact_match[length] for length in lengths] for one in trained])
            for kind, trained in self.runs().items()
        }
        uprights: dict[float, str | Words] = {
            float(self.setting.train_length): Words("longest trained", "训练的最长长度")
        }
        if any("rotary" in KINDS[kind] for kind in self.runs()):
            uprights[self.setting.horizon] = Words("rotary: two places look alike", "rotary: 两处位置相似")
        return Lines(
            self._title(), lengths, curves, Words("length", "长度"), Words("exact match, %", "完全正确的比例 (%)"),
            uprights=uprights,
        )  # fmt: skip

    def table(self) -> Table:
        """A row a kind: mean and, where seeds differ, lowest and highest; a star where no such length was trained."""
        lengths = self.at()
        heads = [f"{length}{'' if length <= self.setting.train_length else ' *'}" for length in lengths]
        rows = [
            [kind, *(self._cell(kind, length, [one.exact_match[length] for one in trained]) for length in lengths)]
            for kind, trained in self.runs().items()
        ]
        return Table(self._title(), [Words("positions", "位置编码"), *heads], rows)

    def note(self) -> Words:
        """What has to be known to read the table."""
        far = self.setting.horizon
        return Words(
            "* longer than any trained string. Counting the source from its end (both-ends) is a prior that favours "
            "reversal, as counting from the start favours copying; learned positions end where training did. To rotary "
            f"positions, places {far:.0f} apart are the first that look alike and did not within a trained string.",
            "* 比任何训练过的序列都长。从末尾给源序列编号 (both-ends) 是有利于倒写的先验, 正如从开头编号有利于抄写; "
            f"learned 位置只到训练长度为止。对 rotary 位置, 相距 {far:.0f} 的两处最先变得相似, 而训练序列内从未如此。",
        )

    def _title(self) -> Words:
        task, longest = self.setting.task, self.setting.train_length
        chinese = {"copy": "抄写", "reverse": "倒写"}[task]
        return Words(
            f"{task}: exact match (%), trained up to {longest}",
            f"{chinese}: 完全正确的比例 (%), 训练长度至 {longest}",
        )

    def _cell(self, kind: str, length: int, shares: Sequence[float]) -> str | Words:
        if not can_read(kind, length, self.setting):
            return Words("cannot", "不能")
        mean, low, high = (per_cent(share) for share in (float(np.mean(shares)), min(shares), max(shares)))
        return mean if low == high else f"{mean} ({low}-{high})"


def per_cent(share: float) -> str:
    """Three digits; 100 is said of nothing less."""
    return "100" if share == 1 else f"{min(100 * share, 99.9):.3g}"
