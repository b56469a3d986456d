"""Ctrl-C in a training: it ends the step at hand, not the program in the middle of it."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interruption:
    """Inside `with Interruption() as interruption:` the first Ctrl-C sets `requested`; a second interrupts at once.

    So weights are never left half updated, nor a checkpoint half written. Outside the main thread, where Python
    delivers no signals, nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        self._installed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)
            self._installed = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
