import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.tokenisers import CharacterTokeniser, WordTokeniser

typed = st.text("aZİß'’.,!?():<> -_3é\u0301中。\tjoinspace") | st.text()


@pytest.mark.parametrize("lower", [False, True])
@given(text=typed)
def test_decoding_gives_back_the_text_with_single_spaces(lower, text):
    tokeniser = WordTokeniser(lower)
    tokens = tokeniser.encode(text)
    assert all(tokens)
    assert tokeniser.decode(tokens) == " ".join(text.split())


@given(typed)
def test_no_text_spells_a_token_that_says_something(text):
    signs = {"<join>", "<space>", "<capital>", "<capitals>"}
    spelled = WordTokeniser().encode(f"{text} <join><space><capital>")
    assert spelled[-11:].count("<join>") <= 8
    assert {"<capital>", "<capitals>"}.isdisjoint(spelled)
    assert signs.isdisjoint(token for token in WordTokeniser().encode("<capital>") if token not in ("<join>",))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't know, Tom.", ["I", "don't", "know", ",", "Tom", "."]),
        ("It’s 3.5 km (at 10:30)!", ["It’s", "3.5", "km", "(", "at", "10:30", ")", "!"]),
        ("ok !", ["ok", "<space>", "!"]),
        ("a-b", ["a", "<join>", "-", "<join>", "b"]),
        ("'tis dogs'", ["'", "<join>", "tis", "dogs", "<join>", "'"]),
        ("a.b 3.", ["a", ".", "<join>", "b", "3", "."]),
        ("नमस्ते café", ["नमस्ते", "café"]),
        ("  ", []),
    ],
)
def test_words_and_marks_are_apart(text, tokens):
    assert WordTokeniser().encode(text) == tokens


def test_lower_casing_shares_words_and_says_what_the_case_was():
    tokens = ["<capital>", "dogs", "eat", "<capitals>", "dogs", ";", "<capital>", "i", "<join>", "-", "<join>", "iPod"]
    assert WordTokeniser(lower=True).encode("Dogs eat DOGS; I-iPod") == tokens


@given(st.text())
def test_characters_are_given_back_exactly(text):
    tokens = CharacterTokeniser().encode(text)
    assert all(len(token) == 1 for token in tokens)
    assert CharacterTokeniser().decode(tokens) == text
