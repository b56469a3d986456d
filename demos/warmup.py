"""`python -m demos warmup`: why the paper's model wants its warm-up: the same training four times, as losses."""

import argparse
import sys
import time
from pathlib import Path

from demos.keeping import keep, refuse_foreign
from demos.options import positive_number, positive_real, whole_number
from demos.problems import UserError, told_plainly

SUMMARY = "train the same model four times: post-norm and pre-norm, without and with warm-up"
COLUMNS = ("", "gradient, decoder layer 1", "layer N", "loss, last tenth", "right", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--steps", type=positive_number, default=1000, metavar="N", help="of each training (default 1000)"
    )
    parser.add_argument("--layers", type=positive_number, default=6, metavar="N", help="in each stack (default 6)")
    parser.add_argument(
        "--rate", type=positive_real, default=5e-3, metavar="R", help="the highest learning rate (default 0.005)"
    )
    parser.add_argument(
        "--warmup", type=positive_number, default=200, metavar="N", help="steps until it is reached (default 200)"
    )
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of weights and data (default 0)")
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=600.0,
        metavar="S",
        help="begin no more steps after so many seconds (default 600)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("warmup.svg"), metavar="FILE", help="the picture (default warmup.svg)"
    )


def run(options: argparse.Namespace) -> int:
    """Train, print the table, write the picture."""
    from demos.pictures.losses import draw_losses
    from demos.terminal.tables import percent, print_table
    from demos.warming.training import CHANCE, WORDS, Setting, settings, train

    if options.warmup > options.steps:
        raise UserError(f"--warmup {options.warmup} must not be longer than --steps {options.steps}")
    with told_plainly(OSError):
        options.out.parent.mkdir(parents=True, exist_ok=True)
        refuse_foreign([options.out], "warmup", "--out")
    deadline = time.monotonic() + options.max_seconds
    setting = Setting(options.layers, options.steps, options.rate, options.warmup, options.seed, deadline)
    print(f"{setting.layers}+{setting.layers} layers learn to copy {WORDS} words; a guess has the loss {CHANCE:.2f}.")
    trained = [train(setting, *each) for each in settings()]
    print()
    rows = [
        (one.name, f"{one.gradients[0]:.2g}", f"{one.gradients[-1]:.2g}", f"{one.last_loss:.3f}", percent(one.right),
         one.verdict) for one in trained
    ]  # fmt: skip
    print_table(COLUMNS, rows)
    print(
        "\nGradients are those of the feed-forward networks at the first step. In post-norm they grow towards the"
        "\noutput (Xiong et al. 2020): full steps from the start can throw the weights to where little is learnt."
    )
    for one in trained:
        if len(one.losses) < setting.steps:
            print(f"note: time was up: {one.name} made {len(one.losses)} steps (--max-seconds)", file=sys.stderr)
    losses = {one.name: one.losses for one in trained}
    picture = draw_losses(losses, {one.name: one.last_loss for one in trained}, setting.warmup, CHANCE)
    with told_plainly(OSError):
        keep(options.out, picture.encode(), "warmup")
    print(f"\nsaved: {options.out}, for your browser")
    return 0
