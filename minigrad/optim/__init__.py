"""Optimisers, learning-rate schedules and gradient clipping."""

from minigrad.optim.optimizers import SGD, Adam, AdamW, Optimizer, clip_grad_norm
from minigrad.optim.schedules import warmup, warmup_linear

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm", "warmup", "warmup_linear"]
