"""Why a model fails at a length: where the first wrong word stands, and where the cross-attention looks."""

from collections import Counter

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.batching import make_batch
from transformer.evaluation import evaluate
from transformer.model import Transformer
from transformer.study.figures import Lines, Words
from transformer.study.lengths.judging import unseen
from transformer.study.lengths.setting import VOCABULARY, Setting


def first_mistakes(model: Transformer, setting: Setting, length: int) -> dict[int, int]:
    """Of unseen strings of a length: how many have their first wrong word at each place, the end being at `length`."""
    score = evaluate(model, unseen(setting, length), VOCABULARY, VOCABULARY)
    places = (first_difference(answer.expected, answer.written) for answer in score.mistakes)
    return dict(sorted(Counter(places).items()))


def first_difference(expected: tuple[str, ...], written: tuple[str, ...]) -> int:
    """The first place where two texts that are not the same differ; where one goes on, the end of the other."""
    differing = [place for place, (a, b) in enumerate(zip(expected, written, strict=False)) if a != b]
    return differing[0] if differing else min(len(expected), len(written))


def attended(model: Transformer, setting: Setting, length: int) -> Lines:
    """How much each head of the cross-attention looks at a word, by its distance from the one that is to be written.

    The mean over unseen strings of a length, and over the steps in which there is a word at that distance; the model is
    given the right words before. A head that finds its place has 1 at distance 0.
    """
    batch = make_batch(
        [(VOCABULARY.encode(pair.source), VOCABULARY.encode(pair.target)) for pair in unseen(setting, length)]
    )
    with mg.no_grad(), model.capture() as seen:
        model(batch.source, batch.target_in)
    pattern = seen["decoder.layers.0.cross_attention.pattern"].data.mean(axis=0)  # (H, T_t, T_s)
    heads, _, words = pattern.shape
    total, count = np.zeros((heads, 2 * words - 1)), np.zeros(2 * words - 1)
    for step, right in enumerate(right_places(setting, length)):
        distances = slice(words - 1 - right, 2 * words - 1 - right)  # of the words, the first one's in front
        total[:, distances] += pattern[:, step]
        count[distances] += 1
    met = np.flatnonzero(count)
    curves: dict[str | Words, npt.NDArray[np.float64]] = {
        Words(f"head {head}", f"头 {head}"): total[head, met] / count[met] for head in range(heads)
    }
    return Lines(
        Words(f"where the cross-attention looks, {length} letters", f"交叉注意力看向哪里, {length} 个字母"),
        (met - (words - 1)).tolist(),
        curves,
        Words("distance from the right word", "与正确位置的距离"),
        Words("weight", "权重"),
    )


def right_places(setting: Setting, length: int) -> list[int]:
    """Where in the source each letter stands that is to be written, step by step."""
    places = range(length) if setting.task == "copy" else range(length - 1, -1, -1)
    return [place + setting.marked for place in places]
