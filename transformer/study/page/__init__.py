"""The study page: sentences through a trained model, forward and backward, in one HTML file that needs nothing else."""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from inspect import signature
from typing import Any

import minigrad as mg
from minigrad.drawing import palette
from minigrad.drawing.page import COLOURS, environment, shell
from transformer.study.questions.answer import Answer

LANGUAGES = ("en", "zh")
EPS: float = signature(mg.layer_norm).parameters["eps"].default
"""Of the model's layer norms: the script puts it into their rule."""


def study_page(lessons: Sequence[dict[str, Any]], weights: dict[str, Any], answers: Sequence[Answer]) -> str:
    """The page's HTML.

    lessons: each what `lesson` gives of a sentence; weights: what `weights` gives of their model. answers: to what
    learners ask. Raises ValueError without a lesson.
    """
    if not lessons:
        raise ValueError("a study page needs at least one sentence")
    folder = files(__name__)
    sentences = [" ".join(each["source"]) for each in lessons]
    body = environment().from_string((folder / "study.html.jinja").read_text("utf-8"))
    scripts = sorted((script.name, script.read_text("utf-8")) for script in (folder / "script").iterdir())
    return shell(
        title="Backprop through attention",
        body=body.render(sentences=sentences, answers=answers, languages=LANGUAGES),
        style=(folder / "study.css").read_text("utf-8"),
        script="\n".join(text for name, text in scripts if name.endswith(".js")),
        data={
            "languages": LANGUAGES,
            "words": tomllib.loads((folder / "words.toml").read_text("utf-8")),
            "equations": tomllib.loads((folder / "equations.toml").read_text("utf-8")),
            "eps": EPS,
            "weights": weights,
            "lessons": lessons,
        },
        colours=COLOURS
        | {f"h{level}": colour for level, colour in enumerate(palette.HEAT)}
        | {"up": palette.HEAT[-1], "down": palette.HEAT[0]},
    )
