"""Checkpoints: what is written comes back, a bad file is refused and named."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minigrad as mg
from minigrad.checkpoint import CheckpointError, load, read_metadata, save

DTYPES = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_, np.complex64, ">f4", ">i8"])


def packed(header, body=b""):
    """The bytes of a safetensors file with this header, right or wrong."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"a": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        DTYPES.flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
        ),
        max_size=4,
    )
)
def test_arrays_of_any_shape_order_and_type_come_back(tmp_path_factory, state):
    path = tmp_path_factory.mktemp("checkpoint") / "state.safetensors"
    transposed = {name: array.T for name, array in state.items()}
    save(path, transposed)
    loaded = load(path)
    assert loaded.keys() == state.keys()
    for name, array in transposed.items():
        assert loaded[name].shape == array.shape
        assert loaded[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(loaded[name], array)


def test_tensors_and_slices_are_saved_by_value(tmp_path):
    path = tmp_path / "state.safetensors"
    whole = np.arange(24.0).reshape(4, 6)
    save(path, {"tensor": mg.Tensor([1.5, 2.5], requires_grad=True), "slice": whole[::-2, 1::2]})
    loaded = load(path)
    np.testing.assert_array_equal(loaded["tensor"], np.float32([1.5, 2.5]))
    np.testing.assert_array_equal(loaded["slice"], whole[::-2, 1::2])
    loaded["slice"][0, 0] = 7.0  # what was loaded belongs to the caller


def test_metadata_comes_back(tmp_path):
    path = tmp_path / "state.safetensors"
    notes = {"step": "200", "句子": "我爱你"}
    save(path, {"a": np.ones(2)}, notes)
    assert read_metadata(path) == notes
    save(path, {"a": np.ones(2)})
    assert read_metadata(path) == {}


def test_the_names_are_on_the_package():
    assert mg.save is save
    assert mg.load is load


@pytest.mark.parametrize("value", [np.array(["text"]), np.array([None]), np.zeros(2, "c16"), np.zeros(2, "M8[s]")])
def test_what_the_format_cannot_hold_is_refused_before_anything_is_written(tmp_path, value):
    path = tmp_path / "state.safetensors"
    with pytest.raises(CheckpointError, match=r"state\.safetensors: weight is of type"):
        save(path, {"weight": value})
    assert list(tmp_path.iterdir()) == []


def test_bad_names_and_metadata_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="can't be named '__metadata__'"):
        save(tmp_path / "a", {"__metadata__": np.ones(1)})
    with pytest.raises(CheckpointError, match="strings to strings, got 'step': 3"):
        save(tmp_path / "a", {"w": np.ones(1)}, {"step": 3})


