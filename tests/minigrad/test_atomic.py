"""A write is whole or leaves no trace."""

import errno
import os
import stat

import pytest

from minigrad import atomic
from minigrad.atomic import remove_leftovers, write_atomically


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


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_nothing_is_written_through_a_link_in_the_place_of_the_passing_file(path, tmp_path_factory, monkeypatch):
    victim = tmp_path_factory.mktemp("elsewhere") / "victim"
    victim.write_bytes(b"mine")
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda _: "0" * 16)
    path.with_name(f".{'0' * 16}.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(path, b"new")
    assert victim.read_bytes() == b"mine"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_stays_one_also_behind_a_link(path):
    pipe, link = path.with_name("pipe"), path.with_name("link")
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for target in (pipe, link):
        with pytest.raises(OSError, match="Not a file that can be replaced") as caught:
            write_atomically(target, b"new")
        assert caught.value.filename == str(target)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert len(list(path.parent.iterdir())) == 3


def test_a_folder_stays_one(path):
    path.with_name("folder").mkdir()
    with pytest.raises(OSError, match=r"directory|Access") as caught:
        write_atomically(path.with_name("folder"), b"new")
    assert caught.value.filename == str(path.with_name("folder"))
    assert len(list(path.parent.iterdir())) == 2


def test_leftovers_of_killed_writers_are_removed_and_nothing_else(path):
    stays = (".0123456789abcdef.tmp.txt", "0123456789abcdef.tmp", ".0123.tmp", ".0123456789ABCDEF.tmp")
    for name in (*stays, ".0123456789abcdef.tmp", ".ffffffffffffffff.tmp"):
        path.with_name(name).write_bytes(b"")
    path.with_name(".0000000000000000.tmp").mkdir()  # no file of ours
    remove_leftovers(path.parent)
    left = {file.name for file in path.parent.iterdir()}
    assert left == {path.name, ".0000000000000000.tmp", *stays}
