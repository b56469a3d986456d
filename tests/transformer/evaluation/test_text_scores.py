"""BLEU and chrF: by hand, as sacreBLEU's own functions give them, signed; and what is said where it is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import transformer
from transformer.evaluation import Answer, Score, bleu, chrf, load_sacrebleu, tokenizer_for

VERSION = sacrebleu.__version__


def score_of(*answers):
    """Each answer as the text that was written and the right ones; a token is a character."""
    return Score(
        tuple(
            Answer(("x",), tuple(first), tuple(written), tuple(map(tuple, others)))
            for written, first, *others in answers
        )
    )


SENTENCES = st.sampled_from(
    ["a b c d e", "a b d c", "e d c b a", "a", "", "我爱你。", "我今天不想见他们。", "他们想在公园见我吗？"]
)
CORPORA = st.lists(st.lists(SENTENCES, min_size=2, max_size=4).filter(lambda answer: answer[1]), min_size=1, max_size=6)


@given(CORPORA, st.sampled_from(["zh", "13a", "char"]))
def test_both_equal_sacrebleus_own_functions_on_any_number_of_right_targets(corpus, tokenize):
    written = [answer[0] for answer in corpus]
    streams = [[answer[place] if place < len(answer) else None for answer in corpus] for place in range(1, 4)]
    streams = [stream for stream in streams if any(text is not None for text in stream)]
    found = bleu(score_of(*corpus), "".join, tokenize)
    if found.value is not None:
        assert found.value == sacrebleu.corpus_bleu(written, streams, tokenize=tokenize).score
    assert chrf(score_of(*corpus), "".join).value == sacrebleu.corpus_chrf(written, streams).score


def test_bleu_by_hand():
    # of the runs of one to four words 4/5, 3/4, 2/3 and 1/2 are in the right target, whose product is 1/5
    one = score_of(("a b c d e", "a b c d f"))
    assert bleu(one, "".join, "13a").value == pytest.approx(100 * 0.2**0.25)
    assert bleu(score_of(("a b c d e", "a b c d f", "a b c d e")), "".join, "13a").value == pytest.approx(100)


def test_bleu_of_too_short_a_text_by_hand():
    # every run is right; the penalty for 4 words in the place of 5 is exp(1 - 5/4)
    score = score_of(("a b c d", "a b c d e"))
    assert bleu(score, "".join, "13a").value == pytest.approx(100 * 2.718281828459045**-0.25)


def test_chrf_by_hand():
    # runs of one to three characters: 2/3, 1/2 and 0 on both sides
    assert chrf(score_of(("abc", "abd")), "".join).value == pytest.approx(100 * (2 / 3 + 1 / 2) / 3)
    assert chrf(score_of(("abc", "xyz", "abc")), "".join).value == pytest.approx(100)


def test_chinese_is_counted_by_characters():
    # 4/5 of one and 2/4 of two are right; none of the runs of three and four is, so 1/2 and 1/4 of one are taken
    score = score_of(("我爱你们。", "我爱她们。"))
    by_hand = 100 * (4 / 5 * 2 / 4 * (1 / 2) / 3 * (1 / 4) / 2) ** 0.25
    assert tokenizer_for(score, "".join) == "zh"
    assert bleu(score, "".join, "zh").value == pytest.approx(by_hand)
    assert bleu(score, "".join, "13a").value is None  # one word for it


@pytest.mark.parametrize(
    ("right", "tokenizer"),
    [(["a b"], "13a"), (["Ça, là.", "日"], "zh"), (["ok", "𠀀"], "zh"), (["Да?", "！。"], "13a")],
)
def test_the_tokenizer_is_that_of_the_right_targets_whatever_was_written(right, tokenizer):
    assert tokenizer_for(score_of(("我", *right)), "".join) == tokenizer
    assert tokenizer_for(score_of(("a", "b"), ("a", *right)), "".join) == tokenizer


@pytest.mark.parametrize(
    ("corpus", "references"),
    [([("a", "b")], "1"), ([("a", "b", "c"), ("a", "b", "d")], "2"), ([("a", "b"), ("a", "b", "c")], "var")],
)
def test_signatures_say_how_many_references_which_tokenizer_and_which_version(corpus, references):
    found = bleu(score_of(*corpus), "".join, "zh")
    assert found.name == "BLEU"
    assert found.signature == f"nrefs:{references}|case:mixed|eff:no|tok:zh|smooth:exp|version:{VERSION}"
    found = chrf(score_of(*corpus), "".join)
    assert found.name == "chrF2"
    assert found.signature == f"nrefs:{references}|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{VERSION}"


def test_bleu_has_no_value_exactly_where_no_right_target_has_four_words():
    assert bleu(score_of(("a b c", "a b c")), "".join, "13a").value is None
    assert bleu(score_of(("a b c d", "a b c"), ("", "a")), "".join, "13a").value is None
    assert bleu(score_of(("a b c", "a b c", "a b c d")), "".join, "13a").value == 0.0
    assert bleu(score_of(("", "a b c d")), "".join, "13a").value == 0.0


def test_tokens_are_rendered_before_they_are_scored():
    score = Score((Answer(("x",), ("red", "cat", "s", "s"), ("red", "cat", "s", "s")),))
    assert bleu(score, " ".join, "13a").value == pytest.approx(100)
    assert bleu(score, "".join, "13a").value is None


def test_a_full_stop_that_stands_alone_is_not_complained_of(caplog):
    bleu(score_of(*[("a b c .", "a b c .")] * 200), "".join, "13a")
    assert not caplog.records


def test_without_sacrebleu_the_error_says_how_to_get_it(monkeypatch):
    for module in ("sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, module, None)
    for ask_for in (load_sacrebleu, lambda: bleu(score_of(("a", "b")), "".join, "zh"),
                    lambda: chrf(score_of(("a", "b")), "".join)):  # fmt: skip
        with pytest.raises(ImportError, match=r"need sacreBLEU .*: pip install '\.\[data\]'") as caught:
            ask_for()
        assert "\n" not in str(caught.value)


def test_sacrebleu_is_imported_by_nobody_who_asks_for_no_bleu():
    program = "import sys, transformer.evaluation; sys.exit('sacrebleu' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(transformer.__path__[0]).parent)}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
