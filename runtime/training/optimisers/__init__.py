"""Optimisers: the arithmetic of each method, schedules, and classes for ``Session.step``."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.training.optimisers.schedules import rate
    from gradwire.runtime.training.optimisers.stepping import (
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
    "rate",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "schedules": "rate",
        "stepping": "SGD Adadelta Adagrad Adam Adamax AdamW Lion MethodOptimiser NAdam RAdam "
        "RMSprop",
    },
)
