"""The zoo as figures: which witness caught which bug, and how their losses came down."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transformer.study.bugs.examination import WITNESSES, Examined
from transformer.study.bugs.lesson import Taught
from transformer.study.figures import Lines, Table, Words
from transformer.study.figures.figure import Label

Numbers = npt.NDArray[np.float64]

HEALTHY = Words("no bug", "没有错误")
LEARNS, DOES_NOT = Words("bugs that learn", "学得会的错误"), Words("bugs that don't", "学不会的错误")
KINDS = {
    "forward": Words("forward", "前向"),
    "gradient": Words("gradient", "梯度"),
    "training": Words("training", "训练"),
}
NAMES = {
    "loss curve": Words("loss curve", "损失曲线"),
    "exact match": Words("exact match", "完全正确率"),
    "gradient check": Words("gradient check", "梯度检验"),
    "invariance": Words("invariance", "不变性"),
    "by hand": Words("by hand", "手算"),
}
CAUGHT = Words("caught", "抓住")
WINDOW = 20  # steps whose mean is a point of a curve


def table(examined: Sequence[Examined]) -> Table:
    """A row for each bug: what is wrong, the last loss, the share that came out right, who caught it and by what."""
    learning, bugs = count_learning(examined)
    return Table(
        Words(f"{learning} of {bugs} planted bugs still learn", f"种下的 {bugs} 个错误中，{learning} 个照样学得会"),
        (
            Words("bug", "错误"), Words("what is wrong", "错在哪里"), Words("kind", "种类"), Words("loss", "损失"),
            Words("right", "正确"), *(NAMES[name] for name in WITNESSES), Words("evidence", "证据"),
        ),
        [row(one) for one in examined],
    )  # fmt: skip


def row(one: Examined) -> Sequence[Label]:
    """A row of the table."""
    name, what, kind = (one.bug.name, one.bug.what, KINDS[one.bug.kind]) if one.bug else (HEALTHY, "", "")
    marks = (CAUGHT if one.verdicts[witness].caught else "–" for witness in WITNESSES)
    return (name, what, kind, f"{one.taught.last:.2f}", f"{one.taught.exact_match:.1%}", *marks, short(one.evidence))


def short(evidence: Words) -> Words:
    """Without the number of the only layer that there is."""
    return Words(*(text.replace(".layers.0.", ".") for text in evidence))


def losses(examined: Sequence[Examined], healthy: Sequence[Taught]) -> Lines:
    """How the loss came down: of models without a bug, of those that still learn with one, and of the others."""
    groups: dict[Label, list[Taught]] = {HEALTHY: list(healthy)}
    for one in examined:
        if one.bug is None:
            groups[HEALTHY].append(one.taught)
        else:
            groups.setdefault(LEARNS if one.learns else DOES_NOT, []).append(one.taught)
    curves = {name: np.array([smooth(taught.losses) for taught in group]) for name, group in groups.items()}
    points = len(curves[HEALTHY][0])
    return Lines(
        Words("The loss comes down with most bugs as without", "有没有错误，损失大多一样下降"),
        [WINDOW * (n + 1) for n in range(points)], curves, Words("step", "步"), Words("loss", "损失"),
    )  # fmt: skip


def smooth(values: Sequence[float]) -> Numbers:
    """The mean of every 20 steps, less where there are no more."""
    return np.array([np.mean(values[start : start + WINDOW]) for start in range(0, len(values), WINDOW)])


def count_learning(examined: Sequence[Examined]) -> tuple[int, int]:
    """How many bugs still learn, and of how many."""
    bugs = [one for one in examined if one.bug is not None]
    return sum(one.learns for one in bugs), len(bugs)
