"""Methods that go along a gradient, a mean of gradients, or its sign: SGD and Lion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.errors import RunError
from runtime.diagram.training import LionMethod, SGDMethod
from runtime.training.optimisers.arithmetic import Arithmetic, Array, Move, averaged, subtracted


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

    def _move(self, count: int, lr: float) -> Move:
        momentum, dampening = self.method.momentum, self.method.dampening
        nesterov = self.method.nesterov

        def move(v: Array, g: Array, state: Sequence[Array], room: Sequence[Array]) -> None:
            if not momentum:
                subtracted(v, lr, g, room[0])
                return
            (b,) = state
            if count == 1:
                np.copyto(b, g)
            else:
                np.multiply(b, momentum, out=b)
                np.multiply(g, 1 - dampening, out=room[0])
                np.add(b, room[0], out=b)
            step = b
            if nesterov:
                np.multiply(b, momentum, out=room[0])
                step = np.add(g, room[0], out=room[0])
            subtracted(v, lr, step, room[0])

        return move


class LionArithmetic(Arithmetic[LionMethod]):
    """``v -= lr (sign(β₁ m + (1 - β₁) g) + weight_decay v)``, then ``m = β₂ m + (1 - β₂) g``.

    Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms.
    """

    def _slot_names(self) -> Sequence[str]:
        return ("exp_avg",)

    def _move(self, count: int, lr: float) -> Move:
        first, second = self.method.betas

        def move(v: Array, g: Array, state: Sequence[Array], room: Sequence[Array]) -> None:
            (m,) = state
            a, b = room
            np.multiply(m, first, out=a)
            np.multiply(g, 1 - first, out=b)
            np.add(a, b, out=a)
            np.sign(a, out=a)
            subtracted(v, lr, a, a)
            averaged(m, second, g, a)

        return move
