"""Keeping freed memory: asked for where it can be, and no trouble where not."""

import ctypes
import sys

from transformer.training import memory


def test_glibc_is_told_three_things(monkeypatch):
    told = []

    class Library:
        def mallopt(self, name, value):
            told.append(name)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    memory.keep_freed_memory()
    assert sorted(told) == [-3, -2, -1]


def test_a_library_without_the_switch_and_another_system_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    memory.keep_freed_memory()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "CDLL", None)
    memory.keep_freed_memory()
