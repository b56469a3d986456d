"""What a user can put right is told in one line, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """A message for the user; the command line prints `error: MESSAGE` and exits with `status`."""

    def __init__(self, message: object, status: int = 2) -> None:
        super().__init__(" ".join(str(message).split()))
        self.status = status


@contextmanager
def told_plainly(*kinds: type[Exception], status: int = 2) -> Iterator[None]:
    """Within it, an exception of these kinds becomes a UserError with its message; a closed pipe is nobody's error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except kinds as error:
        raise UserError(describe(error), status) from error


def describe(error: Exception) -> str:
    """The message of `error`; for an error of the system, the file and what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
