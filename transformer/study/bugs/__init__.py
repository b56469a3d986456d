"""A zoo of bugs that people put into Transformers, and witnesses that may catch them.

Each bug is a function that is put in the place of the right one: `with planted(ZOO["scale missing"]): ...`. Most of
them still learn: that a loss comes down says little about whether gradients, masks and formulas are right.
"""

from transformer.study.bugs import embedding, layers, masks, scores, training
from transformer.study.bugs.bug import Bug, Kind, Place, planted

ZOO: dict[str, Bug] = {bug.name: bug for room in (scores, masks, layers, embedding, training) for bug in room.BUGS}
"""Every bug by its name."""

__all__ = ["ZOO", "Bug", "Kind", "Place", "planted"]
