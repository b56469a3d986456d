"""`python -m demos bugs`: bugs that people put into Transformers, planted one by one; which witness catches which?"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from demos.keeping import keep, refuse_foreign
from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer.study.bugs import Bug
    from transformer.study.bugs.examination import Examined
    from transformer.study.bugs.lesson import Taught

SUMMARY = "plant bugs in the Transformer one by one: most still learn; who catches them?"
TABLES, CURVES = {"en": "bugs.svg", "zh": "bugs.zh.svg"}, "losses.svg"
NO_BUG = "no bug"
HEADS = {
    "loss curve": "curve",
    "exact match": "match",
    "gradient check": "grad.",
    "invariance": "inv.",
    "by hand": "hand",
}
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="these bugs alone, each in quotes (default: all of them)"
    )
    parser.add_argument(
        "--steps", type=positive_number, default=500, metavar="N", help="of each training (default 500)"
    )
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of weights and data (default 0)")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/bugs"), metavar="DIR", help="for the pictures (default runs/bugs)"
    )
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=1800.0,
        metavar="S",
        help="plant no more bugs after so many seconds (default 1800)",
    )


def run(options: argparse.Namespace) -> int:
    """Teach a model without a bug, then one with each, and tell what they show; write the pictures."""
    from transformer.study.bugs.examination import Examined
    from transformer.training.memory import keep_freed_memory

    deadline = time.monotonic() + options.max_seconds
    bugs = chosen(options.only)
    files = [options.out / name for name in (*TABLES.values(), CURVES)]
    with told_plainly(OSError):
        options.out.mkdir(parents=True, exist_ok=True)
        refuse_foreign(files, "bugs", "--out")
    keep_freed_memory()
    healthy: list[Taught] = []
    examined: list[Examined] = []
    status = 0
    try:
        with one_thread():
            for one in examinations(bugs, healthy, options.seed, options.steps, deadline):
                examined.append(one)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if len(examined) <= len(bugs):
        reason = "interrupted" if status else "time was up (--max-seconds)"
        print(f"note: {reason} after {max(len(examined) - 1, 0)} of {len(bugs)} bugs", file=sys.stderr)
    if len(examined) > 1:
        tell(examined)
        with told_plainly(OSError):
            save(options.out, examined, healthy)
    wrong = [name_of(one) for one in examined if (one.bug is None) == bool(one.caught_by)]
    if wrong:
        raise UserError(f"caught though there is no bug, or a bug that nobody caught: {', '.join(wrong)}", status=1)
    return status


def chosen(names: Sequence[str] | None) -> "list[Bug]":
    """The bugs of these names, or all. Raises UserError that suggests the nearest name."""
    from difflib import get_close_matches

    from transformer.study.bugs import ZOO

    for name in names or ():
        if name not in ZOO:
            near = get_close_matches(name, ZOO, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(ZOO)}"
            raise UserError(f"--only: there is no bug {name!r}; {hint}")
    return [bug for name, bug in ZOO.items() if not names or name in names]


def examinations(
    bugs: "Sequence[Bug]", healthy: "list[Taught]", seed: int, steps: int, deadline: float
) -> "Iterator[Examined]":
    """The model without a bug, then with each, a row printed as soon as it is known.

    healthy: receives what came of two other seeds without a bug, with which all are compared.
    """
    from transformer.study.bugs.examination import examine
    from transformer.study.bugs.lesson import teach

    for other in (seed + 1, seed + 2):
        with watched(f"{NO_BUG}, seed {other}", steps) as watch:
            healthy.append(teach(other, steps, watch))
    print(f"\n{header()}", flush=True)
    for bug in (None, *bugs):
        if bug is not None and time.monotonic() >= deadline:
            return
        with watched(bug.name if bug else NO_BUG, steps) as watch:
            one = examine(bug, healthy, seed, steps, watch)
        show(one)
        yield one


@contextmanager
def watched(name: str, steps: int) -> Iterator[Callable[[int], None]]:
    """A bar of steps where the output is a terminal that can redraw it; elsewhere the rows say enough."""
    from demos.terminal.progress import Line, progress

    watcher = progress("step", "")
    if not isinstance(watcher, Line):
        yield lambda step: None
        return
    watcher.start(name, steps)
    try:
        yield watcher.update
    finally:
        watcher.close()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS with one thread: the products are small."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def header() -> str:
    """What stands above the rows."""
    return (
        "x: this witness caught it. loss: of the last tenth of the steps; right: of held-out strings.\n\n"
        f"{'':<32}{'loss':>5}{'right':>7}  {'  '.join(HEADS.values())}"
    )


def show(one: "Examined") -> None:
    """Print a row: in colours on a terminal, plain elsewhere; the evidence as far as there is room."""
    from demos.terminal.tables import PLAIN_WIDTH, percent, terminal_width
    from transformer.study.bugs.shown import short

    marks = "".join(f"  {'x' if one.verdicts[name].caught else '.':^{len(head)}}" for name, head in HEADS.items())
    name, numbers = f"{name_of(one):<32}", f"{one.taught.last:5.2f}{percent(one.taught.exact_match):>7}"
    room = (terminal_width() if sys.stdout.isatty() else PLAIN_WIDTH) - len(name + numbers + marks) - 2
    evidence = short(one.evidence).en
    evidence = evidence if len(evidence) <= room else f"{evidence[: room - 3]}..."
    evidence = f"  {evidence}" if room >= 30 else ""
    if not sys.stdout.isatty():
        print(f"{name}{numbers}{marks}{evidence}".rstrip(), flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble((name, "bold"), numbers, (marks, "green" if one.caught_by else "dim"), (evidence, "dim"))
    Console(file=sys.stdout, highlight=False).print(line, soft_wrap=True)


def name_of(one: "Examined") -> str:
    """The bug's name."""
    return one.bug.name if one.bug else NO_BUG


def tell(examined: "Sequence[Examined]") -> None:
    """Print what the rows show."""
    from transformer.study.bugs.examination import LEARNT, WITNESSES
    from transformer.study.bugs.shown import count_learning

    bugs = [one for one in examined if one.bug is not None]
    learning, count = count_learning(examined)
    unseen = [one for one in bugs if not set(one.caught_by) & set(LEARNT)]
    print(
        f"\n{learning} of {count} still learn: the loss comes down as without a bug."
        f"\n{len(unseen)} of {count} also get as many held-out strings right: training shows nothing at all."
    )
    by = (f"{name} {sum(one.verdicts[name].caught for one in bugs)}" for name in WITNESSES)
    print(f"Caught by: {', '.join(by)}; by nobody {sum(not one.caught_by for one in bugs)}.")


def save(folder: Path, examined: "Sequence[Examined]", healthy: "Sequence[Taught]") -> None:
    """Write the table in both languages, and the curves; say where."""
    from transformer.study.bugs.shown import losses, table

    rows = table(examined)
    keep(folder / TABLES["en"], rows.svg("en").encode(), "bugs")
    keep(folder / TABLES["zh"], rows.svg("zh").encode(), "bugs")
    keep(folder / CURVES, losses(examined, healthy).svg("en").encode(), "bugs")
    print(f"\nsaved in {folder}: {', '.join((*TABLES.values(), CURVES))}, for your browser")
