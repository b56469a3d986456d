"""One training of a small model on copying or reversing strings."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import minigrad as mg
from transformer.model import Transformer
from transformer.study.lengths.setting import VOCABULARY, Setting, drawn, model_config, pair_of
from transformer.tasks import get_task
from transformer.tasks.stream import batch_for_step
from transformer.tasks.symbols import is_unseen
from transformer.tasks.task import Pair, Task
from transformer.training.averaging import RunningAverage
from transformer.training.config import TrainingConfig
from transformer.training.gradients import Workers
from transformer.training.loop import learning_rate


def train(
    setting: Setting, kind: str, seed: int, longest: int, watch: Callable[[int], None] = lambda step: None
) -> Transformer:
    """One training: the same weights, to the bit, for the same arguments. Adam, warm-up, then straight down to 0.

    longest: of any string that the model will be judged by. watch: called with each step that is done, from 1.
    The model has the running average of its weights.
    """
    config = TrainingConfig(
        steps=setting.steps, warmup=max(1, min(200, setting.steps // 4)), peak_rate=setting.peak_rate,
        batch_size=setting.batch_size, window=8, seed=seed,
    )  # fmt: skip
    task, model = task_of(setting), Transformer(model_config(setting, kind, longest), rng=seed)
    parameters = model.parameters()
    optimizer = mg.optim.Adam(parameters, learning_rate(config, setting.d_model), betas=(0.9, 0.98), eps=1e-9)
    average = RunningAverage(model, config.averaging)
    with Workers(config.workers) as workers:
        for step in range(1, config.steps + 1):
            batch = batch_for_step(task, config.batch_size, seed, step, config.window)
            _, gradients = workers.loss_and_gradients(model, parameters, batch, config.label_smoothing, seed, step)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            mg.optim.clip_grad_norm(parameters, config.clip_norm)
            optimizer.step()
            average.update(step)
            watch(step)
    model.load_state_dict(average.state_dict())
    return model


def task_of(setting: Setting) -> Task:
    """The task, with training strings of 1 to `train_length` letters, every length as likely as any other."""
    longest = setting.train_length

    def sample(rng: np.random.Generator) -> Pair:
        while is_unseen(letters := drawn(rng, int(rng.integers(1, longest + 1)))):
            pass
        return pair_of(setting, letters)

    return replace(
        get_task(setting.task), sample=sample, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY,
        max_source_length=longest + 2, max_target_length=longest,
    )  # fmt: skip
