import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import DataError
from transformer.data.encoding import decode

TEXT = "Hi.\t嗨。\nI try.\t我试试。\n"
texts = st.text().filter(lambda text: "\0" not in text and not text.startswith("\ufeff"))
MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@given(texts)
def test_utf8_is_read_with_a_byte_order_mark_and_without(text):
    assert decode(text.encode()) == (text, "utf-8", False)
    assert decode(codecs.BOM_UTF8 + text.encode()) == (text, "utf-8", True)
    assert decode(codecs.BOM_UTF8 + text.encode(), "utf-8-sig") == (text, "utf-8", True)


@pytest.mark.parametrize("name", MARKED)
@given(text=texts)
def test_what_a_byte_order_mark_declares_is_read_so_and_what_the_user_says_too(name, text):
    assert decode(MARKED[name] + text.encode(name)) == (text, name, True)
    assert decode(MARKED[name] + text.encode(name), name) == (text, name, True)
    assert decode(text.encode(name), name) == (text, name, False)


@pytest.mark.parametrize("name", ["gb18030", "big5", "GBK"])
def test_another_encoding_is_read_if_it_is_named_and_never_guessed(name):
    data = "I try.\t我.\nHi.\t你好\n".encode(name)
    assert decode(data, name).text == "I try.\t我.\nHi.\t你好\n"
    with pytest.raises(DataError, match=r"line 1: not utf-8 text .*--encoding"):
        decode(data)


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [TEXT, "Hi.\tHello.\n"])
def test_utf16_without_a_mark_is_an_error_that_names_the_option(name, text):
    with pytest.raises(DataError, match=r"line 1: .*UTF-16 without a byte-order mark.*--encoding utf-16-le \(or -be\)"):
        decode(text.encode(name))


def test_utf16_without_order_and_without_mark_is_no_guess_either():
    with pytest.raises(DataError, match="say utf-16-le or utf-16-be"):
        decode(TEXT.encode("utf-16-be"), "utf-16")
    with pytest.raises(DataError, match="needs a byte-order mark"):
        decode(codecs.BOM_UTF8 + TEXT.encode(), "utf-16")
    assert decode(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16").text == TEXT


@pytest.mark.parametrize("name", ["gb18030", "cp1252", "utf-16-le"])
def test_a_name_that_the_byte_order_mark_contradicts_is_refused(name):
    with pytest.raises(DataError, match=f"line 1: begins with the byte-order mark of utf-8, so it is not {name}"):
        decode(codecs.BOM_UTF8 + TEXT.encode(), name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_the_line_of_a_wrong_byte_is_named(encoding):
    good = "a\t上\n".encode(encoding) * 4  # U+4E0A: a byte of it looks like a line feed
    wrong = {"utf-8": b"c\xff\td\n", "utf-16-le": b"\x00\xdc\n\x00"}[encoding]
    with pytest.raises(DataError, match=r"^line 5: not "):
        decode(good + wrong + good, encoding)


def test_a_nul_and_half_a_character_are_named_with_their_line():
    with pytest.raises(DataError, match=r"^line 2: holds a NUL"):
        decode(b"a\tb\nc\0\td\n")
    with pytest.raises(DataError, match=r"^line 2: half a character"):
        decode(b"a\tb\n\\ud800\tb\n", "raw_unicode_escape")


@pytest.mark.parametrize("encoding", ["utf8x", "rot13", "base64", "\0", "undefined", "latin one", "hex"])
def test_an_encoding_that_is_none_is_told(encoding):
    with pytest.raises(DataError, match="there is no text encoding"):
        decode(b"a\tb\n", encoding)


@given(st.binary(), st.sampled_from([None, "utf-8", "utf-16", "utf-16-le", "utf-32", "gb18030", "cp1252", "utf-7"]))
def test_any_bytes_are_a_text_or_an_error_of_one_line(data, encoding):
    try:
        told, text = "", decode(data, encoding).text
    except DataError as error:
        told, text = str(error), ""
    assert not told or "--encoding" in told or "byte-order mark" in told
    assert "\n" not in told
    assert "\0" not in text
    text.encode()
