import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.tasks import get_task
from transformer.tasks.grammar.reading import read


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I love you.", "i love you ."),
        ("i love you .", "i love you ."),
        ("  i love\tyou\n", "i love you ."),
        ("I LOVE YOU!", "i love you ."),
        ("I love you...", "i love you ."),
        ("I love you。", "i love you ."),
        ("Do you love me", "do you love me ?"),
        ("Is this car big", "is this car big ?"),
        ("Do you love me?!", "do you love me ?"),
        ("you love me？", "you love me ?"),
        ("I don't have 2 cats.", "i do not have two cats ."),
        ("I don’t have twenty-two cats.", "i do not have twenty two cats ."),
        ("He won't help", "he will not help ."),
        ("She's a teacher, isn't she?", "she is a teacher , is not she ?"),
        ("They'll see 12 birds", "they will see twelve birds ."),
        ("I'm your friend; you're mine", "i am your friend ; you are mine ."),
        ("the cat's 100 hats", "the cat's 100 hats ."),
        ("naïve 猫", "naïve 猫 ."),
        ("", ""),
        (" \n", ""),
        ("?!.", ""),
        ("'", ""),
    ],
)
def test_sentences_are_read_kindly(text: str, tokens: str) -> None:
    assert read(text) == tokens.split()


def test_whatever_the_grammar_writes_reads_back_unchanged() -> None:
    task = get_task("translate")
    rng = np.random.default_rng(0)
    for _ in range(3000):
        source = task.sample(rng).source
        text = task.render_source(source)
        assert tuple(read(text)) == source
        assert tuple(read(text[0].upper() + text[1:].replace(" .", ".").replace(" ?", "?"))) == source


@given(st.text())
def test_any_text_gives_tokens_without_blanks_and_an_end(text: str) -> None:
    tokens = read(text)
    assert all(token and not any(map(str.isspace, token)) for token in tokens)
    assert not tokens or tokens[-1] in (".", "?")
    assert read(" ".join(tokens)) == tokens or "'" in text or "-" in text
