"""Arrays as text in a page: little-endian, base64; the script turns them into typed arrays."""

import base64
from typing import Any, Literal

import numpy as np
import numpy.typing as npt


def encoded(array: npt.ArrayLike, kind: Literal["f4", "f8"] = "f4") -> dict[str, Any]:
    """{"shape": [...], "kind": "f4" or "f8", "data": text} of a real array, C order, as float32 or float64."""
    values = np.asarray(array, dtype=f"<{kind}")
    return {"shape": list(values.shape), "kind": kind, "data": base64.b64encode(values.tobytes()).decode("ascii")}
