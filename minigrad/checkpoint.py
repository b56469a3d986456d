"""Arrays on disk: safetensors files, written whole or not at all, and read with suspicion.

A safetensors file is 8 bytes (the header's length, little endian), the header (JSON: name -> dtype, shape, offsets, and
a `__metadata__` of strings) and the arrays' bytes. Reading one runs no code, whoever wrote it; that is why nothing here
is ever pickled. Source: the format's description, https://github.com/huggingface/safetensors.
"""

import json
import os
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from minigrad.atomic import PathLike, write_atomically
from minigrad.errors import CheckpointError
from minigrad.tensor import Tensor

STORED_DTYPES = frozenset(
    {"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
) | frozenset({"float16", "float32", "float64", "complex64"})
METADATA = "__metadata__"
LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
FOREIGN = {b"PK\x03\x04": "a zip archive (torch.save and numpy.savez write such)", b"\x80": "a pickle"}


def save(
    path: PathLike, state: Mapping[str, npt.NDArray[Any] | Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write named arrays to `path`: afterwards the file holds all of them, or is what it was before.

    state: name -> array or Tensor of any shape; bool, integer, float16 to float64, complex64.
    metadata: strings to keep beside them, read back by `read_metadata`.
    Raises CheckpointError for what the format can't hold, OSError where the file can't be written.
    """
    arrays = {name: _storable(path, name, value) for name, value in state.items()}
    notes = dict(metadata or {})
    for key, note in notes.items():
        if not isinstance(key, str) or not isinstance(note, str):
            raise CheckpointError(f"{path}: metadata must map strings to strings, got {key!r}: {note!r}")
    write_atomically(path, safetensors.numpy.save(arrays, notes or None))


def load(path: PathLike) -> dict[str, npt.NDArray[Any]]:
    """The named arrays of a safetensors file.

    Raises CheckpointError, naming the file and what is wrong with it: missing, no file, cut short, damaged, foreign.
    """
    return _parse(path, _read(path))


def read_metadata(path: PathLike) -> dict[str, str]:
    """The strings that `save` was given beside the arrays; {} if none. Raises as `load` does."""
    data = _read(path)
    _parse(path, data)
    notes: dict[str, str] = _header(path, data).get(METADATA, {})
    return notes


def _storable(path: PathLike, name: str, value: npt.NDArray[Any] | Tensor) -> npt.NDArray[Any]:
    """`value` as the format wants it: C order, the machine's byte order, an array even if 0-d."""
    if not isinstance(name, str) or name == METADATA:
        raise CheckpointError(f"{path}: an array can't be named {name!r}")
    array = np.asarray(value.data if isinstance(value, Tensor) else value)
    if array.dtype.name not in STORED_DTYPES:
        raise CheckpointError(f"{path}: {name} is of type {array.dtype}, which safetensors can't hold")
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=None)


def _read(path: PathLike) -> bytes:
    """The bytes of a file that may be a checkpoint: it is a regular file, and long enough for what it claims."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait, reading a device never end
            raise CheckpointError(f"{path}: not a file")
        with open(path, "rb") as file:
            start, size = file.read(8), os.fstat(file.fileno()).st_size
            _require_header(path, start, size)
            data = start + file.read()
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CheckpointError(f"{path}: can't be read: {reason}") from None
    except MemoryError:
        raise CheckpointError(f"{path}: its {size:,} bytes are more than memory has room for") from None
    return data


def _require_header(path: PathLike, start: bytes, size: int) -> None:
    """Raise CheckpointError unless a file of `size` bytes that starts so has a header within it, of a sane length."""
    claimed = int.from_bytes(start, "little")
    if len(start) == 8 and claimed <= min(size - 8, LONGEST_HEADER):
        return
    for beginning, kind in FOREIGN.items():
        if start.startswith(beginning):
            raise CheckpointError(f"{path}: this is {kind}, not a safetensors file")
    raise CheckpointError(
        f"{path}: cut short, or not a safetensors file: "
        + (f"{size} bytes" if len(start) < 8 else f"a header of {claimed} bytes in a file of {size}")
    )


def _parse(path: PathLike, data: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays in `data`, the file's bytes; CheckpointError if the format's rules are broken anywhere."""
    try:
        arrays: dict[str, npt.NDArray[Any]] = safetensors.numpy.load(data)
    except KeyError as error:
        raise CheckpointError(f"{path}: holds an array of type {error.args[0]}, which NumPy does not have") from None
    except (safetensors.SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: {_diagnosis(str(error))}") from None
    _header(path, data)  # the library takes the last of two arrays of one name
    return arrays


def _header(path: PathLike, data: bytes) -> dict[str, Any]:
    """The header of `data`, which the library has checked. CheckpointError if a name stands in it twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise CheckpointError(f"{path}: damaged: the name {twice!r} stands in its header twice")
        return content

    header: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")], object_pairs_hook=once)
    return header


def _diagnosis(reason: str) -> str:
    """The library's complaint in words that say what happened to the file."""
    reason = reason.removeprefix("Error while deserializing: ")
    if "incomplete metadata" in reason:
        return "cut short or overwritten: its arrays are not as long as its header says"
    return f"damaged, or not a safetensors file: {reason}"
