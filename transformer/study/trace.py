"""One sentence, or a batch, through a model, forward and backward, in float64: what every study looks at.

Shapes: B batch, T_s / T_t source and target lengths, V target vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.activations import Seen
from transformer.masks import Ids
from transformer.model import Transformer
from transformer.vocabulary import PAD, as_ids

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """A forward and a backward pass that ran.

    model: in float64. source (B, T_s), target_in, target (B, T_t): ids. seen: every activation by its name (see
    `transformer.activations`), each with its gradient in `.grad`. loss: the mean cross-entropy of the words of
    `target`, with label smoothing; still on the tape. parameters: the gradients of the parameters, by name.
    """

    model: Transformer
    source: Ids
    target_in: Ids
    target: Ids
    label_smoothing: float
    seen: Seen
    loss: mg.Tensor
    parameters: dict[str, Array]


def traced(model: Transformer, source: Any, target_in: Any, target: Any, label_smoothing: float = 0.0) -> Trace:
    """Run `model`, on a copy in float64, forward and backward on a batch of ids, without dropout."""
    source, target_in, target = as_ids("source", source), as_ids("target_in", target_in), as_ids("target", target)
    model = in_float64(model)
    with mg.enable_grad(), model.capture() as seen:
        logits = model(source, target_in)
        loss = mg.cross_entropy(logits, target, ignore_index=PAD, label_smoothing=label_smoothing)
    named = dict(model.named_parameters())
    found = mg.gradients(loss, [*named.values(), *seen.values()])
    parameters = {name: gradient.data for name, gradient in zip(named, found, strict=False)}
    for activation, gradient in zip(seen.values(), found[len(named) :], strict=True):
        activation.grad = gradient
    return Trace(model, source, target_in, target, label_smoothing, seen, loss, parameters)


def in_float64(model: Transformer) -> Transformer:
    """A copy of the model whose parameters, and so all that it computes, are float64."""
    with mg.default_dtype("float64"):
        copy = Transformer(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def losses(trace: Trace, name: str, values: Array) -> Array:
    """The loss for each of many values of one activation, all else as in the trace: (N, *shape without B) -> (N,).

    Only for a trace of one sentence: the N values stand in one batch of N copies of it, whose rows cannot meet.
    """
    if len(trace.source) != 1:
        raise ValueError(f"losses: the trace is of {len(trace.source)} sentences; give one of a single sentence")
    count = len(values)
    source, target_in, target = (np.repeat(ids, count, axis=0) for ids in (trace.source, trace.target_in, trace.target))
    with mg.no_grad(), trace.model.patch({name: values}):
        logits = trace.model(source, target_in)
        each = mg.cross_entropy(
            logits, target, ignore_index=PAD, label_smoothing=trace.label_smoothing, reduction="none"
        )
    found: Array = each.data.sum(axis=-1) / np.sum(trace.target != PAD)
    return found


def differences(trace: Trace, name: str, step: float = 1e-5, batch: int = 512) -> Array:
    """The gradient of the loss with respect to one activation by central differences, every element on its own.

    (f(a + h) - f(a - h)) / 2h for each element a, h = `step` times the activation's greatest magnitude (at least 1e-3).
    `batch` copies of the sentence go through the model at once.
    """
    activation = trace.seen[name].data
    height = step * max(float(np.abs(activation).max(initial=0)), 1e-3)
    found = np.empty(activation.size)
    for start in range(0, activation.size, batch):
        places = slice(start, start + batch)
        up, down = (losses(trace, name, _shifted(activation, places, by)) for by in (height, -height))
        found[places] = (up - down) / (2 * height)
    return found.reshape(activation.shape)


def _shifted(activation: Array, places: slice, by: float) -> Array:
    """Copies of an activation (1, ...), one for each of the flat `places`, changed at its place alone: (N, ...)."""
    which = np.arange(activation.size)[places]
    values = np.tile(activation.reshape(-1), (len(which), 1))
    values[np.arange(len(which)), which] += by
    return values.reshape(len(which), *activation.shape[1:])
