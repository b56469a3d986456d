"""The reference: every value held against one that was computed by hand, in plain NumPy, by the paper's formulas.

The forward pass and the loss (`transformer.study.hand`), the words that are asked for, and what the optimiser does.
Gradients are not looked at here; `gradient` does that without a reference.
"""

import numpy as np

import minigrad as mg
from transformer.batching import Batch
from transformer.study.bugs import lesson
from transformer.study.bugs.witnesses.specimen import Array, specimen, strings
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words
from transformer.study.hand import hand_gradients
from transformer.vocabulary import BOS, EOS, PAD

TOLERANCE = 1e-9
STEPS = 3


def reference(seed: int) -> Verdict:
    """The first value that is another than by hand: of a batch, a forward pass, a loss, a step."""
    for part in (words_asked_for, forward, steps_taken):
        if other := part(seed):
            return Verdict(True, other)
    return Verdict(
        False, Words(f"every value as by hand, to {TOLERANCE:.0e}", f"每个数都与手算相同，误差不过 {TOLERANCE:.0e}")
    )


def words_asked_for(seed: int) -> Words | None:
    """The decoder reads bos and the words, and is asked for the words and eos."""
    batch = lesson.batch_of(strings(seed))
    for row, pair in enumerate(strings(seed)):
        words = lesson.VOCABULARY.encode(pair.target)
        for name, chinese, found, expected in (
            ("reads", "读到", batch.target_in, [BOS, *words]),
            ("is asked for", "要预测", batch.target_out, [*words, EOS]),
        ):
            if (got := [int(n) for n in found[row] if n != PAD]) != expected:
                return Words(
                    f"the decoder {name} the ids {got}, by hand {expected}",
                    f"解码器{chinese}的编号是 {got}，手算 {expected}",
                )
    return None


def forward(seed: int) -> Words | None:
    """Every activation, from the words to the logits, and the loss: of sentences, and of a source of padding alone.

    Of scores those count that a query may look at.
    """
    model, batch = specimen(seed), with_an_empty_source(seed)
    hand = hand_gradients(model, batch.source, batch.target_in, batch.target_out, lesson.SMOOTHING)
    with mg.no_grad(), model.capture() as seen:
        model(batch.source, batch.target_in)
        loss = lesson.loss_of(model, batch).data
    for name, activation in hand.activations.items():
        if name not in seen:
            continue
        counts = hand.activations[name.replace("scores", "pattern")].value > 0 if "scores" in name else True
        if other := told(name, np.where(counts, seen[name].data, 0), np.where(counts, activation.value, 0)):
            return other
    return told("loss", loss, np.asarray(hand.loss))


def with_an_empty_source(seed: int) -> Batch:
    """Sentences and what is to be written for them, the last source nothing but padding. Put together by hand."""
    pairs = [tuple(map(lesson.VOCABULARY.encode, pair)) for pair in strings(seed)]
    width = 1 + max(len(target) for _, target in pairs)
    source, target_in, target_out = (np.full((len(pairs), width), PAD) for _ in range(3))
    for row, (words, target) in enumerate(pairs):
        source[row, : len(words)] = PAD if row + 1 == len(pairs) else words
        target_in[row, : 1 + len(target)] = [BOS, *target]
        target_out[row, : 1 + len(target)] = [*target, EOS]
    return Batch(source, target_in, target_out)


def steps_taken(seed: int) -> Words | None:
    """Parameters after a few steps of Adam, from the gradients as they are, the rate rising to its peak."""
    model, batch = specimen(seed), lesson.batch_of(strings(seed))
    named = dict(model.named_parameters())
    optimizer = lesson.optimizer_of(model, lesson.STEPS)
    expected = {name: parameter.data for name, parameter in named.items()}
    m, v = ({name: np.zeros(parameter.shape) for name, parameter in named.items()} for _ in range(2))
    for step in range(1, STEPS + 1):
        lesson.backward(model, optimizer, batch)
        gradients = {name: np.zeros(p.shape) if p.grad is None else p.grad.data for name, p in named.items()}
        optimizer.step()
        for name, g in gradients.items():
            m[name], v[name] = 0.9 * m[name] + 0.1 * g, 0.98 * v[name] + 0.02 * g**2
            rate = lesson.PEAK_RATE * step / lesson.WARMUP
            mean, square = m[name] / (1 - 0.9**step), v[name] / (1 - 0.98**step)
            expected[name] = expected[name] - rate * mean / (np.sqrt(square) + 1e-9)
            if other := told(f"{name} after step {step}", named[name].data, expected[name]):
                return other
    return None


def told(name: str, found: Array, expected: Array) -> Words | None:
    """Where the two are furthest apart, if they are not the same."""
    difference = np.abs(found - expected)
    if difference.max() <= TOLERANCE * (1 + np.abs(expected).max()):
        return None
    place = np.unravel_index(np.argmax(difference), difference.shape)
    there, by_hand = f"{found[place]:.7g}", f"{expected[place]:.7g}"
    return Words(f"{name}: {there}, by hand {by_hand}", f"{name}：{there}，手算 {by_hand}")
