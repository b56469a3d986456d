"""`python -m demos lengths`: does a model go on beyond the lengths it was trained on? For each kind of positions."""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    from transformer import Transformer
    from transformer.study.figures import Table, Words
    from transformer.study.lengths import Lengths, Measured, Setting

SUMMARY = "exact match by length, shorter and longer than trained, for each kind of positions"
RESULTS, PICTURE, WEIGHTS = "lengths.json", "lengths.svg", "weights"
MADE_BY = "python -m demos lengths"
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    from transformer.study.lengths import KINDS, WRITERS, Setting

    usual = Setting()
    parser.add_argument("--task", choices=tuple(WRITERS), default=usual.task, help=f"default {usual.task}")
    parser.add_argument(
        "--positions", nargs="+", choices=tuple(KINDS), default=list(KINDS), metavar="KIND",
        help=f"of {', '.join(KINDS)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--train-length", type=positive_number, default=usual.train_length, metavar="N",
        help=f"the longest string that is trained (default {usual.train_length})",
    )  # fmt: skip
    parser.add_argument(
        "--lengths", type=whole_numbers, metavar="N,N,...", help="to judge at (default: eight up to twice that)"
    )
    parser.add_argument("--seeds", type=positive_number, default=3, metavar="N", help="trainings a kind (default 3)")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="the first of these (default 0)")
    parser.add_argument(
        "--steps", type=positive_number, default=usual.steps, metavar="N",
        help=f"of each training (default {usual.steps})",
    )  # fmt: skip
    parser.add_argument(
        "--unmarked", action="store_true", help="do not mark the ends of the source (then its end is not found)"
    )
    parser.add_argument(
        "--rotary-base", type=positive_real, default=usual.rotary_base, metavar="B",
        help=f"100000 for lengths beyond 60 (default {usual.rotary_base:g})",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("runs/lengths"), metavar="DIR",
        help="keeps what was trained; what is there is used again (default runs/lengths)",
    )  # fmt: skip
    parser.add_argument(
        "--max-seconds", type=positive_real, default=float("inf"), metavar="S",
        help="begin no more trainings after so many seconds (default: no limit)",
    )  # fmt: skip


def whole_numbers(text: str) -> list[int]:
    """Lengths with commas, as an option's value: the shortest first."""
    return sorted({positive_number(part) for part in text.split(",")})


