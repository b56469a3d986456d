"""Who makes the step of `configs` beside minigrad.

Each is a module of this folder with `prepare(threads)`, called once in a process, and `build(config, seed)`, whose
result, called, gives the step.
"""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Competitor:
    """A module here, what it stands for, and the package that must be installed for it."""

    module: str
    what: str
    package: str

    def load(self) -> ModuleType:
        """The module. Raises ModuleNotFoundError if its package is not there."""
        return import_module(f"tests.benchmarks.step.{self.module}")


MINIGRAD = Competitor("minigrad_step", "minigrad", "minigrad")
COMPETITORS = {
    "torch": Competitor("torch_step", "eager, with its own layers and fused Adam", "torch"),
    "jax": Competitor("jax_step", "one jit of the whole step", "jax"),
    "floor": Competitor("floor_step", "the step's matrix products alone, in NumPy", "numpy"),
}
