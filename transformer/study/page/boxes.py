"""The boxes of figure 1 as a page tells of them: which tensors each shows, what came together in its cotangent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer.blocks import Kind
from transformer.study.heads import Sight
from transformer.study.ledger import Ledger
from transformer.study.page.encoded import encoded
from transformer.study.page.figure_map import TOP, FigureMap, output_of
from transformer.study.trace import Trace

ATTENTION = ("q", "k", "v", "scores", "pattern", "z", "out")
TENSORS: Mapping[Kind, Sequence[str]] = {
    "embedding": ("out",),
    "position": ("out",),
    "attention": ATTENTION,
    "masked": ATTENTION,
    "add_norm": ("sum", "out"),
    "feed_forward": ("inner", "hidden", "out"),
}
"""What a box of each kind shows, in the paper's order; the two boxes on top show the logits."""
NUDGED = ("q", "k", "v", "scores", "pattern", "z")
"""Those whose cells can be nudged on the page."""


def tensors(kind: Kind, path: str) -> dict[str, str]:
    """The activations that a box shows: by their last name, the whole."""
    if path in ("output", TOP):
        return {"logits": "logits"}
    return {name: f"{path}.{name}" for name in TENSORS[kind]}


def boxes(
    trace: Trace, figure: FigureMap, ledgers: Mapping[str, Ledger], witnesses: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Every box by its path.

    figure: the forward map. ledgers: of every box's output, by its name. witnesses: of every gradient, by its name.
    """
    sources = _sources(figure)
    return {
        path: {
            "kind": kind,
            "stack": path.partition(".")[0] if ".layers." in path else "",
            "layer": int(path.split(".")[2]) if ".layers." in path else None,
            "tensors": tensors(kind, path),
            "inputs": sources.get(path, []),
            "equation": _equation(trace, path, kind),
            "ledger": ledger_of(trace, output_of("output" if path == TOP else path), ledgers),
            "witnesses": [witnesses[name] for name in (*tensors(kind, path).values(), *_weights(trace, path))],
            **(exact(trace, path) if kind in ("attention", "masked") else {}),
        }
        for path, kind in figure.kinds.items()
    }


def ledger_of(trace: Trace, name: str, ledgers: Mapping[str, Ledger]) -> dict[str, Any]:
    """What was summed into the gradient of an activation, and how far the sum is from the gradient of the trace."""
    contributions = ledgers[name].contributions
    gradient = trace.gradient(name)
    total = sum((contribution.value for contribution in contributions), np.zeros(gradient.shape))
    return {
        "entries": [
            {"name": c.words, "path": c.path, "norm": c.norm, "value": encoded(c.value[0])} for c in contributions
        ],
        "norm": float(np.linalg.norm(gradient)),
        "difference": float(np.abs(total - gradient).max(initial=0)),
    }


def exact(trace: Trace, path: str) -> dict[str, Any]:
    """What holds exactly in an attention: rows of dS sum to 0 (the largest sum), masked cells have gradient 0."""
    gradient = trace.gradient(f"{path}.scores")
    masked = ~Sight.of(trace, path).visible[0]
    at_masked = gradient[..., masked]
    return {
        "row_sum": float(np.abs(gradient.sum(axis=-1)).max(initial=0)),
        "masked": int(at_masked.size),
        "masked_zero": not at_masked.any(),
        "hidden": masked.astype(int).tolist() if masked.any() else None,
    }


def _sources(figure: FigureMap) -> dict[str, list[str]]:
    """By a box, where its inputs come from."""
    found: dict[str, list[str]] = {}
    for flows in figure.arrows.values():
        for flow in flows.values():
            sources = found.setdefault(flow.target, [])
            if flow.source not in sources:
                sources.append(flow.source)
    return found


def _weights(trace: Trace, path: str) -> list[str]:
    """The names of a box's parameters; of a tied projection that of the table, which bears an embedding's name."""
    own = [name for name in trace.parameters if name.startswith(f"{path}.")]
    if path != "output" or trace.model.config.tied == "none":
        return own
    table = "source_embedding.weight" if trace.model.config.tied == "all" else "target_embedding.weight"
    return [table, *own]


def _equation(trace: Trace, path: str, kind: Kind) -> str:
    """The name of a box's equation and rules in equations.toml."""
    if path == "output" and trace.model.config.tied != "none":
        return "tied"
    return "attention" if kind == "masked" else kind
