"""Methods with a rate for each element, from the squares of gradients: RMSprop and others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from gradwire.runtime.diagram.training import AdadeltaMethod, AdagradMethod, RMSpropMethod
from gradwire.runtime.training.optimisers.arithmetic import (
    Arithmetic,
    Array,
    Numbers,
    Operands,
    averaged,
    averaged_square,
    over_root,
    subtracted,
)


class RMSpropArithmetic(Arithmetic[RMSpropMethod]):
    """``s = α s + (1 - α) g²``; ``v -= lr g / (√s + eps)``. With momentum,
    ``b = momentum b + g / (√s + eps)``; ``v -= lr b``. Centered, s is less the square of the mean.

    Sources: Tieleman & Hinton 2012, Lecture 6.5 of Neural Networks for Machine Learning; centered
    as in Graves 2013, Generating Sequences with Recurrent Neural Networks.
    """

    def _slot_names(self) -> Sequence[str]:
        names = ["square_avg"]
        names += ["grad_avg"] if self.method.centered else []
        return (*names, "momentum_buffer") if self.method.momentum else tuple(names)

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr,)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        alpha, momentum = self.method.alpha, self.method.momentum
        v, g, (square, *others), (a, b) = on
        (lr,) = numbers
        averaged_square(square, alpha, g, a)
        if self.method.centered:
            mean = others[0]
            averaged(mean, alpha, g, a)
            np.multiply(mean, mean, out=b)
            square = np.subtract(square, b, out=b)
            np.maximum(square, 0, out=square)  # rounding may have made it negative
        step = over_root(g, square, self.method.eps, a)
        if momentum:
            buffer = others[-1]
            np.multiply(buffer, momentum, out=buffer)
            step = np.add(buffer, step, out=buffer)
        subtracted(v, lr, step, a)


class AdagradArithmetic(Arithmetic[AdagradMethod]):
    """``s += g²``; ``v -= lr / (1 + (t - 1) lr_decay) · g / (√s + eps)``.

    Source: Duchi, Hazan & Singer 2011, Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization.
    """

    def slots(self, like: Array) -> dict[str, Array]:
        """The sum of squares, which begins at ``initial_accumulator_value``."""
        return {"sum": np.full_like(like, self.method.initial_accumulator_value)}

    def _slot_names(self) -> Sequence[str]:
        return ("sum",)

    def _rests(self, dtype: np.dtype[Any]) -> bool:
        """Unless eps is lost in the dtype: then an element without any gradient becomes 0 / 0."""
        return bool(dtype.type(self.method.eps) > 0)

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr / (1 + (count - 1) * self.method.lr_decay),)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        v, g, (s,), (a, *_) = on
        (rate,) = numbers
        np.multiply(g, g, out=a)
        np.add(s, a, out=s)
        subtracted(v, rate, over_root(g, s, self.method.eps, a), a)


class AdadeltaArithmetic(Arithmetic[AdadeltaMethod]):
    """``s = ρ s + (1 - ρ) g²``; ``d = √(e + eps) / √(s + eps) · g``; ``e = ρ e + (1 - ρ) d²``;
    ``v -= lr d``.

    Source: Zeiler 2012, ADADELTA: An Adaptive Learning Rate Method.
    """

    def _slot_names(self) -> Sequence[str]:
        return ("square_avg", "acc_delta")

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr,)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        rho, eps = self.method.rho, self.method.eps
        v, g, (s, e), (a, b) = on
        (lr,) = numbers
        averaged_square(s, rho, g, a)
        np.add(e, eps, out=a)
        np.add(s, eps, out=b)
        np.sqrt(a, out=a)
        np.sqrt(b, out=b)
        np.divide(a, b, out=a)
        np.multiply(a, g, out=a)
        averaged_square(e, rho, a, b)
        subtracted(v, lr, a, a)
