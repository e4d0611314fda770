"""Optimisers: update variables from gradients. A variable without a gradient is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blocks.errors import RunError

Array = NDArray[Any]


class Optimiser(Protocol):
    """Anything that computes new values from values and gradients."""

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the updated variables, in their old dtypes.

        A variable whose gradient is None is not in the result: nothing updates it, not even
        weight decay.
        """


def _require_rate(name: str, rate: object) -> None:
    """Raise RunError unless a rate is a finite number and not negative."""
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.number):
        raise RunError(f"{name} is not a number.", expected="a number from 0 on", got=repr(rate))
    if not 0 <= rate < np.inf:
        raise RunError(
            f"{name} must not be negative, infinite or NaN.",
            expected="a number from 0 on",
            got=repr(rate),
            next_step="To climb a gradient, negate the loss.",
        )


@dataclass
class SGD:
    """Gradient descent, ``v -= lr * (g + weight_decay * v)``."""

    lr: float = 0.1
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _require_rate("lr", self.lr)
        _require_rate("weight_decay", self.weight_decay)

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the variables that have a gradient; see ``Optimiser``."""
        moved = {}
        for name, gradient in gradients.items():
            if gradient is None:
                continue
            value = values[name]
            change = gradient + self.weight_decay * value if self.weight_decay else gradient
            moved[name] = (value - self.lr * change).astype(value.dtype)
        return moved


@dataclass
class Adam:
    """Adam with bias correction; ``weight_decay`` is decoupled (AdamW).

    ``v -= lr * (m̂ / (√ŝ + epsilon) + weight_decay * v)``. A variable's step count includes
    only steps in which it had a gradient. Sources: Kingma & Ba 2015; Loshchilov & Hutter 2019.
    """

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    _moments: dict[str, tuple[int, Array, Array]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in ("lr", "beta1", "beta2", "epsilon", "weight_decay"):
            _require_rate(name, getattr(self, name))

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the variables that have a gradient; see ``Optimiser``."""
        moved = {}
        for name, gradient in gradients.items():
            if gradient is None:
                continue
            value = values[name]
            zero = np.zeros_like(value)
            count, mean, square = self._moments.get(name, (0, zero, zero))
            count += 1
            mean = self.beta1 * mean + (1 - self.beta1) * gradient
            square = self.beta2 * square + (1 - self.beta2) * gradient * gradient
            self._moments[name] = count, mean, square
            first = mean / (1 - self.beta1**count)
            second = np.sqrt(square / (1 - self.beta2**count))
            change = first / (second + self.epsilon) + self.weight_decay * value
            moved[name] = (value - self.lr * change).astype(value.dtype)
        return moved