def run(options: argparse.Namespace) -> int:
    """Train what is not there yet, print the table, write the picture."""
    from minigrad.errors import MinigradError
    from transformer.study.lengths import Lengths, Setting, model_config
    from transformer.training.errors import RunError
    from transformer.training.memory import keep_freed_memory

    deadline = time.monotonic() + options.max_seconds
    kinds, seeds = list(dict.fromkeys(options.positions)), range(options.seed, options.seed + options.seeds)
    with told_plainly(ValueError, RunError):
        keep_freed_memory()
        setting = Setting(
            task=options.task, train_length=options.train_length, steps=options.steps, marked=not options.unmarked,
            rotary_base=options.rotary_base,
        )  # fmt: skip
        at = options.lengths or sorted({max(1, quarter * setting.train_length // 4) for quarter in range(1, 9)})
        for kind in kinds:
            model_config(setting, kind, max(at))
    status = 0
    measured: list[Measured] = []
    with told_plainly(OSError, MinigradError):
        kept = opened(options.out)
        try:
            for kind, seed in ((kind, seed) for seed in seeds for kind in kinds):
                if time.monotonic() >= deadline:
                    note(f"time was up after {len(measured)} of {len(kinds) * len(seeds)} trainings (--max-seconds)")
                    break
                measured.append(kept.measured(setting, kind, seed, at))
        except KeyboardInterrupt:
            status = INTERRUPTED
            note(f"interrupted after {len(measured)} of {len(kinds) * len(seeds)} trainings")
        tell(Lengths(setting, sorted(measured, key=lambda one: kinds.index(one.kind))), options.out)
    return status


def note(text: str) -> None:
    """What stopped, and how to go on."""
    print(f"note: {text}; the same command goes on", file=sys.stderr)


@dataclass(frozen=True)
class Kept:
    """What the command has in its folder: weights, a file a training, and what each did at each length.

    trainings: by their key, as they stand in the JSON file.
    """

    folder: Path
    trainings: dict[str, dict[str, Any]]

    def measured(self, setting: "Setting", kind: str, seed: int, at: Sequence[int]) -> "Measured":
        """One training's exact match at each length of `at`; what is not known yet is trained, judged and kept."""
        from transformer.study.lengths import Measured, judge

        key = name_of(setting, kind, seed, max(at))
        record = self.trainings.get(key, {"setting": asdict(setting), "kind": kind, "seed": seed, "exact_match": {}})
        unknown = [length for length in at if str(length) not in record["exact_match"]]
        if unknown:
            model = self._model(key, setting, kind, seed, max(at))
            for length, share in judge(model, setting, kind, unknown).items():
                record["exact_match"][str(length)] = share
            self.trainings[key] = record
            self._write()
        found = {length: record["exact_match"][str(length)] for length in at}
        print(f"{kind}, seed {seed}: " + ", ".join(f"{length}: {share:.1%}" for length, share in found.items()))
        return Measured(kind, seed, found)

    def _model(self, key: str, setting: "Setting", kind: str, seed: int, longest: int) -> "Transformer":
        """The trained model, read from its file if there is one."""
        import minigrad as mg
        from demos.terminal.progress import progress
        from transformer import Transformer
        from transformer.study.lengths import model_config, train

        file = self.folder / WEIGHTS / f"{key}.safetensors"
        if file.exists():
            model = Transformer(model_config(setting, kind, longest))
            model.load_state_dict(mg.load(file))
            return model
        watcher = progress("step", "")
        watcher.start(f"{kind}, seed {seed}", setting.steps)
        try:
            model = train(setting, kind, seed, longest, watcher.update)
        finally:
            watcher.close()
        mg.save(file, model.state_dict())
        return model

    def _write(self) -> None:
        from minigrad.atomic import write_atomically

        content = {"made by": MADE_BY, "trainings": self.trainings}
        write_atomically(self.folder / RESULTS, (json.dumps(content, indent=1) + "\n").encode())


def opened(folder: Path) -> Kept:
    """The folder, made if it is not there. Raises UserError if what it holds is not this command's."""
    from demos.keeping import refuse_foreign

    (folder / WEIGHTS).mkdir(parents=True, exist_ok=True)
    refuse_foreign([folder / PICTURE], "lengths", "--out")
    file = folder / RESULTS
    if not file.exists():
        return Kept(folder, {})
    try:
        content = json.loads(file.read_bytes())
        ours = content["made by"] == MADE_BY and all(
            isinstance(share, float) for one in content["trainings"].values() for share in one["exact_match"].values()
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        ours = False
    if not ours:
        raise UserError(f"{file}: not as this command wrote it, so it stays; move it, or pick another --out")
    return Kept(folder, content["trainings"])


def name_of(setting: "Setting", kind: str, seed: int, longest: int) -> str:
    """A name that is another one for each training that differs in anything."""
    from transformer.study.lengths import model_config

    told = json.dumps([asdict(setting), asdict(model_config(setting, kind, longest)), seed])
    digest = hashlib.blake2s(told.encode(), digest_size=4).hexdigest()
    return f"{setting.task}-{setting.train_length}-{kind}-{seed}-{digest}"


def tell(lengths: "Lengths", folder: Path) -> None:
    """Print the table and what is needed to read it, and write the picture."""
    from demos.keeping import keep

    if not lengths.measured:
        return
    print()
    show(lengths.table())
    print(f"\n{lengths.note().en}")
    keep(folder / PICTURE, lengths.figure().svg().encode(), "lengths")
    print(f"\nsaved in {folder}: {RESULTS}, the weights, and {PICTURE} for your browser")


def show(table: "Table") -> None:
    """Print a figure's table, in English."""
    from demos.terminal.tables import print_table

    def said(label: "str | Words") -> str:
        return label if isinstance(label, str) else label.en

    print(f"{table.title.en}\n")
    print_table([said(label) for label in table.columns], [[said(label) for label in row] for row in table.rows])
