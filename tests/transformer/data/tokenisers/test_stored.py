import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.tokenisers import (
    BytePairTokeniser,
    CharacterTokeniser,
    WordTokeniser,
    learn_byte_pairs,
    load,
    save,
)
from transformer.data.tokenisers.stored import FORMAT, from_json, to_json


@given(st.lists(st.text("ab 中", max_size=9) | st.text(max_size=9)), st.booleans())
def test_what_is_written_is_read_again(corpus, lower):
    for tokeniser in (learn_byte_pairs(corpus, 9, 1), CharacterTokeniser(), WordTokeniser(lower)):
        assert from_json(to_json(tokeniser)) == tokeniser


def test_a_file_is_read_again_and_another_is_refused_by_name(tmp_path):
    path = tmp_path / "tokens.json"
    tokeniser = BytePairTokeniser((("a", "中"), ("a中", " ")))
    save(tokeniser, path)
    assert load(path) == tokeniser
    for data in (b"\xff", b"[", b"{}"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"tokens.json: not a tokeniser: "):
            load(path)


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "words"}, {"kind": "words", "lower": 1}, {"kind": "bytes"}, {}, {"kind": "byte pairs", "merges": "ab"},
        {"kind": "byte pairs", "merges": [["a"]]}, {"kind": "byte pairs", "merges": ["ab"]},
        {"kind": "byte pairs", "merges": [["a", {}]]}, {"kind": "byte pairs", "merges": [["a", "b"], ["a", "b"]]},
    ],
)  # fmt: skip
def test_content_that_is_no_tokeniser_is_refused(content):
    with pytest.raises(ValueError, match="not a tokeniser: "):
        from_json(json.dumps({"format": FORMAT} | content))


@pytest.mark.parametrize("text", ["", "null", "[]", '{"format": "x"}', "[" * 100_000])
def test_text_that_is_no_tokeniser_is_refused(text):
    with pytest.raises(ValueError, match="not a tokeniser: "):
        from_json(text)
