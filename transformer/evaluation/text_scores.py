"""BLEU (Papineni et al., 2002) and chrF (Popović, 2015) of what was written, as sacreBLEU (Post, 2018) computes them.

Both are of a whole corpus, from 0 to 100, against all right targets, and mean something only beside their signature:
how many references, which tokeniser, which version.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from transformer.evaluation.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

Render = Callable[[Sequence[str]], str]  # as a task's render_target

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@dataclass(frozen=True)
class TextScore:
    """A corpus score, 0 to 100, by sacreBLEU's name for it; None where it is not defined. Its signature."""

    name: str
    value: float | None
    signature: str


def bleu(score: Score, render: Render, tokenize: str) -> TextScore:
    """The geometric mean of the precisions of runs of one to four words, times the penalty for too short a text.

    tokenize: sacreBLEU's name for how a text becomes words; see `tokenizer_for`. Where no right target has four words,
    there is nothing that BLEU could count, and no value; sacreBLEU itself says 0, even of what is right throughout.
    Raises ImportError if there is no sacreBLEU.
    """
    metric = load_sacrebleu().BLEU(tokenize=tokenize, force=True)  # force: text with a space before its full stop too
    streams = _references(score, render)
    value = metric.corpus_score(_written(score, render), streams).score
    return TextScore("BLEU", value if _has_four_words(metric, streams) else None, str(metric.get_signature()))


def chrf(score: Score, render: Render) -> TextScore:
    """The F2 score of runs of one to six characters, spaces left out (chrF2). Raises ImportError without sacreBLEU."""
    metric = load_sacrebleu().CHRF()
    found = metric.corpus_score(_written(score, render), _references(score, render))
    return TextScore(found.name, found.score, str(metric.get_signature()))


def tokenizer_for(score: Score, render: Render) -> str:
    """The tokeniser that BLEU wants here: `zh` if a Chinese character is in any right target, else the usual `13a`."""
    texts = (render(target) for answer in score.answers for target in answer.references)
    return "zh" if any(map(_HAN.search, texts)) else "13a"


def load_sacrebleu() -> Any:
    """The module `sacrebleu.metrics`, imported when first asked for. Raises ImportError that says how to install it."""
    try:
        import sacrebleu.metrics
    except ImportError as error:
        raise ImportError(f"BLEU and chrF need sacreBLEU ({error}): pip install '.[data]'") from error
    return sacrebleu.metrics


def _written(score: Score, render: Render) -> list[str]:
    return [render(answer.written) for answer in score.answers]


def _references(score: Score, render: Render) -> list[list[str]]:
    """Every answer's first right target, every answer's second, and so on; None where it has no more."""
    rows = [[render(target) for target in answer.references] for answer in score.answers]
    return cast(list[list[str]], [list(stream) for stream in zip_longest(*rows)])  # sacreBLEU takes the None


def _has_four_words(metric: "BLEU", streams: list[list[str]]) -> bool:
    texts = (text for stream in streams for text in stream if text is not None)
    return any(len(metric.tokenizer(text).split()) >= metric.max_ngram_order for text in texts)
