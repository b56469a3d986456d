"""`python -m demos translate "i love you ."`: the translation, and how the model came to write it."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from demos.options import positive_real, whole_number
from demos.problems import UserError, told_plainly
from demos.trained import shortfall, split, train_first, unquoted, warn, worth_a_training

if TYPE_CHECKING:
    from transformer import Transformer
    from transformer.training.run import Run

SUMMARY = "translate sentences with a trained run, and show the probability of every token"
TASK = "translate"
PROMPT = "> "
NONE_GIVEN = 'no sentence was given (try: python -m demos translate "i love you .")'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "sentences",
        nargs="*",
        metavar="SENTENCE",
        help='each in quotes ("i love you ."); several words without quotes are one sentence. '
        "None: a sentence a line from standard input, with a prompt on a terminal",
    )
    parser.add_argument("--run", type=Path, metavar="RUN", help="the run to use (default: the newest runs/translate*)")
    parser.add_argument("--brief", action="store_true", help="only the translations, a line each")
    parser.add_argument("--out", type=Path, metavar="RUN", help="train a new run into this folder first, and use it")
    parser.add_argument("--seed", type=whole_number, metavar="N", help="of the training, if there has to be one")
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        metavar="S",
        help="stop the training, or translating, after so many seconds",
    )


def run(options: argparse.Namespace) -> int:
    """Find or make a trained run, then translate: 0 if every sentence could be, else 2."""
    from minigrad.errors import MinigradError
    from transformer.training.run import newest_run, open_run

    if options.run is not None and options.out is not None:
        raise UserError("--run uses a trained run, --out trains a new one: give one of them")
    asked = bool(sys.stdin is not None and sys.stdin.isatty()) and not options.sentences
    sentences = given(options.sentences)
    found = options.run or (newest_run(TASK) if options.out is None else None)
    if found is not None:
        path = found
    else:
        if not asked:
            sentences = worth_a_training(sentences, NONE_GIVEN)
        path, status = train_first(options.out, options.seed, options.max_seconds, quiet=options.brief)
        if status:
            return status
    with told_plainly(ValueError, MinigradError, MemoryError):
        opened = open_run(path)
        model = opened.load_model()
    if found and (told := shortfall(opened)):
        warn(told)
    deadline = time.monotonic() + (options.max_seconds or float("inf"))
    good = bad = 0
    for sentence in ask(opened) if asked else sentences:
        if time.monotonic() > deadline:
            print("time is up: the sentences from here on are not translated", file=sys.stderr)
            break
        try:
            translate(opened, model, sentence, options.brief)
            good += 1
        except UserError as error:  # the other sentences are none the worse for it
            sys.stdout.flush()
            print(f"error: {error}", file=sys.stderr)
            bad += 1
    if not good and not bad and not asked:
        raise UserError(NONE_GIVEN)
    return 2 if bad and not asked else 0


def given(sentences: list[str]) -> Iterable[str]:
    """The sentences of the command line, else the lines of standard input (blank ones are left out)."""
    if not sentences:
        return (line for line in (sys.stdin or ()) if line.strip())
    return unquoted(sentences)


def ask(opened: "Run") -> Iterator[str]:
    """The sentences that a person types at a prompt, until the input ends (Ctrl-D)."""
    with suppress(ImportError):
        import readline  # noqa: F401 - arrow keys and history at the prompt, where the system has them
    print(f"{opened.task.title}\nType a sentence, then Enter. Ctrl-D ends.")
    while True:
        try:
            sentence = input(PROMPT)
        except EOFError:
            print()
            return
        yield sentence


def translate(opened: "Run", model: "Transformer", sentence: str, brief: bool) -> None:
    """Print the translation of a sentence and the probabilities of its tokens. Raises UserError if it can't be read."""
    import numpy as np

    from demos.terminal.choices import print_choices
    from transformer.decoding.choices import choices
    from transformer.decoding.steps import next_token_probabilities
    from transformer.training.report import shown_target
    from transformer.vocabulary import EOS

    task, tokens = opened.task, split(opened.task, sentence)
    if unknown := opened.source_vocabulary.unknown(tokens):
        warn(f"not in the vocabulary, read as <unk>: {', '.join(unknown)}")
    ids, limit = opened.source_vocabulary.encode(tokens), task.max_target_length + 1
    with told_plainly(FloatingPointError), np.errstate(over="raise", invalid="raise"):  # what broken weights lead to
        steps = list(next_token_probabilities(model, ids, limit))
    if steps[-1][0] != EOS:
        warn(f"cut off: after {limit} tokens the model had come to no end")
    written = shown_target(task, opened.target_vocabulary.decode([chosen for chosen, _ in steps]))
    if brief:
        print(written)
        return
    print(f"{task.render_source(tokens)}\n{written}\n")
    print_choices(choices(steps, opened.target_vocabulary))
    print()