A, TWICE = json.dumps(entry()["a"]).encode(), b'{"a": %s, "a": %s}'
BAD_FILES = {
    "empty": (b"", "cut short"),
    "three bytes": (b"abc", "cut short"),
    "a text": (b"epoch,loss\n1,0.5\n2,0.4\n", "cut short, or not a safetensors file"),
    "a pickle": (b"\x80\x04\x95" + b"\x00" * 20, "this is a pickle"),
    "a zip archive": (b"PK\x03\x04" + b"0" * 50, "this is a zip archive"),
    "a header longer than any file": (b"\xff" * 8 + b"{}", "a header of 18446744073709551615 bytes"),
    "a header that is a list": (packed([]), "damaged"),
    "a torn header": (packed(b'{"a":{"dty'), "damaged"),
    "a header nested too deep": (packed(b'{"a":' * 5000), "damaged"),
    "an unknown type": (packed(entry(dtype="Q9"), b"\0" * 4), "damaged"),
    "a type NumPy does not have": (packed(entry(dtype="BF16", shape=(2,)), b"\0" * 4), "type BF16"),
    "a shape that does not fit its bytes": (packed(entry(shape=(2,)), b"\0" * 4), "damaged"),
    "a negative size": (packed(entry(shape=(-1,)), b"\0" * 4), "damaged"),
    "a shape that overflows": (packed(entry(shape=(2**40, 2**40)), b"\0" * 4), "damaged"),
    "an empty shape that overflows": (packed(entry("U8", (0, 2**62, 2**62), (0, 0))), "damaged"),
    "a hole before the array": (packed(entry(offsets=(4, 8)), b"\0" * 8), "damaged"),
    "arrays that overlap": (packed(entry() | {"b": entry(offsets=(2, 6))["a"]}, b"\0" * 6), "damaged"),
    "arrays that share their bytes": (packed(entry() | {"b": entry()["a"]}, b"\0" * 4), "damaged"),
    "an array that ends before it starts": (packed(entry(offsets=(4, 0)), b"\0" * 4), "damaged"),
    "two arrays of one name": (packed(TWICE % (A, A), b"\0" * 4), "the name 'a' stands in its header twice"),
    "two notes of one name": (packed(b'{"__metadata__": {"a": "1", "a": "2"}}'), "the name 'a' stands .* twice"),
    "more axes than NumPy has": (packed(entry("U8", (1,) * 100, (0, 1)), b"\0"), "damaged"),
    "metadata that is no text": (packed({"__metadata__": {"step": 1}}), "damaged"),
    "bytes left over": (packed(entry(), b"\0" * 9), "cut short or overwritten"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_bad_file_is_refused_and_named(tmp_path, kind):
    content, complaint = BAD_FILES[kind]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    for read in (load, read_metadata):
        with pytest.raises(CheckpointError, match=complaint) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


@given(st.data())
@settings(max_examples=40)
def test_every_truncation_is_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("torn")
    save(folder / "whole", {"a": np.arange(5.0), "b": np.arange(3)}, {"step": "1"})
    whole = (folder / "whole").read_bytes()
    (folder / "torn").write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    for read in (load, read_metadata):
        with pytest.raises(CheckpointError, match=r"cut short|damaged"):
            read(folder / "torn")


@given(st.data())
@settings(max_examples=100)
def test_a_flipped_header_byte_is_refused_or_harmless(tmp_path_factory, data):
    """No damage to a header gets anything past `load` but arrays or a CheckpointError."""
    folder = tmp_path_factory.mktemp("flipped")
    save(folder / "file", {"a": np.arange(5.0), "b": np.arange(3)}, {"step": "1"})
    content = bytearray((folder / "file").read_bytes())
    content[data.draw(st.integers(0, len(content) - 65))] = data.draw(st.integers(0, 255))
    (folder / "file").write_bytes(content)
    for read in (load, read_metadata):
        try:
            found = read(folder / "file")
        except CheckpointError:
            continue
        assert isinstance(found, dict)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="there is no such file"):
        load(tmp_path / "missing")
    with pytest.raises(CheckpointError, match="not a file"):
        load(tmp_path)
    with pytest.raises(CheckpointError, match="can't be read"):
        load("nul\0byte")
    (tmp_path / "plain").write_text("")
    with pytest.raises(CheckpointError, match="can't be read"):
        load(tmp_path / "plain" / "below")


def test_a_huge_file_is_refused_without_being_read(tmp_path):
    """Sparse files: they take no room on the disk, and could take all of memory."""
    for header, complaint in (
        (2**40, "a header of 1099511627776 bytes in a file of"),
        (2, "more than memory has room for"),
    ):
        with open(tmp_path / "huge", "wb") as file:
            file.write(header.to_bytes(8, "little") + b"{}")
            file.truncate(2**43)
        with pytest.raises(CheckpointError, match=complaint):
            load(tmp_path / "huge")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="not a file"):
        load(tmp_path / "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no devices here")
def test_an_endless_device_and_links_to_nowhere_are_refused_without_being_read(tmp_path):
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "ring").symlink_to("ring")
    for path, complaint in (
        ("/dev/zero", "not a file"),
        (tmp_path / "zeros", "not a file"),
        (tmp_path / "dangling", "there is no such file"),
        (tmp_path / "ring", "can't be read"),
    ):
        with pytest.raises(CheckpointError, match=complaint):
            load(path)
