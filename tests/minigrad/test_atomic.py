"""A write is whole or leaves no trace."""

import errno
import os
import stat

import pytest

from minigrad import atomic
from minigrad.atomic import write_atomically


@pytest.fixture
def path(tmp_path):
    """The only file of a folder; it holds "old"."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def assert_untouched(path):
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_no_trace(path, monkeypatch, failing, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr(atomic.os, failing, fail)
    with pytest.raises(type(failure)):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert_untouched(path)


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_a_disk_that_fills_while_writing_leaves_the_old_file_and_no_trace(path):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(path, bytes(40_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_untouched(path)


def test_writing_below_a_file_is_an_os_error_that_names_the_path(path):
    below = path / "below"
    with pytest.raises(OSError, match=r"Not a directory|No such file") as caught:
        write_atomically(below, b"new")
    assert caught.value.filename == str(below)


@pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")
def test_the_file_has_ordinary_rights_and_a_link_stays_a_link(path):
    link = path.with_name("link")
    link.symlink_to("file")
    umask = os.umask(0o022)
    try:
        write_atomically(link, b"new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
