"""The examples in docstrings run, and give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import minigrad
import transformer

MODULES = [
    module.name
    for package in (minigrad, transformer)
    for module in (
        pkgutil.ModuleInfo(None, package.__name__, True),  # type: ignore[arg-type]
        *pkgutil.walk_packages(package.__path__, f"{package.__name__}."),
    )
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for test in finder.find(importlib.import_module("minigrad.tensor"))) > 2
