"""Trees: dicts, lists, tuples and named tuples, nested at will, with arrays and numbers as their leaves.

What `mg.grad` and its kind take and give back. None is an empty tree. A leaf is named by its path, as it is written
in Python: "argument 0['layers'][1].weight".
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from minigrad.errors import ShapeError

Leaf: TypeAlias = tuple[str, Any]


def branches(tree: Any) -> list[tuple[str, Any]] | None:
    """(how the branch is written, the branch) for each branch of `tree`, in order; None for a leaf."""
    if tree is None:
        return []
    if isinstance(tree, Mapping):
        return [(f"[{key!r}]", branch) for key, branch in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{field}", branch) for field, branch in zip(tree._fields, tree, strict=True)]
    if isinstance(tree, list | tuple):
        return [(f"[{position}]", branch) for position, branch in enumerate(tree)]
    return None


def leaves(tree: Any, path: str) -> Iterator[Leaf]:
    """(path, leaf) for each leaf of `tree`, in order; `path` is what the tree itself is called."""
    below = branches(tree)
    if below is None:
        yield path, tree
        return
    for step, branch in below:
        yield from leaves(branch, path + step)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """A tree of the same structure, with `function(leaf)` in place of each leaf."""
    below = branches(tree)
    if below is None:
        return function(tree)
    if tree is None:
        return None
    new = [mapped(function, branch) for _, branch in below]
    if isinstance(tree, Mapping):
        filled: Any = {} if type(tree) is dict else copy.copy(tree)
        filled.update(zip(tree, new, strict=True))
        return filled
    if hasattr(tree, "_fields"):
        return type(tree)(*new)
    return tuple(new) if isinstance(tree, tuple) else new


def filled(tree: Any, values: Sequence[Any]) -> Any:
    """A tree of the same structure, with these values for leaves, in the order of `leaves`."""
    remaining = iter(values)
    return mapped(lambda _: next(remaining), tree)


def aligned(name: str, tree: Any, like: Any, path: str) -> Iterator[Leaf]:
    """The leaves of `tree` in the order of those of `like`, which has the same structure.

    Dicts need the same keys, in any order; a list may stand for a tuple. Raises ShapeError, which begins with `name`,
    at the first path where the structures part.
    """
    wanted = branches(like)
    given = branches(tree)
    if wanted is None and given is None:
        yield path, tree
        return
    if wanted is None or given is None:
        raise ShapeError(f"{name}: {path} is {kind_of(tree)}, but must have the structure of {kind_of(like)}")
    keys, wanted_keys = [step for step, _ in given], [step for step, _ in wanted]
    if set(keys) != set(wanted_keys) or (tree is None) != (like is None):
        extra = ", ".join(step for step in keys if step not in wanted_keys)
        missing = ", ".join(step for step in wanted_keys if step not in keys)
        said = "; ".join(
            part for part in (extra and f"{extra} is too much", missing and f"{missing} is missing") if part
        )
        raise ShapeError(f"{name}: {path} must have the structure of {kind_of(like)}: {said or kind_of(tree)}")
    below = dict(given)
    for step, branch in wanted:
        yield from aligned(name, below[step], branch, path + step)


def kind_of(tree: Any) -> str:
    """What a tree is, for an error: "a dict of 3", "an array of shape (2, 3)"."""
    if tree is None:
        return "None"
    below = branches(tree)
    if below is not None:
        return f"a {type(tree).__name__} of {len(below)}"
    shape = getattr(tree, "shape", None)
    return f"a {type(tree).__name__}" if shape is None else f"a {type(tree).__name__} of shape {tuple(shape)}"
