"""Beam search: the few best beginnings are kept, and each grows by one word at a time.

Shapes: B rows, K beams, L longest length written, V target vocabulary, T_s source length, D d_model.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.decoding.writer import CanWrite, Writer, log_probabilities
from transformer.masks import Ids
from transformer.vocabulary import EOS, PAD

Scores = NDArray[np.float64]

LARGEST_LOG = 300.0
"""Of what a score may be divided by: e^300, far within what a number can hold."""


class Hypotheses(NamedTuple):
    """K sequences a row, best first: ids (B, K, L), padded after their end, and scores (B, K).

    Where fewer than K sequences were found, the rest is padding and scores -inf.
    """

    ids: Ids
    scores: Scores


def beam_search(
    model: CanWrite, source: Any, beams: int, max_length: int = 64, length_penalty: float = 0.6
) -> Hypotheses:
    """The `beams` best translations of each row that a search of this width finds: (B, T_s) -> (B, K, L), (B, K).

        score(y) = log P(y | x) / lp(|y|),   lp(n) = ((5 + n) / 6) ** length_penalty

    |y| counts eos. log P is over what can be written: bos and padding have probability 0. A hypothesis is finished
    when it ends with eos or has `max_length` words.

    A step: of all continuations of a row's open hypotheses, those finished among the K of greatest log P join the
    finished, of which the K best scores stay; the K of greatest log P without eos are the next open ones. Ties go to
    what finished earlier, then to the continuation of the better hypothesis, then to the smaller id.

    Stop rule: a row stops when lp(max_length) leaves none of its open hypotheses a chance,

        max over open y of log P(y) / lp(max_length) <= the worst of K kept finished scores,

    so never before K are finished, unless none is open. Nothing better is lost: let z continue y. Then
    log P(z) <= log P(y) <= 0, since a word's log-probability is never positive, and lp(|z|) <= lp(max_length), since
    lp grows. Dividing a number that is not positive by more brings it nearer to 0, so

        score(z) = log P(z) / lp(|z|) <= log P(y) / lp(|z|) <= log P(y) / lp(max_length).

    One beam and penalty 0 is greedy decoding; with as many beams as there are continuations at the last step but one,
    it is exhaustive search. A row's result does not depend on the other rows; one that has stopped leaves the batch.

    Raises ValueError for beams or max_length below 1 and for a penalty that is negative or not finite.
    Source: Wu et al. 2016, section 7, equation 14, without the coverage penalty; the paper, section 6.1, takes 4 beams
    and penalty 0.6.
    """
    _check(beams, max_length, length_penalty)
    writer = model.writer(source)
    going = np.arange(len(source))
    finished, opened = _nothing(len(going), beams, max_length), _beginning(len(going), beams, max_length)
    for length in range(max_length):
        if not len(going):
            break
        log_p = _continuations(writer, opened)
        ended, _ = _likeliest(opened, log_p, length)
        arrived = _finished_at(length + 1, ended, max_length, length_penalty)
        kept = _best(_rows(finished, going), arrived)
        finished.ids[going], finished.scores[going] = kept
        log_p[:, :, EOS] = -np.inf
        grown, parents = _likeliest(opened, log_p, length)
        bound = grown.scores.max(axis=1) / penalty(max_length, length_penalty)
        hopeful = bound > kept.scores[:, -1]
        _write(writer, opened, grown, parents, hopeful, length)
        going, opened = going[hopeful], _rows(grown, hopeful)
    return _trimmed(finished)


def penalty(length: int, exponent: float) -> float:
    """lp(n) = ((5 + n) / 6) ** exponent: what log P of n words is divided by. Source: Wu et al. 2016, equation 14."""
    return float(((5 + length) / 6) ** exponent)


def _check(beams: int, max_length: int, length_penalty: float) -> None:
    if beams < 1:
        raise ValueError(f"beams must be at least 1, not {beams}")
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    if not 0 <= length_penalty < math.inf:
        raise ValueError(f"length_penalty must be finite and not negative, not {length_penalty}")
    if length_penalty * math.log((5 + max_length) / 6) > LARGEST_LOG:
        raise ValueError(f"length_penalty={length_penalty} is too great: a text of {max_length} words would score 0")


def _nothing(rows: int, beams: int, max_length: int) -> Hypotheses:
    """No hypothesis yet: all padding (B, K, max_length), all scores -inf (B, K)."""
    return Hypotheses(np.full((rows, beams, max_length), PAD, dtype=np.int64), np.full((rows, beams), -np.inf))


def _beginning(rows: int, beams: int, max_length: int) -> Hypotheses:
    """One open hypothesis a row, the empty one: log P = 0. The score of an open hypothesis is its log P."""
    empty = _nothing(rows, beams, max_length)
    empty.scores[:, 0] = 0.0
    return empty


def _real(opened: Hypotheses) -> NDArray[np.bool_]:
    """Which of the open hypotheses (B, K) there are: the writer has a row for each, in this order."""
    return np.asarray(opened.scores > -np.inf)


def _continuations(writer: Writer, opened: Hypotheses) -> Scores:
    """log P of every open hypothesis with every next word: (B, K, V)."""
    following, real = log_probabilities(writer.logits()), _real(opened)
    log_p = np.full((*opened.scores.shape, following.shape[-1]), -np.inf)
    log_p[real] = opened.scores[real][:, None] + following
    return log_p


def _likeliest(opened: Hypotheses, log_p: Scores, length: int) -> tuple[Hypotheses, Ids]:
    """The K likeliest of the continuations log_p (B, K, V), the word written at position `length`.

    And which of the hypotheses each continues: (B, K).
    """
    rows, beams, vocabulary = log_p.shape
    flat = log_p.reshape(rows, beams * vocabulary)
    chosen = np.argsort(-flat, axis=1, kind="stable")[:, :beams]  # (B, K)
    parents = chosen // vocabulary
    ids = np.take_along_axis(opened.ids, parents[:, :, None], axis=1)
    ids[:, :, length] = chosen % vocabulary
    return Hypotheses(ids, np.take_along_axis(flat, chosen, axis=1)), parents


def _write(
    writer: Writer, opened: Hypotheses, grown: Hypotheses, parents: Ids, hopeful: NDArray[np.bool_], length: int
) -> None:
    """Let the writer go on with what grew, in the rows that are hopeful, each from its parent."""
    written = np.full(opened.scores.shape, -1)
    written[_real(opened)] = np.arange(np.count_nonzero(_real(opened)))  # the writer's rows
    goes_on = _real(grown) & hopeful[:, None]
    writer.write(np.take_along_axis(written, parents, axis=1)[goes_on], grown.ids[goes_on, length])


def _finished_at(length: int, hypotheses: Hypotheses, max_length: int, length_penalty: float) -> Hypotheses:
    """The same of `length` words with their scores in place of log P; what has not finished has -inf."""
    ended = (hypotheses.ids[:, :, length - 1] == EOS) | (length == max_length)
    return Hypotheses(hypotheses.ids, np.where(ended, hypotheses.scores / penalty(length, length_penalty), -np.inf))


def _best(earlier: Hypotheses, later: Hypotheses) -> Hypotheses:
    """The K best of twice K, best first, the earlier one where scores are equal: so padding, not what is unfinished."""
    ids = np.concatenate([earlier.ids, later.ids], axis=1)
    scores = np.concatenate([earlier.scores, later.scores], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : earlier.scores.shape[1]]
    return Hypotheses(np.take_along_axis(ids, order[:, :, None], axis=1), np.take_along_axis(scores, order, axis=1))


def _rows(hypotheses: Hypotheses, rows: NDArray[Any]) -> Hypotheses:
    return Hypotheses(hypotheses.ids[rows], hypotheses.scores[rows])


def _trimmed(finished: Hypotheses) -> Hypotheses:
    """The same without the columns at the end that are padding in every hypothesis: (B, K, L)."""
    longest = int((finished.ids != PAD).sum(axis=-1).max(initial=0))
    return Hypotheses(finished.ids[:, :, :longest], finished.scores)
