"""One sentence, or a batch, through a model, forward and backward, in float64: what every study looks at.

Shapes: B batch, T_s / T_t source and target lengths, V target vocabulary.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.activations import Replacement, Seen
from transformer.masks import Ids
from transformer.model import Transformer
from transformer.one_stack import DecoderOnly, EncoderOnly
from transformer.vocabulary import PAD, as_ids

Array = npt.NDArray[np.float64]
COPIES = 128
"""Of a sentence that go through a model at once."""
Model = TypeVar("Model", Transformer, EncoderOnly, DecoderOnly)


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

    def gradient(self, name: str) -> Array:
        """d loss / d activation, of the activation's shape. An unknown name raises UnknownActivation."""
        gradient = self.seen[name].grad
        assert gradient is not None  # a trace gives every activation one
        return gradient.data


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


def in_float64(model: Model) -> Model:
    """A copy of the model whose parameters, and so all that it computes, are float64."""
    with mg.default_dtype("float64"):
        copy = type(model)(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


def losses(trace: Trace, name: str, values: Array) -> Array:
    """The loss for each of many values of one activation, all else as in the trace: (N, *shape without B) -> (N,).

    Only for a trace of one sentence: the N values stand in one batch of N copies of it, whose rows cannot meet.
    """
    if len(trace.source) != 1:
        raise ValueError(f"losses: the trace is of {len(trace.source)} sentences; give one of a single sentence")
    return losses_of_copies(trace, len(values), name, values)


def losses_of_copies(trace: Trace, count: int, name: str, replacement: Replacement) -> Array:
    """The losses of `count` copies of the trace's batch, in which one activation is replaced, all else as it was.

    replacement: as `model.patch` takes it, for the copies one behind the other: (count * B, ...).
    """
    source, target_in, target = (np.tile(ids, (count, 1)) for ids in (trace.source, trace.target_in, trace.target))
    with mg.no_grad(), trace.model.patch({name: replacement}):
        if name.startswith(("source", "encoder")):
            logits = trace.model(source, target_in)
        else:  # what the encoder makes is as it was
            memory = np.tile(trace.seen["encoder.out"].data, (count, 1, 1))
            logits = trace.model.decode(target_in, mg.Tensor(memory), source)
        each = mg.cross_entropy(
            logits, target, ignore_index=PAD, label_smoothing=trace.label_smoothing, reduction="none"
        )
    found: Array = each.data.reshape(count, -1).sum(axis=-1) / np.sum(trace.target != PAD)
    return found


def nudged(trace: Trace, name: str, by: float, places: Ids | None = None) -> Array:
    """The loss after one element of an activation, and nothing else, was changed by `by`, for each of many elements.

    places: which, as positions in the flat activation; by default all, and the answer has the activation's shape.
    """
    activation = trace.seen[name].data
    which = np.arange(activation.size) if places is None else places
    found = np.empty(len(which))
    for start in range(0, len(which), COPIES):
        some = which[start : start + COPIES]
        values = np.tile(activation.reshape(-1), (len(some), 1))
        values[np.arange(len(some)), some] += by
        found[start : start + COPIES] = losses(trace, name, values.reshape(len(some), *activation.shape[1:]))
    return found.reshape(activation.shape) if places is None else found


def differences(trace: Trace, name: str, places: Ids | None = None, step: float = 1e-5) -> Array:
    """The gradient of the loss with respect to one activation by central differences, every element on its own.

    (f(a + h) - f(a - h)) / 2h for each element a, h = `step` times the activation's greatest magnitude (at least 1e-3).
    places: as of `nudged`.
    """
    height = step * max(float(np.abs(trace.seen[name].data).max(initial=0)), 1e-3)
    found: Array = (nudged(trace, name, height, places) - nudged(trace, name, -height, places)) / (2 * height)
    return found
