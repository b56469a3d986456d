"""A planted bug: a wrong function, and where it is put in place of the right one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import minigrad as mg
from transformer.study.figures import Words

Kind = Literal["forward", "gradient", "training"]
"""What is wrong: the values, the gradients alone (every value is right), or how the model is trained."""


class Place(NamedTuple):
    """Where a function is looked up each time it is called: a module or a class, and its name there."""

    owner: Any
    name: str

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


@dataclass(frozen=True)
class Bug:
    """A mistake that people make. what: what is wrong, and as what it is met in the wild, in one sentence."""

    name: str
    kind: Kind
    place: Place
    wrong: Callable[..., Any]
    what: Words


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Within it, the wrong function stands in the place of the right one, for the whole process, all threads.

    A model must run in parts, as `lesson.in_parts` makes it: fused operations do not call what is replaced here.
    """
    owner, name = bug.place
    right = vars(owner)[name]
    setattr(owner, name, bug.wrong)
    try:
        yield
    finally:
        setattr(owner, name, right)


def valued(value: mg.Tensor, gradient_of: mg.Tensor) -> mg.Tensor:
    """The value of one tensor with the gradient of another of its shape: how a wrong derivative is put onto the tape.

    gradient_of + (value - gradient_of), where the difference counts as a constant.
    """
    return gradient_of + (value - gradient_of).detach()
