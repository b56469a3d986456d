"""What can stop a training or keep a run from being used. Each message is one line that a user can act on."""


class RunError(ValueError):
    """A run folder or its configuration that can't be used: missing, taken, broken, or of something else."""


class TrainingFailed(RuntimeError):
    """The loss or the gradient is no longer a finite number; the last good checkpoint is kept."""


class TrainingInterrupted(Exception):
    """Ctrl-C: the state after the last whole step is saved, and the run can be resumed."""

    def __init__(self, step: int) -> None:
        super().__init__(f"interrupted after step {step:,}")
        self.step = step
