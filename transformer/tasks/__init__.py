"""The tasks a model can be trained on. A new one is a file here that makes a `Task`, and its name in `TASKS`."""

from difflib import get_close_matches

from transformer.tasks.dates import DATES
from transformer.tasks.number_words import NUMBERS
from transformer.tasks.parity import PARITY
from transformer.tasks.sort import SORT
from transformer.tasks.stream import batch_for_step, encode_pairs, pairs_for_step
from transformer.tasks.symbols import COPY, REVERSE
from transformer.tasks.task import Pair, Recipe, Task
from transformer.tasks.translate import TRANSLATE

__all__ = ["TASKS", "Pair", "Recipe", "Task", "batch_for_step", "encode_pairs", "get_task", "pairs_for_step"]

TASKS: dict[str, Task] = {task.name: task for task in (COPY, REVERSE, TRANSLATE, SORT, NUMBERS, DATES, PARITY)}


def get_task(name: str) -> Task:
    """Return the task of this name; raises `ValueError` that lists the names and the nearest."""
    if name in TASKS:
        return TASKS[name]
    nearest = get_close_matches(name.lower(), TASKS, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"there is no task {name!r}, only {', '.join(TASKS)}{hint}")
