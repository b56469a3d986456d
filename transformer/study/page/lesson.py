"""All that a page tells of one sentence, as plain data for its script."""

from collections.abc import Callable
from typing import Any, Literal

import minigrad as mg
from transformer.config import TransformerConfig
from transformer.decoding.choices import END, choices
from transformer.decoding.steps import next_token_probabilities
from transformer.model import Transformer
from transformer.study.hand import hand_gradients
from transformer.study.ledger import ledgers
from transformer.study.page.boxes import NUDGED, boxes, tensors
from transformer.study.page.encoded import encoded
from transformer.study.page.figure_map import TOP, FigureMap, figure_map, output_of
from transformer.study.page.witnesses import of_activation, of_parameter
from transformer.study.questions.answer import Subject
from transformer.study.trace import Trace, nudged
from transformer.vocabulary import EOS

START = "(start)"
PARTS = 100
"""Of the work for a sentence: nearly all is finite differences."""
NUDGES = (0.01, 0.1, 1.0)
"""By how much a cell of the scores is nudged, and the loss measured; others by the first alone."""


def lesson(subject: Subject, told: Callable[[int], None]) -> dict[str, Any]:
    """Everything of one sentence. told: is given how many of `PARTS` are done, as they are."""
    trace = subject.trace
    require_covered(trace.model.config)
    forward, backward = figure_map(trace, "forward"), figure_map(trace, "backward")
    shown = shown_activations(forward)
    by_hand = hand_gradients(trace.model, trace.source, trace.target_in, trace.target)
    outputs = [output_of(path) for path in forward.kinds if path != TOP]
    books = dict(zip(outputs, ledgers(trace.loss, [trace.seen[name] for name in outputs]), strict=True))
    witnesses = {name: of_parameter(trace, name, by_hand) for name in trace.parameters}
    arrays = {}
    for done, name in enumerate(shown):
        told(PARTS * done // len(shown))
        witnesses[name] = of_activation(trace, name, by_hand)
        arrays[name] = activation(trace, name)
    return {
        "source": [*subject.source_words],
        "target": [*subject.target_words],
        "target_in": [START, *subject.target_words[:-1]],
        "loss": float(trace.loss.data),
        "parameters": trace.model.parameter_count,
        "heads": trace.model.config.heads,
        "maps": {"forward": drawn(forward), "backward": drawn(backward)},
        "order": [*forward.order],
        "boxes": boxes(trace, forward, books, witnesses),
        "arrays": arrays | parameters(trace),
        "probabilities": encoded(mg.softmax(trace.seen["logits"], axis=-1).data[0]),
        "vocabulary": [END if id == EOS else token for id, token in enumerate(subject.target_vocabulary.tokens)],
        "target_ids": trace.target[0].tolist(),
        "writing": writing(subject),
    }


def require_covered(config: TransformerConfig) -> None:
    """Raise ValueError for a model that the page has no boxes for; what the hand derivations cover is theirs to say."""
    if config.norm != "post":
        raise ValueError(f"the study page shows the paper's model, norm='post'; this one has norm={config.norm!r}")


def weights(model: Transformer) -> dict[str, Any]:
    """The weights that the page's rules read, (in, out) each: W_O, W_2, and that of the output projection."""
    named = model.state_dict()
    found = {name: named[name] for name in named if name.endswith(("attention.output.weight", "outer.weight"))}
    table = named["output.weight"] if model.config.tied == "none" else model.target_embedding.weight.data.T
    return {name: encoded(weight) for name, weight in (found | {"output.weight": table}).items()}


def shown_activations(figure: FigureMap) -> list[str]:
    """The names of all activations that the page shows, each once."""
    return [*dict.fromkeys(name for path, kind in figure.kinds.items() for name in tensors(kind, path).values())]


def drawn(figure: FigureMap) -> dict[str, Any]:
    """A map as plain data."""
    arrows = {
        name: {layer: [flow.source, flow.target, flow.roles, flow.norm] for layer, flow in flows.items()}
        for name, flows in figure.arrows.items()
    }
    return {"svg": figure.svg, "boxes": figure.boxes, "arrows": arrows}


def activation(trace: Trace, name: str) -> dict[str, Any]:
    """An activation with its gradient, and where its cells can be nudged, what the loss did.

    Scores and pattern as float64: their rule subtracts numbers that are nearly equal. A ReLU's input needs no gradient
    and its output no value: the script takes them from each other.
    """
    found = trace.seen[name]
    last = name.rpartition(".")[2]
    kind: Literal["f4", "f8"] = "f8" if last in ("scores", "pattern") else "f4"
    told = encoded(found.data[0], kind)
    if last != "inner":
        told["gradient"] = encoded(trace.gradient(name)[0], kind)["data"]
    if last == "hidden":
        del told["data"]
    nudges = NUDGES if last == "scores" else NUDGES[:1] if last in NUDGED else ()
    loss = float(trace.loss.data)
    told["nudged"] = {f"{by:g}": encoded(nudged(trace, name, by)[0] - loss, kind)["data"] for by in nudges}
    return told


def parameters(trace: Trace) -> dict[str, Any]:
    """The gains, which the rule of a layer norm reads; with their gradients."""
    return {
        name: encoded(parameter.data) | {"gradient": encoded(trace.parameters[name])["data"]}
        for name, parameter in trace.model.named_parameters()
        if name.endswith("norm.gain")
    }


def writing(subject: Subject) -> list[dict[str, Any]]:
    """How the model wrote the sentence: at each step, what came before, the likeliest next tokens, what was written."""
    source: list[int] = subject.trace.source[0].tolist()
    limit = len(subject.target_words)
    steps = choices(next_token_probabilities(subject.trace.model, source, limit), subject.target_vocabulary)
    return [
        {
            "after": START if place == 0 else subject.target_words[place - 1],
            "written": step.written,
            "likeliest": [[word, share] for word, share in step.likeliest],
            "other": step.other,
        }
        for place, step in enumerate(steps)
    ]
