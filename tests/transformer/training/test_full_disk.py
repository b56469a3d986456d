"""A disk that is full, or a folder that may not be written: a clear error, and nothing of the training is lost."""

import errno
import os

import pytest

from minigrad import atomic
from transformer.training.loop import train
from transformer.training.metrics import Metrics, MetricsTable
from transformer.training.progress import Silent
from transformer.training.run import open_run


class Disk:
    """The system's calls of `write_atomically`: so many of them work, all later ones fail."""

    def __init__(self, monkeypatch, working, number):
        self.left, self.number = working, number
        monkeypatch.setattr(atomic, "open", self.opened, raising=False)
        for name in ("fsync", "replace"):
            monkeypatch.setattr(atomic.os, name, self.failing(getattr(os, name)))

    def opened(self, *arguments, **options):
        """A file whose writes may fail, and whose opening may."""
        file = self.failing(open)(*arguments, **options)
        return Writing(file, self.failing(file.write))

    def failing(self, call):
        """`call` as long as the disk works."""

        def checked(*arguments, **options):
            self.left -= 1
            if self.left < 0:
                raise OSError(self.number, os.strerror(self.number))
            return call(*arguments, **options)

        return checked


class Writing:
    """An open file with another `write`."""

    def __init__(self, file, write):
        self.file, self.write = file, write
        self.flush, self.fileno = file.flush, file.fileno

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


CALLS = ("open", "write", "fsync", "replace", "fsync of the folder")  # of one write; the last may fail
WRITES = ("config", "metrics", "best at 3", "last at 3", "best at 6", "last at 6")
FULL = [(write, call, errno.ENOSPC) for write in range(len(WRITES)) for call in range(len(CALLS) - 1)]
FORBIDDEN = [(write, 0, number) for write in (1, 5) for number in (errno.EROFS, errno.EACCES)]


@pytest.fixture
def make_short(make_run):
    """Make a run folder whose training saves twice."""
    return lambda name: make_run(name, steps=6, evaluate_every=3, validation_size=1)


def test_a_disk_that_fails_from_any_call_on_is_named_and_resume_ends_as_if_it_never_did(
    make_short, assert_same_end, monkeypatch
):
    undisturbed = make_short("undisturbed")
    train(undisturbed, Silent())
    for write, call, number in FULL + FORBIDDEN:
        run = make_short(f"{WRITES[write]}, {CALLS[call]}, {number}")
        with monkeypatch.context() as patched:
            Disk(patched, write * len(CALLS) + call, number)
            with pytest.raises(OSError, match=os.strerror(number)) as caught:
                train(run, Silent())
        named = {"c": run.config_file, "m": run.metrics_file, "b": run.best_file, "l": run.last_file}
        assert caught.value.filename == str(named[WRITES[write][0]])
        assert not list(run.path.glob(".*")), "a passing file is left"
        saved = open_run(run.path).load_last()
        assert (saved.state.step if saved else 0) == (3 if write > 3 else 0)
        train(open_run(run.path), Silent())
        assert_same_end(run, undisturbed)


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_a_disk_that_fills_under_the_table_of_steps_names_it(tmp_path):
    import resource

    row = Metrics(step=1, loss=0.5, rate=0.1, gradient_norm=1.0, tokens=3, cpu_seconds=0.0, wall_seconds=0.0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    table = MetricsTable(tmp_path / "metrics.csv")
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "metrics.csv").stat().st_size + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught, table:
            table.append(row)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(tmp_path / "metrics.csv")
    assert table.rows == []
