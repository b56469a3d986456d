"""What tests of the study page share: a small model's sentences, and ways about the page."""

import numpy as np
from playwright.sync_api import expect

from transformer import Transformer, TransformerConfig
from transformer.study.questions import Subject
from transformer.study.trace import traced
from transformer.tasks import TASKS
from transformer.vocabulary import BOS

TASK = TASKS["translate"]
SENTENCES = [("i", "love", "you", "."), ("she", "<b>&\"'", "now", ".")]  # no vocabulary has the second's second word
CROSS, SELF = "decoder.layers.1.cross_attention", "decoder.layers.0.self_attention"
NORM = "encoder.layers.0.self_attention_norm"


def subject_of(model, words):
    source = [TASK.source_vocabulary.encode(words)]
    target = np.array([[9, 7, 5, 9, 2]])
    target_in = np.concatenate([[[BOS]], target[:, :-1]], axis=1)
    written = (*(TASK.target_vocabulary.tokens[token] for token in target[0, :-1]), "(end)")
    trace = traced(model, source, target_in, target)
    return Subject(trace, words, written, [], TASK.source_vocabulary, TASK.target_vocabulary)


def studied():
    """A subject for each sentence, of one small model whose every parameter is random."""
    config = TransformerConfig(
        source_vocab=len(TASK.source_vocabulary.tokens), target_vocab=len(TASK.target_vocabulary.tokens),
        d_model=12, heads=3, layers=2, d_ff=20, dropout=0.0,
    )  # fmt: skip
    model = Transformer(config, rng=1)
    rng = np.random.default_rng(2)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape).astype(np.float32)
    return [subject_of(model, words) for words in SENTENCES]


def address(box, direction="backward", head=0, language="en", sentence=0):
    return f"#sentence={sentence}&box={box}&direction={direction}&head={head}&language={language}"


def go(page, *where, **more):
    page.evaluate("target => { location.hash = target }", address(*where, **more))
    expect(page.locator("#box .where")).to_contain_text(where[0])


def shown(value, digits=4):
    """A number as the page writes it."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
        leading = 0 if whole else -int(np.floor(np.log10(abs(value)))) - 1
        text = f"{value:.{max(digits - whole, 0) + leading}f}"
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}e{'+' if int(exponent) > 0 else ''}{int(exponent)}"
    return text.replace("-", "−")


def cell(page, title, row, column):
    """A cell of the heat map with this title."""
    figure = page.locator("#box figure.map").filter(has=page.get_by_text(title, exact=True))
    return figure.locator(f'rect[data-row="{row}"][data-column="{column}"]')
