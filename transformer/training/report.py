"""The end of a training: the model is judged on its test set, and the run's folder says how well it does."""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import minigrad as mg
from minigrad.atomic import write_atomically
from transformer.evaluation import Answer, Score, evaluate_splits
from transformer.tasks.task import Task
from transformer.training.curve import draw_curve
from transformer.training.loop import Outcome, judged_splits
from transformer.training.metrics import read_metrics
from transformer.training.run import Run

SAMPLES = 20


@dataclass(frozen=True)
class Judgement:
    """The scores by split, the one that the goal is stated on first; what was written for the example; report.json."""

    scores: Mapping[str, Score]
    example: tuple[str, ...]
    report: Mapping[str, Any]


def judge(run: Run, outcome: Outcome) -> Judgement:
    """Score the run's best weights on its test set; write samples.txt, curve.svg and, last of all, report.json."""
    started = time.process_time()
    model = run.load_model()
    with threadpool_limits(1, user_api="blas"):
        scores = evaluate_splits(model, judged_splits(run.task), run.source_vocabulary, run.target_vocabulary)
        asked = run.source_vocabulary.encode(run.task.tokenize_source(run.task.example))
        written = model.generate([asked], max_length=run.task.max_target_length + 1)[0]
    main = next(iter(scores.values()))
    state = outcome.state
    report = {
        "task": run.config.task,
        "seed": run.config.training.seed,
        "exact_match": main.exact_match,
        "token_accuracy": main.token_accuracy,
        "test_size": main.size,
        "splits": {name: summary(score) for name, score in scores.items()},
        "parameters": sum(parameter.size for parameter in model.parameters()),
        "steps": state.step,
        "stopped_early": outcome.stopped_early,
        "best_step": state.best_step,
        "cpu_seconds": round(state.cpu_seconds, 3),
        "wall_seconds": round(state.wall_seconds, 3),
        "evaluation_cpu_seconds": round(state.evaluation_cpu_seconds + time.process_time() - started, 3),
        "versions": versions(),
    }
    write_atomically(run.samples_file, samples_text(run.task, scores).encode())
    write_curve(run)
    write_atomically(run.report_file, (json.dumps(report, indent=2, ensure_ascii=False) + "\n").encode())
    return Judgement(scores, tuple(run.target_vocabulary.decode(written)), report)


def write_curve(run: Run) -> None:
    """Draw what metrics.csv holds into curve.svg; nothing if no step was made."""
    if rows := read_metrics(run.metrics_file):
        write_atomically(run.curve_file, draw_curve(rows, f"{run.config.task}: loss and exact match").encode())


def summary(score: Score) -> dict[str, float | int]:
    """A split's score as report.json holds it."""
    return {"exact_match": score.exact_match, "token_accuracy": score.token_accuracy, "test_size": score.size}


def samples_text(task: Task, scores: Mapping[str, Score]) -> str:
    """samples.txt: of each split the first answers, then all that are wrong."""
    parts = []
    for name, score in scores.items():
        parts.append(f"{task.name}, {name}: {score.exact_match:.2%} of {score.size:,} right\n")
        parts += [_sample(task, answer) for answer in score.answers[:SAMPLES]]
        if score.mistakes:
            parts.append(f"\nall {len(score.mistakes):,} mistakes in {name}\n")
            parts += [_sample(task, answer) for answer in score.mistakes]
        parts.append("\n")
    return "".join(parts)


def _sample(task: Task, answer: Answer) -> str:
    read, wrote, right = shown(task, answer)
    verdict = "right" if answer.right else f"wrong, should be: {right}"
    return f"  {read}\n    {wrote}   ({verdict})\n"


def shown(task: Task, answer: Answer) -> tuple[str, str, str]:
    """What was read, what was written and what is right, as the task writes it for people."""
    return (
        task.render_source(answer.source),
        shown_target(task, answer.written),
        task.render_target(answer.expected),
    )


def shown_target(task: Task, written: Sequence[str]) -> str:
    """What was written, as the task writes it for people."""
    return task.render_target(written) if written else "(nothing)"


def versions() -> dict[str, str]:
    """Of what the result may depend on."""
    return {"python": platform.python_version(), "numpy": np.__version__, "minigrad": mg.__version__}
