"""What is recorded: the state that says whether, and the nodes that say how.

A graph is made of `Node`s, one a leaf or an operation; a node holds its inputs' nodes, never a Tensor, so that a
tensor (and its array, where no derivative reads it) is gone as soon as the last user of it lets go.
Nothing here recurses, and nothing is global: the state is a context variable, one value a thread and task.
"""

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextvars import ContextVar
from itertools import count
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Union

import numpy as np
import numpy.typing as npt

from minigrad.hooks import Handle, Hook, register

if TYPE_CHECKING:
    from minigrad.primitive import Operation
    from minigrad.tensor import Tensor

Array: TypeAlias = npt.NDArray[Any]
Number: TypeAlias = bool | int | float | complex
Operand: TypeAlias = Union["Node", "Constant", Number]
Function = TypeVar("Function", bound=Callable[..., Any])


class Watch(Protocol):
    """What looks on while operations run and the walk goes, as `detect_anomaly` does. It may raise."""

    def run(self, operation: "Operation", operands: tuple[Any, ...], params: dict[str, Any]) -> "Tensor":
        """Run an operation with nobody looking on, and look at what came out."""

    def step(self, node: "Node", cotangent: Any, contributions: Sequence[Any]) -> None:
        """Look at a step of the walk before it is taken."""


class State:
    """What holds while operations run. Immutable: a change makes a new one.

    recording: operations on tensors that require a gradient are put on the tape.
    unfused: fused operations run their definitions.
    inside_rule: a derivative's rule is running on Tensors; asking for a Tensor's truth or number there is refused.
    path: the module path that new nodes get, "" outside modules.
    calls: how often each module was called within the outermost call, None outside modules.
    default_dtype: what Python floats become.
    watch: what looks on, None for nobody.
    entered: the `setting` that made this state, and the state that it replaced.
    """

    __slots__ = ("calls", "default_dtype", "entered", "inside_rule", "path", "recording", "unfused", "watch")

    def __init__(
        self,
        recording: bool = True,
        unfused: bool = False,
        inside_rule: bool = False,
        path: str = "",
        calls: dict[str, int] | None = None,
        default_dtype: np.dtype[Any] = np.dtype(np.float32),  # noqa: B008 - immutable
        watch: Watch | None = None,
        entered: "tuple[setting, State] | None" = None,
    ) -> None:
        self.recording = recording
        self.unfused = unfused
        self.inside_rule = inside_rule
        self.path = path
        self.calls = calls
        self.default_dtype = default_dtype
        self.watch = watch
        self.entered = entered

    def replace(self, **changes: Any) -> "State":
        """A copy with some fields changed."""
        new = State(
            self.recording, self.unfused, self.inside_rule, self.path, self.calls, self.default_dtype, self.watch,
            self.entered,
        )  # fmt: skip
        for field, value in changes.items():
            setattr(new, field, value)
        return new


_STATE: ContextVar[State] = ContextVar("minigrad", default=State())  # noqa: B039 - immutable
current: Callable[[], State] = _STATE.get


class setting:
    """`with setting(recording=False): ...`: change fields of the state, and restore it on the way out in any case.

    Also a decorator, of generators and coroutines too: a generator has the setting while it runs, and its consumer
    has not. (A with-block that a generator holds across a yield does leak to its consumer, as any context would.)
    What is to be restored stands in the state, not here: one `setting` may be entered by many threads, and twice.
    """

    def __init__(self, **changes: Any) -> None:
        self._changes = changes

    def __enter__(self) -> None:
        previous = current()
        _STATE.set(previous.replace(entered=(self, previous), **self._changes))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        entered = current().entered
        while entered is not None:
            by, previous = entered
            if by is self:
                _STATE.set(previous)
                return
            entered = previous.entered

    def __call__(self, function: Function) -> Function:
        """Decorate a function, a generator function or a coroutine function."""
        changes = self._changes
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__}: an asynchronous generator can't be decorated; use a with-block")

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with setting(**changes):
                return function(*args, **kwargs)

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with setting(**changes):
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            running = function(*args, **kwargs)
            advance: Callable[[], Any] = functools.partial(next, running)
            while True:
                with setting(**changes):
                    try:
                        item = advance()
                    except StopIteration as stop:
                        return stop.value
                try:
                    sent = yield item
                except GeneratorExit:
                    with setting(**changes):
                        running.close()
                    raise
                except BaseException as error:  # handed on to the generator, as `yield from` does
                    advance = functools.partial(running.throw, error)
                else:
                    advance = functools.partial(running.send, sent)

        if inspect.isgeneratorfunction(function):
            return generator  # type: ignore[return-value]
        return coroutine if inspect.iscoroutinefunction(function) else plain  # type: ignore[return-value]


def no_grad() -> setting:
    """Nothing is recorded inside: a context manager and a decorator."""
    return setting(recording=False)


def enable_grad() -> setting:
    """Operations are recorded inside, also within `no_grad`: a context manager and a decorator."""
    return setting(recording=True)


def unfused() -> setting:
    """Fused operations run their textbook definitions inside, so that each step is on the tape and in drawings."""
    return setting(unfused=True)


def default_dtype(dtype: npt.DTypeLike) -> setting:
    """What Python floats become inside, float32 or float64.

    Raises TypeError for anything that is no floating type.
    """
    chosen = np.dtype(dtype)
    if chosen.kind != "f":
        raise TypeError(f"default_dtype takes a floating type such as 'float64', not {chosen}")
    return setting(default_dtype=chosen)


