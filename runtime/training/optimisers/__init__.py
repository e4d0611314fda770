"""Optimisers: the arithmetic of each method, schedules, and classes for ``Session.step``."""

from runtime.training.optimisers.methods import arithmetic_of
from runtime.training.optimisers.schedules import rate
from runtime.training.optimisers.stepping import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Lion,
    MethodOptimiser,
    NAdam,
    RAdam,
    RMSprop,
)

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "MethodOptimiser",
    "NAdam",
    "RAdam",
    "RMSprop",
    "arithmetic_of",
    "rate",
]
