"""Subjects that questions are asked about: small random models and one sentence each, with padding and without."""

import numpy as np

from tests.transformer.models import small_model
from transformer.study.questions.answer import Subject
from transformer.study.trace import traced
from transformer.tasks.task import Pair
from transformer.vocabulary import BOS, EOS, PAD, Vocabulary


def subject(seed=1, padded=False, source_length=5, target_length=7, **changes):
    """A small model, every parameter random, and a sentence of random words, none of which stands twice in a row.

    padded: padding within the source and at its end, and at the target's.
    """
    model = small_model(seed, **changes)
    config = model.config
    rng = np.random.default_rng(seed + 100)
    source = rng.integers(4, config.source_vocab, (1, source_length))
    target = np.append(rng.integers(4, config.target_vocab, target_length - 1), EOS)[None]
    if padded:
        source[0, [1, -1]] = PAD
        target[0, -2:] = EOS, PAD
    target_in = np.concatenate([[[BOS]], target[:, :-1]], axis=1)
    left, right = (
        Vocabulary([f"{name}{n}" for n in range(size - 4)])
        for name, size in (("s", config.source_vocab), ("t", config.target_vocab))
    )
    words = [tuple(v.tokens[i] for i in ids[0]) for v, ids in ((left, source), (right, target))]
    trace = traced(model, source, target_in, target)
    return Subject(trace, *words, [Pair(words[0], words[1][:-1])], left, right)


SUBJECTS = {
    "plain": subject(),
    "padded": subject(2, padded=True),
    "other choices": subject(
        3, padded=True, d_model=24, heads=4, kv_heads=2, layers=3, norm="pre", norm_kind="rms", bias=False,
        positions="alibi", feed_forward="swiglu", tied="all", source_vocab=13,
    ),
    "one word": subject(4, source_length=1, target_length=2),
}  # fmt: skip
