"""Module and Parameter: a tree of layers whose parameters have names."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from minigrad.errors import CheckpointError, ModuleError
from minigrad.state import State, current, enter, leave, setting
from minigrad.tape import Array
from minigrad.tensor import Tensor


class Parameter(Tensor):
    """A tensor that is learnt: a leaf that requires a gradient.

    data: anything that `numpy.array` takes, of a floating dtype; Python floats become the default dtype.
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: npt.DTypeLike | None = None, name: str | None = None) -> None:
        super().__init__(data, requires_grad=True, dtype=dtype, name=name)

    def __repr__(self) -> str:
        return f"Parameter({self.name or ''} {self.shape} {self.dtype})"


class Module:
    """A layer: attributes that are Parameters or Modules, or lists, tuples or dicts of these, belong to it.

    A subclass defines `forward`; calling the module runs it, with the module's path on every node made inside. The
    path is fixed when the module is attached to its parent ("encoder.layers.0"); a call only sets it. A module called
    a second time within one outermost call has "#2" at the end of its path, and one that stands in two places keeps
    its first. No module may hold one that it is a part of (ModuleError): the tree would have no end.
    """

    path: str
    _owned: dict[str, "Module | Parameter"]
    _containers: set[str]
    _attached: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A module with no path yet, whether or not its subclass calls `super().__init__()`."""
        module = super().__new__(cls)
        module.__dict__.update(path="", _owned={}, _containers=set(), _attached=False)
        return module

    def __setattr__(self, name: str, value: Any) -> None:
        self._owned.pop(name, None)  # what the attribute held before
        self._attach(name, value)
        if isinstance(value, list | tuple | dict):
            self._containers.add(name)
        object.__setattr__(self, name, value)

    def _attach(self, name: str, value: Any) -> None:
        """Name the parameters that an attribute holds, and give its modules their path, if they have none yet."""
        for child_name, child in parts_within(name, value):
            if self._owned.get(child_name) is child:
                continue  # it was there before
            if isinstance(child, Module) and any(module is self for _, module in child.named_modules()):
                raise ModuleError(
                    f"{type(self).__name__}.{child_name} holds the {type(self).__name__} itself, so that the tree of "
                    "modules would have no end; pass a parent as an argument of forward, or hold it by weakref.ref"
                )
            if isinstance(child, Parameter):
                if child.name is None:
                    self._owned[child_name] = child
                    child.name = joined(self.path, child_name)
            elif not child._attached:
                child._attached = True
                self._owned[child_name] = child
                child._prefix(joined(self.path, child_name))

    def _prefix(self, prefix: str) -> None:
        """Put `prefix` before the path of this module and all that it owns."""
        self.path = joined(prefix, self.path)
        for name, item in self._owned.items():
            if isinstance(item, Module):
                item._prefix(prefix)
            else:
                item.name = joined(self.path, name)

    def _parts(self) -> Iterator[tuple[str, "Module | Parameter"]]:
        """The parameters and modules that this module's attributes hold, in the order of assignment."""
        for name, value in vars(self).items():
            if name != "_owned":
                yield from parts_within(name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` inside the module's scope."""
        state = current()
        token = enter(state.within(*self._place(state)))
        try:
            return self.forward(*args, **kwargs)
        finally:
            leave(token)

    def scope(self) -> setting:
        """A context in which new nodes carry this module's path. Methods other than `forward` open it themselves."""
        path, calls = self._place(current())
        return setting(path=path, calls=calls)

    def _place(self, state: State) -> tuple[str, dict[str, int]]:
        """The path of this call, and the counts of calls within the outermost one, this call counted."""
        calls = state.calls
        if calls is None:
            self._settle()
            return self.path, {}
        path = self.path or joined(state.path, type(self).__name__)
        count = calls[path] = calls.get(path, 0) + 1
        return (path if count == 1 else f"{path}#{count}"), calls

    def _settle(self) -> None:
        """Attach what was put into a list after the list was assigned."""
        waiting: list[Module] = [self]
        while waiting:
            module = waiting.pop()
            for name in module._containers:
                module._attach(name, vars(module).get(name))
            for part in module._owned.values():
                if isinstance(part, Module):
                    waiting.append(part)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, "Module"]]:
        """(dotted name, module) for this module ("") and all below it, each once, in the order of assignment."""
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        seen: set[int] = set()
        while waiting:
            name, module = waiting.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            below = [(joined(name, part), child) for part, child in module._parts() if isinstance(child, Module)]
            waiting.extend(reversed(below))

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for all parameters, each once, in the order of assignment."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, part in module._parts():
                if isinstance(part, Parameter) and id(part) not in seen:
                    seen.add(id(part))
                    yield joined(prefix, name), part

    def parameters(self) -> list[Parameter]:
        """All parameters, each once, in the order of assignment."""
        return [parameter for _, parameter in self.named_parameters()]

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def state_dict(self) -> dict[str, Array]:
        """{dotted name: array}, read-only; a parameter that stands in two places is there once."""
        return {name: parameter.data for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take all parameters from `state`; nothing is changed unless everything fits.

        Raises CheckpointError that names what is missing, unknown, of another shape or of another dtype.
        """
        parameters = dict(self.named_parameters())
        new = {name: np.asarray(value.data if isinstance(value, Tensor) else value) for name, value in state.items()}
        problems = [f"{name} is missing" for name in parameters if name not in new]
        problems += [f"{name} is not known" for name in new if name not in parameters]
        for name, parameter in parameters.items():
            if name in new and new[name].shape != parameter.shape:
                problems.append(f"{name} has shape {new[name].shape}, not {parameter.shape}")
            elif name in new and new[name].dtype.kind != "f":
                problems.append(f"{name} has dtype {new[name].dtype}, not a floating one")
        if problems:
            more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
            raise CheckpointError(f"these weights are another model's: {'; '.join(problems[:3])}{more}")
        for name, parameter in parameters.items():
            parameter.data = new[name]


def current_path() -> str:
    """The path of the module that runs now, "" outside modules."""
    return current().path


def joined(*parts: str) -> str:
    """Path parts with dots between; empty ones left out."""
    return ".".join(part for part in parts if part)


def parts_within(name: str, value: Any) -> Iterator[tuple[str, Module | Parameter]]:
    """The modules and parameters that an attribute holds, with their names below its owner."""
    if isinstance(value, Module | Parameter):
        yield name, value
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from parts_within(f"{name}.{position}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from parts_within(f"{name}.{key}", item)