class Constant:
    """An operand that no gradient flows to, as the graph remembers it: shape, dtype, name, a small array's value."""

    __slots__ = ("dtype", "name", "shape", "value")
    __array_ufunc__ = None

    def __init__(self, array: Array, name: str | None) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self.name = name
        self.value = small(array)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Constant({self.name or ''} {self.shape} {self.dtype})"


SMALL = 16
"""Arrays of at most so many elements are kept for drawings though no rule reads them."""


def small(array: Array) -> Array | None:
    """A small array as it is kept for drawings; a copy where it is a view, which would keep all that it looks at."""
    if array.size > SMALL:
        return None
    if array.base is not None:
        array = array.copy()
        array.setflags(write=False)
    return array


next_number = count().__next__


class Node:
    """A vertex of the graph: a leaf (`primitive` is None) or one operation's output.

    inputs: one entry an operand: a Node, a Constant, or a plain number.
    args: what the rules are called with, aligned with `inputs`: the array where a rule reads it, else the entry of
        `inputs` itself, which has a shape and a dtype and no arithmetic. None once released.
    data: a leaf's array; an operation's output where a rule reads it or it is small, else None.
    residuals: what a fused kernel keeps for its backward.
    stamp: the versions of the leaves among `args`, added up, when the operation ran; None where no leaf is read.
    version: how often a leaf's array was replaced.
    number: the order of creation; inputs come before outputs, so it is a topological order.
    hooks: who wants to see this node's cotangent in a backward pass.
    source: (file, line) of the user's code that made it; set only under `detect_anomaly`, else there is none.
    """

    __slots__ = (
        "__weakref__", "args", "data", "dtype", "grad", "hooks", "inputs", "name", "number", "params", "path",
        "primitive", "residuals", "retains", "shape", "source", "stamp", "version",
    )  # fmt: skip
    __array_ufunc__ = None  # a rule that reads what its row does not declare fails, it does not get an object array

    primitive: "Operation | None"
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    args: tuple[Any, ...] | None
    data: Array | None
    residuals: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    path: str
    number: int
    stamp: int | None
    version: int
    name: str | None
    grad: "Tensor | None"
    retains: bool
    hooks: tuple[Handle, ...]
    source: tuple[str, int]

    @staticmethod
    def leaf(data: Array, name: str | None) -> "Node":
        """The node of a tensor that asks for a gradient and was made by no operation."""
        return make_node(None, {}, (), (), data, None, data, "", None, name)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def released(self) -> bool:
        """Whether a backward pass has let go of the arrays that this node's derivative reads."""
        return self.args is None

    @property
    def saved_bytes(self) -> int:
        """The bytes of the arrays kept for backward, parameters too, each counted once; 0 for a leaf."""
        if self.primitive is None or self.args is None:
            return 0
        kept = [*self.args, *arrays_within(self.residuals), self.data if self.primitive.reads_output else None]
        for value in self.params.values():
            kept.extend(arrays_within(value))
        return sum({id(array): array.nbytes for array in kept if isinstance(array, np.ndarray)}.values())

    def release(self) -> None:
        """Let go of everything that backward needed. What a drawing needs but for values stays."""
        if self.primitive is not None:
            self.args = self.data = self.residuals = None
            if self.params:
                self.params = {name: without_values(value) for name, value in self.params.items()}

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook(cotangent)` whenever a backward pass reaches this node; see `Tensor.register_hook`."""
        return register(self, hook)

    def __repr__(self) -> str:
        what = "leaf" if self.primitive is None else self.primitive.name
        label = f" {self.name}" if self.name else ""
        return f"Node({what}{label} {self.shape} {self.dtype}{' in ' + self.path if self.path else ''})"


def make_node(
    primitive: "Operation | None",
    params: dict[str, Any],
    inputs: tuple[Operand, ...],
    args: tuple[Any, ...],
    data: Array | None,
    residuals: Any,
    output: Array,
    path: str,
    stamp: int | None,
    name: str | None = None,
) -> Node:
    """A new node for `output`."""
    node = Node()
    node.primitive = primitive
    node.params = params
    node.inputs = inputs
    node.args = args
    node.data = data
    node.residuals = residuals
    node.shape = output.shape
    node.dtype = output.dtype
    node.path = path
    node.number = next_number()
    node.stamp = stamp
    node.version = 0
    node.name = name
    node.grad = None
    node.retains = False
    node.hooks = ()
    return node


def arrays_within(kept: Any) -> Iterable[Any]:
    """What a kernel left behind, or a parameter such as an index holds, one by one."""
    return kept if isinstance(kept, tuple) else (kept,)


def without_values(param: Any) -> Any:
    """A parameter as a released node has it: arrays that are not small as Constants, which still have a shape."""
    if isinstance(param, np.ndarray) and param.size > SMALL:
        return Constant(param, None)
    return tuple(map(without_values, param)) if param.__class__ is tuple else param


def topological_order(roots: Iterable[Node], stop: frozenset[Node] = frozenset()) -> list[Node]:
    """All nodes that `roots` were made from, inputs before outputs. Nodes in `stop` are in it, those behind not."""
    waiting = list(roots)
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if stop and node in stop:
            continue
        for operand in node.inputs:
            if operand.__class__ is Node and operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return sorted(seen, key=attrgetter("number"))
