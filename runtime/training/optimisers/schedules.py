"""Learning rates over the updates of an optimiser."""

from __future__ import annotations

import math

from gradwire.runtime.diagram.training import (
    AnySchedule,
    CosineSchedule,
    ExponentialSchedule,
    StepSchedule,
    WarmupCosineSchedule,
)


def rate(schedule: AnySchedule, lr: float, updates: int) -> float:
    """The learning rate of the update that follows ``updates`` others, where ``lr`` is given.

    The cosine rises again after ``t_max`` updates, with a period of twice that, as in PyTorch's
    CosineAnnealingLR. Its source: Loshchilov & Hutter 2017, SGDR: Stochastic Gradient Descent with
    Warm Restarts; for warm-up: Goyal et al. 2017, Accurate, Large Minibatch SGD.
    """
    match schedule:
        case StepSchedule(step_size=size, gamma=gamma):
            return float(lr * gamma ** (updates // size))
        case ExponentialSchedule(gamma=gamma):
            return float(lr * gamma**updates)
        case CosineSchedule(t_max=length, eta_min=least):
            return _cosine(lr, updates, length, least)
        case WarmupCosineSchedule(warmup_steps=steps, start_factor=start):
            if updates < steps:
                return lr * (start + (1 - start) * updates / steps)
            return _cosine(lr, updates - steps, schedule.t_max, schedule.eta_min)
        case _:
            return lr


def _cosine(lr: float, updates: int, length: int, least: float) -> float:
    return least + (lr - least) * (1 + math.cos(math.pi * updates / length)) / 2
