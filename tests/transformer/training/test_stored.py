"""Files of a run: any change since they were written is refused, and the file stays as it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.checkpoint import read_metadata
from minigrad.errors import CheckpointError
from transformer.training.errors import RunError
from transformer.training.loop import train
from transformer.training.progress import Silent
from transformer.training.stored import STATE, WEIGHTS, read_stored


@pytest.fixture(scope="module")
def files():
    """Of each kind of file: its bytes, its configuration; filled by the first test that trains."""
    return {}


@pytest.fixture
def whole(files, make_run):
    """{kind: (bytes, configuration)} of the two files of a short training."""
    if not files:
        run = make_run(steps=5)
        train(run, Silent())
        files |= {STATE: (run.last_file.read_bytes(), run.config), WEIGHTS: (run.best_file.read_bytes(), run.config)}
    return files


@pytest.mark.parametrize("kind", [STATE, WEIGHTS])
def test_a_digest_is_written_and_the_file_comes_back(tmp_path, whole, kind):
    content, config = whole[kind]
    (tmp_path / "file").write_bytes(content)
    arrays, notes = read_stored(tmp_path / "file", kind, config)
    assert arrays.keys() == mg.load(tmp_path / "file").keys()
    assert read_metadata(tmp_path / "file").keys() - notes.keys() == {"digest"}


def complaint(folder, content, kind, config):
    """Why a file with this content is refused; None if it is not. Either way the file is left alone."""
    file = folder / "changed"
    file.write_bytes(content)
    try:
        read_stored(file, kind, config)
    except (CheckpointError, RunError) as error:
        told = str(error)
    else:
        return None
    assert told.startswith(str(file))
    assert "\n" not in told
    assert file.read_bytes() == content
    return told


def same(folder, kind, config, whole):
    """Whether the changed file says what the whole one does."""
    (folder / "whole").write_bytes(whole)
    (found, said), (arrays, notes) = (read_stored(folder / name, kind, config) for name in ("changed", "whole"))
    bits = [{name: (array.dtype, array.shape, array.tobytes()) for name, array in x.items()} for x in (found, arrays)]
    return bits[0] == bits[1] and notes.items() <= said.items()


@pytest.mark.parametrize("kind", [STATE, WEIGHTS])
@pytest.mark.parametrize("change", ["a note", "a number", "a name", "a shape", "a type"])
def test_a_well_formed_file_that_says_something_else_is_refused(tmp_path, whole, kind, change):
    content, config = whole[kind]
    file = tmp_path / "file"
    file.write_bytes(content)
    arrays, notes = mg.load(file), read_metadata(file)
    name = next(name for name in arrays if name.endswith("output.bias"))
    array = arrays.pop(name)
    if change == "a note":
        notes |= {"said": "more"}
    elif change == "a number":
        array = array + np.float32(1e-3)
    elif change == "a name":
        name += "s"
    elif change == "a shape":
        array = array[None]
    else:
        array = array.view(np.int32)
    mg.save(file, arrays | {name: array}, notes)
    with pytest.raises(RunError, match="file: damaged: it is not as it was written"):
        read_stored(file, kind, config)


@pytest.mark.parametrize("kind", [STATE, WEIGHTS])
def test_any_changed_byte_is_refused_or_changes_nothing(tmp_path_factory, whole, kind):
    content, config = whole[kind]

    @given(st.integers(0, len(content) - 1), st.integers(1, 255), st.booleans())
    def check(place, flip, in_header):
        folder, changed = tmp_path_factory.mktemp("changed"), bytearray(content)
        changed[place % 2000 if in_header else place] ^= flip
        assert complaint(folder, changed, kind, config) or same(folder, kind, config, content)

    check()


@pytest.mark.parametrize("kind", [STATE, WEIGHTS])
def test_a_file_whose_end_was_lost_and_filled_with_zeros_is_refused(tmp_path_factory, whole, kind):
    content, config = whole[kind]

    @given(st.integers(0, len(content.rstrip(b"\0")) - 1))
    def check(kept):
        torn = content[:kept] + bytes(len(content) - kept)
        assert complaint(tmp_path_factory.mktemp("torn"), torn, kind, config)

    check()
