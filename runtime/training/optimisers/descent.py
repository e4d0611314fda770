"""Methods that go along a gradient, a mean of gradients, or its sign: SGD and Lion."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.training import LionMethod, SGDMethod
from gradwire.runtime.training.optimisers.arithmetic import (
    Arithmetic,
    Numbers,
    Operands,
    averaged,
    subtracted,
)


class SGDArithmetic(Arithmetic[SGDMethod]):
    """``b = momentum b + (1 - dampening) g`` from the second update on, first ``b = g``;
    ``v -= lr b``, with Nesterov ``v -= lr (g + momentum b)``.

    Sources: Robbins & Monro 1951, A Stochastic Approximation Method; Polyak 1964, Some Methods of
    Speeding up the Convergence of Iteration Methods; Nesterov's momentum as in Sutskever, Martens,
    Dahl & Hinton 2013, On the Importance of Initialization and Momentum in Deep Learning.
    """

    def __init__(self, method: SGDMethod) -> None:
        super().__init__(method)
        if method.nesterov and (method.momentum == 0 or method.dampening != 0):
            raise RunError(
                "Nesterov's look ahead needs momentum, and no dampening.",
                expected="momentum above 0 and dampening 0",
                got=f"momentum {method.momentum:g} and dampening {method.dampening:g}",
            )

    def _slot_names(self) -> Sequence[str]:
        return ("momentum_buffer",) if self.method.momentum else ()

    def _rests(self, dtype: np.dtype[Any]) -> bool:
        return not self.method.momentum

    def _variant(self, count: int) -> Hashable:
        """Whether the momentum begins."""
        return bool(self.method.momentum) and count == 1

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr,)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        momentum, begins = self.method.momentum, variant
        v, g, state, (a, *_) = on
        (lr,) = numbers
        if not momentum:
            subtracted(v, lr, g, a)
            return
        (b,) = state
        if begins:
            np.copyto(b, g)
        else:
            np.multiply(b, momentum, out=b)
            np.multiply(g, 1 - self.method.dampening, out=a)
            np.add(b, a, out=b)
        step = b
        if self.method.nesterov:
            np.multiply(b, momentum, out=a)
            step = np.add(g, a, out=a)
        subtracted(v, lr, step, a)


class LionArithmetic(Arithmetic[LionMethod]):
    """``v -= lr (sign(β₁ m + (1 - β₁) g) + weight_decay v)``, then ``m = β₂ m + (1 - β₂) g``.

    Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms.
    """

    def _slot_names(self) -> Sequence[str]:
        return ("exp_avg",)

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr,)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        first, second = self.method.betas
        v, g, (m,), (a, b) = on
        (lr,) = numbers
        np.multiply(m, first, out=a)
        np.multiply(g, 1 - first, out=b)
        np.add(a, b, out=a)
        np.sign(a, out=a)
        subtracted(v, lr, a, a)
        averaged(m, second, g, a)
