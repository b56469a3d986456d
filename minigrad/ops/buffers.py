"""Writing into a kernel's own fresh buffers."""

from typing import Any

import numpy as np

from minigrad.tape import Array


def add_into(buffer: Array, term: Any) -> Array:
    """buffer + term, in the buffer where their common dtype is its own; else a new array of that dtype."""
    fits = np.result_type(buffer, term) == buffer.dtype
    return np.asarray(np.add(buffer, term, out=buffer) if fits else buffer + term)
