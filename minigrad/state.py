"""What holds while operations run: whether they are recorded, and the module path that they get.

Nothing is global: the state is a context variable, one value a thread and task, restored on the way out in any case.
"""

import functools
import inspect
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from minigrad.operation import Operation
    from minigrad.tape import Node
    from minigrad.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class Watch(Protocol):
    """What looks on while operations run and the walk goes, as `detect_anomaly` does. It may raise."""

    def run(self, operation: "Operation", operands: tuple[Any, ...], params: dict[str, Any]) -> "Tensor":
        """Run an operation with nobody looking on, and look at what came out."""

    def step(self, node: "Node", cotangent: Any, contributions: Sequence[Any]) -> None:
        """Look at a step of the walk: its node has its whole cotangent and has handed its contributions on."""


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

    def within(self, path: str, calls: dict[str, int]) -> "State":
        """A copy with the module path and the counts of calls changed, as each call of a module makes one."""
        return State(
            self.recording, self.unfused, self.inside_rule, path, calls, self.default_dtype, self.watch, self.entered
        )


_STATE: ContextVar[State] = ContextVar("minigrad", default=State())  # noqa: B039 - immutable
current: Callable[[], State] = _STATE.get
enter: Callable[[State], Token[State]] = _STATE.set
leave: Callable[[Token[State]], None] = _STATE.reset
"""For what is entered and left by one function call; `setting` is for all else."""


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


def fusing() -> bool:
    """Whether fused operations run their kernels, as they do outside `unfused`."""
    return not current().unfused


def default_dtype(dtype: npt.DTypeLike) -> setting:
    """What Python floats become inside, float32 or float64.

    Raises TypeError for anything that is no floating type.
    """
    chosen = np.dtype(dtype)
    if chosen.kind != "f":
        raise TypeError(f"default_dtype takes a floating type such as 'float64', not {chosen}")
    return setting(default_dtype=chosen)
