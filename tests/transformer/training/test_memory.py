"""Keeping freed memory: asked for where it can be, and no trouble where not."""

import ctypes
import sys

import numpy as np
import pytest

import minigrad as mg
from transformer.training import memory
from transformer.training.errors import RunError
from transformer.training.loop import train
from transformer.training.progress import Silent


class Musl:
    """A C library that is not glibc, though it has a function of that name."""

    def __init__(self):
        self.told = []

    def mallopt(self, name, value):
        self.told.append(name)
        return value <= self.most

    most = 1 << 31


class Glibc(Musl):
    def gnu_get_libc_version(self):
        return b"2.36"


@pytest.fixture
def running_on(monkeypatch):
    """Pretend that this is another system, or another C library."""
    monkeypatch.delenv(memory.VARIABLE, raising=False)

    def pretend(library, platform="linux"):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
        return library

    return pretend


@pytest.mark.parametrize("value", [None, "", "1"])
def test_glibc_is_told_three_things(running_on, monkeypatch, value):
    library = running_on(Glibc())
    if value is not None:
        monkeypatch.setenv(memory.VARIABLE, value)
    memory.keep_freed_memory()
    assert sorted(library.told) == [-3, -2, -1]


def test_an_older_glibc_gets_the_most_that_it_takes(running_on):
    library = running_on(Glibc())
    library.most = 1 << 26
    memory.keep_freed_memory()
    assert sorted(library.told) == [-3, -3, -2, -1]


def test_the_environment_can_say_no(running_on, monkeypatch):
    library = running_on(Glibc())
    monkeypatch.setenv(memory.VARIABLE, "0")
    memory.keep_freed_memory()
    assert library.told == []


@pytest.mark.parametrize("value", ["no", "2", " "])
def test_anything_else_in_the_environment_is_named(running_on, monkeypatch, make_run, value):
    library = running_on(Glibc())
    monkeypatch.setenv(memory.VARIABLE, value)
    with pytest.raises(RunError, match=rf"MINIGRAD_KEEP_MEMORY is 0 or 1, not '{value}'"):
        train(make_run(), Silent())
    assert library.told == []


@pytest.mark.parametrize("library", [Musl(), object()])
def test_another_c_library_is_left_alone(running_on, library):
    running_on(library)
    memory.keep_freed_memory()
    assert getattr(library, "told", []) == []


def test_another_system_is_not_even_asked(running_on, monkeypatch):
    running_on(Glibc(), platform="win32")
    monkeypatch.setattr(ctypes, "CDLL", None)
    memory.keep_freed_memory()


def test_kept_memory_has_no_effect_on_the_numbers(monkeypatch, make_run):
    kept, returned = make_run("kept", steps=3, warmup=1), make_run("returned", steps=3, warmup=1)
    train(kept, Silent())
    monkeypatch.setenv(memory.VARIABLE, "0")
    train(returned, Silent())
    np.testing.assert_equal(mg.load(kept.last_file), mg.load(returned.last_file))
