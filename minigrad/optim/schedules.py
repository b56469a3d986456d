"""Learning rates as functions of the step number, which counts from 1."""

from collections.abc import Callable


def warmup(d_model: int, steps: int, factor: float = 1.0) -> Callable[[int], float]:
    """factor * d_model**-0.5 * min(step**-0.5, step * steps**-1.5): linear growth for `steps` steps, then decay.

    The peak, at step = steps, is factor / sqrt(d_model * steps).
    Source: the paper, section 5.3, equation 3.
    """
    if steps < 1:
        raise ValueError(f"warmup takes at least 1 step, not {steps}")
    scale: float = factor * d_model**-0.5

    def rate(step: int) -> float:
        if step < 1:
            raise ValueError(f"the first step is 1, not {step}")
        return scale * float(min(step**-0.5, step * steps**-1.5))

    return rate


def warmup_linear(peak: float, warmup_steps: int, total_steps: int) -> Callable[[int], float]:
    """Linear growth to `peak` at step `warmup_steps`, then a straight line down to 0 just after `total_steps`.

    The paper's decay never ends, so the last steps still jump about; this one lets a short training settle.
    """
    if not 1 <= warmup_steps <= total_steps:
        raise ValueError(f"warmup_steps must be between 1 and total_steps={total_steps}, not {warmup_steps}")

    def rate(step: int) -> float:
        if step < 1:
            raise ValueError(f"the first step is 1, not {step}")
        down = (total_steps + 1 - step) / (total_steps + 1 - warmup_steps)
        return peak * max(0.0, min(step / warmup_steps, down))

    return rate
