"""`python -m demos study "i love you ."`: sentences through a trained model, forward and backward, as one page."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demos.keeping import keep, refuse_foreign
from demos.options import positive_real, whole_number
from demos.problems import told_plainly
from demos.trained import TASK, shortfall, split, train_first, unquoted, warn

if TYPE_CHECKING:
    from transformer import Transformer
    from transformer.study.questions import Answer, Subject
    from transformer.training.run import Run

SUMMARY = "write a page on which sentences go through a model, forward and backward"
PAIRS = 200  # held-out pairs that some answers are measured on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "sentences",
        nargs="*",
        metavar="SENTENCE",
        help='each in quotes ("i love you .", the default); the page has a picker',
    )
    parser.add_argument("--run", type=Path, metavar="RUN", help=f"the run to use (default: the newest runs/{TASK}*)")
    parser.add_argument(
        "--out", type=Path, default=Path("study.html"), metavar="FILE", help="the page (default study.html)"
    )
    parser.add_argument("--seed", type=whole_number, metavar="N", help="of the training, if there has to be one")
    parser.add_argument(
        "--max-seconds", type=positive_real, metavar="S", help="stop the training, if there has to be one, after that"
    )


def run(options: argparse.Namespace) -> int:
    """Find or train a run, study every sentence, write the page."""
    from minigrad.errors import MinigradError
    from transformer.study.page import lesson
    from transformer.tasks import get_task
    from transformer.training.run import newest_run, open_run

    with told_plainly(OSError):
        options.out.parent.mkdir(parents=True, exist_ok=True)
        refuse_foreign([options.out], "study", "--out")
    sentences = unquoted(options.sentences)
    path = options.run or newest_run(TASK)
    if path is None:
        for sentence in sentences:
            split(get_task(TASK), sentence)  # so that a wrong one is told before the training, not behind it
        path, status = train_first(None, options.seed, options.max_seconds)
        if status:
            return status
    with told_plainly(ValueError, MinigradError, MemoryError):
        opened = open_run(path)
        model = opened.load_model()
    if told := shortfall(opened):
        warn(told)
    with told_plainly(ValueError, MinigradError, OSError):
        lesson.require_covered(opened.config.model)
        page = write_page([subject(opened, model, sentence) for sentence in sentences or [opened.task.example]])
        keep(options.out, page.encode(), "study")
    print(f"saved: {options.out}, {len(page.encode()) / 1e6:.1f} MB, for your browser; it needs nothing else")
    return 0


def subject(opened: "Run", model: "Transformer", sentence: str) -> "Subject":
    """One sentence, and what the model writes for it, traced. Raises UserError if it can't be read."""
    from transformer.decoding.choices import END
    from transformer.study.questions import Subject
    from transformer.study.trace import traced
    from transformer.vocabulary import BOS, EOS

    task, tokens = opened.task, split(opened.task, sentence)
    if unknown := opened.source_vocabulary.unknown(tokens):
        warn(f"not in the vocabulary, read as <unk>: {', '.join(unknown)}")
    source = [opened.source_vocabulary.encode(tokens)]
    written = model.generate(source, task.max_target_length + 1)
    words = [END if token == EOS else opened.target_vocabulary.tokens[token] for token in written[0]]
    target_in = [[BOS, *written[0, :-1]]]
    pairs = next(iter(task.test_set(PAIRS).values()))
    return Subject(
        traced(model, source, target_in, written), tuple(tokens), tuple(words), pairs, opened.source_vocabulary,
        opened.target_vocabulary, opened.config.training.label_smoothing,
    )  # fmt: skip


def write_page(subjects: Sequence["Subject"]) -> str:
    """The page; its answers are about the first sentence."""
    from demos.terminal.progress import progress
    from transformer.study.page import lesson, study_page

    watching = progress("part", before="")
    lessons = []
    for each in subjects:
        watching.start(" ".join(each.source_words), lesson.PARTS)
        lessons.append(lesson.lesson(each, watching.update))
        watching.close()
    return study_page(lessons, lesson.weights(subjects[0].trace.model), answers(subjects[0]))


def answers(subject: "Subject") -> list["Answer"]:
    """The answers to what learners ask, from this sentence and model."""
    from demos.terminal.progress import progress
    from transformer.study.questions import QUESTIONS

    watching = progress("question", before="")
    watching.start("what learners ask", len(QUESTIONS))
    found = []
    for done, question in enumerate(QUESTIONS):
        watching.update(done)
        found.append(question(subject))
    watching.close()
    return found
