import copy
import json
import pickle
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

words = st.text(min_size=1).filter(lambda word: word not in SPECIALS)
distinct_words = st.lists(words, unique=True)


def test_specials_have_the_first_four_ids() -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert Vocabulary(["cat", "dog"]).tokens == ("<pad>", "<bos>", "<eos>", "<unk>", "cat", "dog")


@given(distinct_words)
def test_encode_then_decode_returns_the_words(tokens: list[str]) -> None:
    vocabulary = Vocabulary(iter(tokens))
    assert len(vocabulary) == len(tokens) + 4
    assert vocabulary.encode(tokens) == list(range(4, len(vocabulary)))
    assert vocabulary.decode(vocabulary.encode(tokens)) == tokens
    assert vocabulary.unknown(tokens) == []


@given(distinct_words, st.lists(words))
def test_unknown_words_become_unk_and_are_named_once_in_order(tokens: list[str], others: list[str]) -> None:
    vocabulary = Vocabulary(tokens)
    outside = [word for word in others if word not in tokens]
    assert vocabulary.unknown(others) == list(dict.fromkeys(outside))
    assert [number == UNK for number in vocabulary.encode(others)] == [word not in vocabulary for word in others]


def test_decode_stops_at_eos_and_skips_pad_and_bos() -> None:
    vocabulary = Vocabulary("ab")
    assert vocabulary.decode(np.array([BOS, 4, PAD, 5, UNK, EOS, 4, 99])) == ["a", "b", "<unk>"]
    assert vocabulary.decode([]) == []


@pytest.mark.parametrize("number", [-1, 6, 1000])
def test_decode_refuses_an_id_that_no_token_has(number: int) -> None:
    with pytest.raises(ValueError, match=f"{number}.*0 to 5"):
        Vocabulary("ab").decode([4, number])


@pytest.mark.parametrize("special", SPECIALS)
def test_a_word_spelled_like_a_special_is_refused_and_never_encoded_as_one(special: str) -> None:
    with pytest.raises(ValueError, match=f"{special}.*reserved"):
        Vocabulary(["cat", special])
    vocabulary = Vocabulary(["cat"])
    assert special not in vocabulary
    assert vocabulary.encode([special]) == [UNK]
    assert vocabulary.unknown([special]) == [special]


def test_repeated_empty_and_non_string_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="'cat' is given twice"):
        Vocabulary(["cat", "dog", "cat"])
    with pytest.raises(ValueError, match="empty"):
        Vocabulary([""])
    with pytest.raises(TypeError, match="int: 7"):
        Vocabulary([7])  # type: ignore[list-item]


def test_it_cannot_be_changed_and_compares_by_content() -> None:
    vocabulary = Vocabulary(["猫", "狗"])
    with pytest.raises(AttributeError, match="cannot be changed"):
        vocabulary._tokens = ()
    assert vocabulary == Vocabulary(["猫", "狗"]) != Vocabulary(["狗", "猫"])
    assert hash(vocabulary) == hash(Vocabulary(["猫", "狗"]))
    assert vocabulary != ["猫", "狗"]
    assert copy.deepcopy(vocabulary) == pickle.loads(pickle.dumps(vocabulary)) == vocabulary


@given(distinct_words)
def test_json_round_trip(tokens: list[str]) -> None:
    assert Vocabulary.from_json(Vocabulary(tokens).to_json()) == Vocabulary(tokens)


def test_saved_file_is_readable_utf8(tmp_path) -> None:
    path = tmp_path / "target.json"
    Vocabulary(["我", "爱", "\n"]).save(path)
    assert "我" in path.read_bytes().decode("utf-8")
    assert Vocabulary.load(path) == Vocabulary(["我", "爱", "\n"])


def text_with(**changes: object) -> str:
    return json.dumps(json.loads(Vocabulary("ab").to_json()) | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "null",
        "{}",
        json.dumps({"tokens": [*SPECIALS, "a"]}),
        text_with(format="something else"),
        text_with(tokens=None),
        text_with(tokens="<pad>"),
        text_with(tokens=["a", "b"]),
        text_with(tokens=["<bos>", "<pad>", "<eos>", "<unk>"]),
        text_with(tokens=[*SPECIALS, "a", "a"]),
        text_with(tokens=[*SPECIALS, 7]),
        text_with(tokens=[*SPECIALS, ["a"]]),
        text_with(tokens=[*SPECIALS, "<eos>"]),
    ],
)
def test_broken_and_foreign_files_are_refused_by_name(text: str, tmp_path) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocabulary\.json: not a vocabulary: ") as caught:
        Vocabulary.load(path)
    assert "\n" not in str(caught.value)


def test_a_binary_file_is_refused_and_a_missing_one_is_missing(tmp_path) -> None:
    (tmp_path / "weights").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8"):
        Vocabulary.load(tmp_path / "weights")
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "none")


def test_a_string_gives_one_token_a_letter() -> None:
    assert len(Vocabulary(string.ascii_lowercase)) == 30
