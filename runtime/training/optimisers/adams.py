"""Methods with a mean of gradients and one of their squares: Adam, AdamW and their relatives."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from gradwire.runtime.diagram.training import (
    AdamaxMethod,
    AdamMethod,
    AdamWMethod,
    NAdamMethod,
    RAdamMethod,
)
from gradwire.runtime.training.optimisers.arithmetic import (
    Arithmetic,
    Numbers,
    Operands,
    averaged,
    averaged_square,
    over_root,
    subtracted,
)


class AdamArithmetic(Arithmetic[AdamMethod | AdamWMethod]):
    """``m = β₁ m + (1 - β₁) g``, ``s = β₂ s + (1 - β₂) g²``;
    ``v -= lr / (1 - β₁ᵗ) · m / (√s / √(1 - β₂ᵗ) + eps)``.

    AMSGrad takes the largest s so far. Sources: Kingma & Ba 2015, Adam: A Method for Stochastic
    Optimization; Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization (AdamW); Reddi,
    Kale & Kumar 2018, On the Convergence of Adam and Beyond (AMSGrad).
    """

    def _slot_names(self) -> Sequence[str]:
        names = ("exp_avg", "exp_avg_sq")
        return (*names, "max_exp_avg_sq") if self.method.amsgrad else names

    def _numbers(self, count: int, lr: float) -> Numbers:
        first, second = self.method.betas
        root = math.sqrt(1 - second**count)
        return self.method.eps * root, lr * root / (1 - first**count)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        first, second = self.method.betas
        eps, factor = numbers
        v, g, (m, s, *largest), (a, *_) = on
        averaged(m, first, g, a)
        averaged_square(s, second, g, a)
        if largest:
            s = np.maximum(largest[0], s, out=largest[0])
        subtracted(v, factor, over_root(m, s, eps, a), a)


class NAdamArithmetic(Arithmetic[NAdamMethod]):
    """``μₜ = β₁ (1 - 0.96^(t momentum_decay) / 2)``, P is their product;
    ``D = √(s / (1 - β₂ᵗ)) + eps``;
    ``v -= lr (1 - μₜ) / (1 - P) · g / D + lr μₜ₊₁ / (1 - P μₜ₊₁) · m / D``.

    Source: Dozat 2016, Incorporating Nesterov Momentum into Adam.
    """

    def __init__(self, method: NAdamMethod) -> None:
        super().__init__(method)
        self._products = [1.0]

    def _slot_names(self) -> Sequence[str]:
        return ("exp_avg", "exp_avg_sq")

    def mu_product(self, count: int) -> float:
        """The product of the momenta of the first ``count`` updates."""
        known = self._products
        for number in range(len(known), count + 1):
            known.append(known[-1] * self._momentum(number))
        return known[count]

    def _momentum(self, number: int) -> float:
        fading: float = 0.96 ** (number * self.method.momentum_decay)
        return self.method.betas[0] * (1 - 0.5 * fading)

    def _numbers(self, count: int, lr: float) -> Numbers:
        now, after, product = (
            self._momentum(count),
            self._momentum(count + 1),
            self.mu_product(count),
        )
        by_gradient = lr * (1 - now) / (1 - product)
        by_mean = lr * after / (1 - product * after)
        return by_gradient, by_mean, 1 - self.method.betas[1] ** count

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        first, second = self.method.betas
        by_gradient, by_mean, correction = numbers
        v, g, (m, s), (a, b) = on
        averaged(m, first, g, a)
        averaged_square(s, second, g, a)
        np.divide(s, correction, out=a)
        np.sqrt(a, out=a)
        np.add(a, self.method.eps, out=a)
        np.divide(g, a, out=b)
        subtracted(v, by_gradient, b, b)
        np.divide(m, a, out=b)
        subtracted(v, by_mean, b, b)


class RAdamArithmetic(Arithmetic[RAdamMethod]):
    """Adam times ``√((r - 4)(r - 2)R / ((R - 4)(R - 2)r))``, and ``v -= lr m / (1 - β₁ᵗ)`` while
    ``r ≤ 5``, where ``R = 2 / (1 - β₂) - 1`` and ``r = R - 2 t β₂ᵗ / (1 - β₂ᵗ)``.

    As in PyTorch, eps is added to √s before its bias is corrected. Source: Liu et al. 2020, On the
    Variance of the Adaptive Learning Rate and Beyond.
    """

    def _slot_names(self) -> Sequence[str]:
        return ("exp_avg", "exp_avg_sq")

    def _variant(self, count: int) -> Hashable:
        """Whether the rate is rectified."""
        return self._length(count) > 5

    def _length(self, count: int) -> float:
        second = self.method.betas[1]
        power = second**count
        return 2 / (1 - second) - 1 - 2 * count * power / (1 - power)

    def _numbers(self, count: int, lr: float) -> Numbers:
        first, second = self.method.betas
        most, length = 2 / (1 - second) - 1, self._length(count)
        factor = lr / (1 - first**count)
        if length > 5:
            top = (length - 4) * (length - 2) * most
            root = math.sqrt(1 - second**count)
            factor *= math.sqrt(top / ((most - 4) * (most - 2) * length)) * root
        return (factor,)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        first, second = self.method.betas
        (factor,) = numbers
        v, g, (m, s), (a, *_) = on
        averaged(m, first, g, a)
        averaged_square(s, second, g, a)
        is_rectified = variant
        subtracted(v, factor, over_root(m, s, self.method.eps, a) if is_rectified else m, a)


class AdamaxArithmetic(Arithmetic[AdamaxMethod]):
    """``n = max(β₂ n, |g| + eps)``; ``v -= lr / (1 - β₁ᵗ) · m / n``.

    Source: Kingma & Ba 2015, Adam: A Method for Stochastic Optimization, section 7.1.
    """

    def _slot_names(self) -> Sequence[str]:
        return ("exp_avg", "exp_inf")

    def _numbers(self, count: int, lr: float) -> Numbers:
        return (lr / (1 - self.method.betas[0] ** count),)

    def _move(self, on: Operands, numbers: Numbers, variant: Hashable) -> None:
        first, second = self.method.betas
        (factor,) = numbers
        v, g, (m, n), (a, *_) = on
        averaged(m, first, g, a)
        np.multiply(n, second, out=n)
        np.abs(g, out=a)
        np.add(a, self.method.eps, out=a)
        np.maximum(n, a, out=n)
        np.divide(m, n, out=a)
        subtracted(v, factor, a, a)
