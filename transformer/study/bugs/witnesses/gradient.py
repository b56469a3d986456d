"""The gradient check: what backward left in the parameters, against finite differences of the very same loss."""

import numpy as np

import minigrad as mg
from transformer.batching import Batch
from transformer.model import Transformer
from transformer.study.bugs import lesson
from transformer.study.bugs.witnesses.specimen import specimen, strings
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words

STEP = 1e-6
TOLERANCE = 1e-4
NOTHING = 1e-4  # beside this a difference of derivatives is rounding


def gradient_check(seed: int) -> Verdict:
    """The derivative of the loss along a random direction of each parameter, tape and central difference.

    The gradients are those of a second step on the same batch: what the first one left must be gone.
    """
    model, batch = specimen(seed), lesson.batch_of(strings(seed))
    optimizer = lesson.optimizer_of(model, 2)
    for _ in range(2):
        lesson.backward(model, optimizer, batch)
    rng = np.random.default_rng(seed)
    errors = {}
    for name, parameter in model.named_parameters():
        direction = rng.standard_normal(parameter.shape)
        direction /= np.linalg.norm(direction)
        tape = 0.0 if parameter.grad is None else float((parameter.grad.data * direction).sum())
        moved = difference(model, batch, parameter, direction)
        error = abs(tape - moved) / max(abs(tape), abs(moved), NOTHING)
        told = Words(
            f"{name}: tape {tape:.4g}, difference {moved:.4g}", f"{name}：反向得 {tape:.4g}，差分得 {moved:.4g}"
        )
        errors[told] = error if np.isfinite(error) else np.inf
    worst = max(errors, key=errors.__getitem__)
    if errors[worst] <= TOLERANCE:
        most = f"{errors[worst]:.0e}"
        return Verdict(False, Words(f"relative difference at most {most}", f"相对误差至多 {most}"))
    return Verdict(True, worst)


def difference(model: Transformer, batch: Batch, parameter: mg.nn.Parameter, direction: np.ndarray) -> float:
    """(L(p + h d) - L(p - h d)) / 2h."""
    before = parameter.data
    found: list[float] = []
    with mg.no_grad():
        for height in (STEP, -STEP):
            parameter.data = before + height * direction
            found.append(lesson.loss_of(model, batch).item())
    parameter.data = before
    return (found[0] - found[1]) / (2 * STEP)
